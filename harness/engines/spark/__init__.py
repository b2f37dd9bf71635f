"""Spark sessions, workers, jars and places for tables."""
