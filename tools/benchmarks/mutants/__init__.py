"""Automatic mutants of the merge, the reference and the comparator, held against cases and tests."""
