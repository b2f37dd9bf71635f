"""From a MERGE statement to what the executors run: names, stars, casts and the checks of R-113."""
