"""Expressions and queries that another evaluator than DuckDB is asked for."""
