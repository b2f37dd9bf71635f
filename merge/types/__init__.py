"""Types of columns: their SQL, casts, nullability, and the assignment of values to columns."""
