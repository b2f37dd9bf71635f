"""Where tables are kept: local paths and object stores."""
