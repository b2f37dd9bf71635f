"""The parsers of the reference and of the merge, held against Spark's own."""
