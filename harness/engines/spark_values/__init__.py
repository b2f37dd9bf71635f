"""Values of expressions and rows of queries from Spark: plain SELECTs for the reference, never a MERGE."""
