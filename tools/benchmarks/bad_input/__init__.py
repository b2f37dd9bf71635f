"""Bad input: cases of strangers, and files, statements, flags and logs that somebody damaged."""
