"""The fuzz loop: drawing, prefetching, checking in parallel, batches."""
