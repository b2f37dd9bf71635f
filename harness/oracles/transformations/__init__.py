"""Changes of tables and statements after which a merge must answer the same."""
