"""What the log of a Delta table says: snapshot, protocol, features, statistics."""
