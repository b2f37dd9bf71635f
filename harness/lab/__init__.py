"""Deep studies: sequences of writes, interleaved writers, large tables, engines side by side."""
