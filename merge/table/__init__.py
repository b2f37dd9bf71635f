"""The Delta table: its snapshot, reading and skipping files, writing files, the commit."""
