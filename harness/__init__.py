"""Runs cases on engines, compares outcomes, keeps findings and shows them: command line and pytest plugin."""
