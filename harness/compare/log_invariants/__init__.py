"""Invariants about the log of a Delta table after a merge, which need no reference."""
