"""The HTML report of a run: one file that opens without a network."""
