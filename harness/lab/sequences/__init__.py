"""Stateful mode: several merges, and other writes between them, on one table."""
