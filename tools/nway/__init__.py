"""N-way coverage: which values of the dimensions of a case occur together, in pairs and in triples."""
