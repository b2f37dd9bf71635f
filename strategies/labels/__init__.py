"""Labels for the features that a drawn case exercises."""
