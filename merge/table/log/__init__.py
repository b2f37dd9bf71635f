"""What the log of a Delta table says: actions, protocol, features, statistics."""
