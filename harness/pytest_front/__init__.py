"""What the pytest plugin is made of: items, and what checks their cases."""
