"""Labels that say what a drawn case exercises."""
