"""Resolution of a MERGE statement: names, stars, casts and the checks of R-113."""
