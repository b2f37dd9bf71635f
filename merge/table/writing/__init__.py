"""Writing data files and change files in Spark's workers."""
