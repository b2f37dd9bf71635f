"""DuckDB's native MERGE."""
