"""Queries inside a statement: source queries and scalar subqueries."""
