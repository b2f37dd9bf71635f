"""Saved cases in other forms: in a project of tests, as scripts of other systems, anonymised."""
