"""The case: tables, statement, settings and expectation, and the file that holds them."""
