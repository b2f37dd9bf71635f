"""Generated tables of the scale mode: the parts of a merge, and the queries that write its rows."""
