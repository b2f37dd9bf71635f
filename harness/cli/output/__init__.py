"""What the command line writes: results on stdout, progress and messages on stderr."""
