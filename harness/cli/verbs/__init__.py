"""The verbs of the command line, one module each; ``main`` imports the one that is asked for."""
