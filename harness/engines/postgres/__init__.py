"""The engine ``postgres``: the MERGE of a PostgreSQL server that the harness starts."""
