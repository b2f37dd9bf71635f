"""The engine ``iceberg``: Spark's MERGE into a table of Apache Iceberg."""
