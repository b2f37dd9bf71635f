"""A property-based correctness test harness for MERGE INTO.

The sub-packages are the folders of the same names at the top of the repository.
"""
