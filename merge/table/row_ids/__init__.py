"""Row tracking: ids and commit versions of rows (R-705, R-724 to R-727)."""
