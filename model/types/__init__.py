"""Spark data types, typed DuckDB expressions, and implicit casts."""
