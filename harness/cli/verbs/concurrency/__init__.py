"""``mergecheck concurrency``: its options, and its modes."""
