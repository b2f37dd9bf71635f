"""DuckDB's own MERGE INTO: the parts of the engine ``duckdb``."""
