"""Bug models: what exactly an engine does instead, so that its answer can be held against that."""
