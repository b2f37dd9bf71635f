"""Measurements of the generator: combinations of values, and cases to find a fault, compared with a naive generator."""
