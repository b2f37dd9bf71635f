"""The content of a Delta table's log: actions, protocol, features, statistics."""
