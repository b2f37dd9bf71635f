"""The values of new rows' columns: clauses' assignments, aligned with the schema after the merge."""
