"""The executors of part 4: classic (paths C, D) and insert-only (paths A, B), over one output generation."""
