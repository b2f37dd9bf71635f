"""What judges an engine's answer: the reference, or metamorphic relations."""
