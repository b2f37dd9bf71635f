"""Bad input: cases of strangers, and damaged files, statements, flags and logs."""
