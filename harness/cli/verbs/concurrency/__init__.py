"""``mergecheck lab concurrency``: its options, and its modes."""
