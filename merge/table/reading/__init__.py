"""Reading the rows of a snapshot, without the files that cannot matter."""
