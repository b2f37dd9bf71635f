"""Generated tables of the scale mode: what a merge is made of, and the queries that write its rows."""
