"""The translation of Spark expressions to DuckDB."""
