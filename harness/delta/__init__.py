"""Delta tables of a case: written, read back, and their statistics checked."""
