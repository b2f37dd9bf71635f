"""Casts as Spark does them, in DuckDB SQL."""
