"""Laws about what a merge leaves in a Delta table's log, which need no reference."""
