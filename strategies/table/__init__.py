"""Strategies for values, schemas and tables."""
