"""What the log of a case's target says besides its files: protocol, domains, checkpoints."""
