"""The fuzz loop: drawing, prefetching, several jobs, batches."""
