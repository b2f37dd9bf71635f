"""Features by engines: who supports and who gets right what."""
