"""Delta tables: storage, log, reading, writing and committing."""
