"""Corruptions of the tables that merges leave: one thing in a commit or in one file; and changes that are legal."""
