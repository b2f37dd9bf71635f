"""The resolution of a statement: names, assignments, schema evolution, constraints."""
