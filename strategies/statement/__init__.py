"""Strategies for clauses, assignments, joins and source queries."""
