"""Bug models of rows that a scan leaves out: it meets misread bounds or constants (R-716, R-801, R-802)."""
