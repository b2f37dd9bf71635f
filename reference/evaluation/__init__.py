"""The evaluation of a resolved merge in DuckDB (the algorithm of the specification)."""
