"""Bug models: each computes the exact answer of an engine with a known fault, to compare the real answer with."""
