"""Draws the data of the rules' pages: the random cases that reach each rule, and the minimal cases."""
