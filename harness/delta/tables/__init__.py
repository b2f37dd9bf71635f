"""Parts of a Delta table: rows and names in its files, vectors, partition values, protocol, domains, checkpoints."""
