"""A table at one version: its state in the Delta log, read once and passed on."""
