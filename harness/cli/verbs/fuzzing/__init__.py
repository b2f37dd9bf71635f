"""``mergecheck fuzz``."""
