"""What the columns of new rows become: what clauses assign, aligned with the schema after the merge."""
