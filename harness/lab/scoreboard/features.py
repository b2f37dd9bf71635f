"""The rows of the matrix: named properties of a case, and labels that the draw gives to the case's content."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mergecheck.harness.properties.vocabulary import PROPERTIES, PlainCase

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from mergecheck.model.case import Case


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A case belongs to the row if it has any of these.

    Attributes:
        labels: patterns of labels. They name what no property does: the values that were drawn (keys, ON, names), and
            results, which must be the same for all engines although the reference follows each engine's rules.
        properties: names in ``PROPERTIES``, of the case alone.
    """

    labels: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()


def _labels(*patterns: str) -> MatrixRow:
    return MatrixRow(labels=patterns)


def _properties(*names: str) -> MatrixRow:
    return MatrixRow(properties=names)


FEATURES: Mapping[str, MatrixRow] = {
    "matched update": _properties("matched-update"),
    "matched delete": _properties("matched-delete"),
    "not matched insert": _properties("insert"),
    "not matched by source update": _properties("not-matched-by-source-update"),
    "not matched by source delete": _properties("not-matched-by-source-delete"),
    "insert only": _properties("insert-only"),
    "several clauses of a kind": _properties("several-clauses-of-a-kind"),
    "kinds interleaved": _properties("interleaved-clause-kinds"),
    "star actions": _properties("star-actions"),
    "column lists": _properties("explicit-actions"),
    "equality ON": _labels("on:equality"),
    "null-safe ON": _labels("on:null-safe"),
    "non-equi ON": _labels("on:non-equi", "on:or"),
    "expression or constant ON": _labels("on:key-expression", "on:constant", "on:*-side-only"),
    "several source rows match": _labels("matches:multi"),
    "NULL keys": _labels("null:*-key"),
    "empty target or source": _labels("target-rows:0", "source-rows:0"),  # also a query that gives no row
    "more than 8,192 rows": _labels("rows:beyond-a-batch"),
    "source is a query": _properties("subquery-source"),
    "source is the target": _labels("source:self"),  # the property holds for queries that read the target, too
    "source lacks columns or has more": _labels("source:extra-columns", "source:missing-columns"),
    "columns in another order": _labels("source:other-order"),
    "partitions": _properties("partitions"),
    "several files": _properties("several-files"),
    "row groups, statistics, older files": _labels("layout:row-groups", "layout:statistics-*", "layout:older-files"),
    "Arrow types of texts, batches": _labels("layout:source-*", "layout:target-*"),
    "change data feed": _properties("change-data-feed"),
    "schema evolution": _properties("schema-evolution"),
    "structs, arrays, maps": _labels("type:STRUCT", "type:ARRAY", "type:MAP"),  # the property: of any table
    "nested updates": _labels("nested-update:*"),
    "casts": _labels("cast:*"),
    "decimals": _labels("type:DECIMAL"),
    "dates and timestamps": _labels("type:DATE", "type:TIMESTAMP", "type:TIMESTAMP_NTZ"),
    "NaN and -0.0 keys": _labels("key-type:DOUBLE", "key-type:FLOAT"),
    "NOT NULL, CHECK": MatrixRow(labels=("column:not-null",), properties=("check-constraints",)),
    "defaults": _labels("column:default"),
    "generated columns": _labels("column:generated"),
    "settings": _labels("setting:*"),
    "unusual names": _labels("name:*"),
    "must be refused": _labels("invalid:*", "outcome:ambiguous", "outcome:invalid"),
}
"""The rows by their names."""


def features_of(case: Case, labels: Collection[str]) -> tuple[str, ...]:
    """Name the rows that a case with these labels belongs to."""
    plain = PlainCase(case=case)
    return tuple(
        name
        for name, row in FEATURES.items()
        if any(PROPERTIES[each].holds(plain) for each in row.properties)
        or any(fnmatchcase(label, pattern) for label in labels for pattern in row.labels)
    )
