"""Features, their probabilities, and choices among options."""
