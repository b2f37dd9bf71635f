"""The rows of the matrix: features of a case, each by the labels that the draw gives to the case's actual content."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

FEATURES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("matched update", ("clause:matched/update/*",)),
    ("matched delete", ("clause:matched/delete/*",)),
    ("not matched insert", ("clause:not_matched/insert/*",)),
    ("not matched by source update", ("clause:not_matched_by_source/update/*",)),
    ("not matched by source delete", ("clause:not_matched_by_source/delete/*",)),
    ("insert only", ("kinds:not_matched",)),
    ("several clauses of a kind", ("clauses:*=2", "clauses:*=3", "clauses:*=4")),
    ("kinds interleaved", ("kinds:interleaved",)),
    ("star actions", ("action:*/star",)),
    ("column lists", ("action:*/explicit",)),
    ("equality ON", ("on:equality",)),
    ("null-safe ON", ("on:null-safe",)),
    ("non-equi ON", ("on:non-equi", "on:or")),
    ("expression or constant ON", ("on:key-expression", "on:constant", "on:*-side-only")),
    ("several source rows match", ("matches:multi",)),
    ("NULL keys", ("null:*-key",)),
    ("empty target or source", ("target-rows:0", "source-rows:0")),
    ("more than 8,192 rows", ("rows:beyond-a-batch",)),
    ("source is a query", ("source:query",)),
    ("source is the target", ("source:self",)),
    ("source lacks columns or has more", ("source:extra-columns", "source:missing-columns")),
    ("columns in another order", ("source:other-order",)),
    ("partitions", ("partitions:1", "partitions:2")),
    ("several files", ("files:2", "files:3", "files:4", "files:5")),
    ("row groups, statistics, older files", ("layout:row-groups", "layout:statistics-*", "layout:older-files")),
    ("Arrow types of texts, batches", ("layout:source-*", "layout:target-*")),
    ("change data feed", ("cdf:on",)),
    ("schema evolution", ("evolution:statement", "evolution:session")),
    ("structs, arrays, maps", ("type:STRUCT", "type:ARRAY", "type:MAP")),
    ("nested updates", ("nested-update:*",)),
    ("casts", ("cast:*",)),
    ("decimals", ("type:DECIMAL",)),
    ("dates and timestamps", ("type:DATE", "type:TIMESTAMP", "type:TIMESTAMP_NTZ")),
    ("NaN and -0.0 keys", ("key-type:DOUBLE", "key-type:FLOAT")),
    ("NOT NULL, CHECK", ("column:not-null", "check:*")),
    ("defaults", ("column:default",)),
    ("generated columns", ("column:generated",)),
    ("settings", ("setting:*",)),
    ("unusual names", ("name:*",)),
    ("must be refused", ("invalid:*", "outcome:ambiguous", "outcome:invalid")),
)
"""Name of each row, and the patterns of its labels."""


def features_of(labels: Iterable[str]) -> tuple[str, ...]:
    """Name the rows that a case with these labels belongs to."""
    given = tuple(labels)
    return tuple(
        name
        for name, patterns in FEATURES
        if any(fnmatchcase(label, pattern) for label in given for pattern in patterns)
    )
