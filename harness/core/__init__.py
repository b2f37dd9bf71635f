"""Values and text that every other room uses."""
