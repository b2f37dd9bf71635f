"""``mergecheck sequences``: its options, and its texts."""
