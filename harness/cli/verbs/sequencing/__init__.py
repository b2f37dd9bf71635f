"""``mergecheck lab sequences``: its options, and its texts."""
