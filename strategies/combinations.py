"""Features that hardly meet by chance, and so are brought together on purpose.

A feature of one case in twenty meets another such feature in one case of four hundred. What they lead to is even
rarer: a condition that is FALSE on an ambiguous row, or a NOT NULL column that a NOT MATCHED BY SOURCE clause sets to
NULL. If every such feature were more probable, too few cases would change a row. ``benchmarks.generators.nway`` counts
what comes together.
"""

from __future__ import annotations

from dataclasses import dataclass

from mergecheck.strategies.features import Feature

_MATCHED = (Feature.MATCHED_UPDATE, Feature.MATCHED_DELETE)
_BY_SOURCE = (Feature.BY_SOURCE_UPDATE, Feature.BY_SOURCE_DELETE)
_CONSTRAINTS = (Feature.VIOLATIONS, Feature.NOT_NULL, Feature.CHECKS)
# a field of a struct is NOT NULL only where no row has a NULL there
_NOT_NULL_FIELDS = (Feature.NULL_VALUES, Feature.NOT_NULL)


@dataclass(frozen=True, slots=True)
class Combination:
    """Features that are on together, and those that are off because they would keep them from meeting.

    Attributes:
        weight: how often it is drawn, beside the others.
    """

    on: frozenset[Feature]
    off: frozenset[Feature]
    weight: int


def _together(*on: Feature, off: tuple[Feature, ...] = (), weight: int = 1) -> Combination:
    return Combination(frozenset(on), frozenset(off), weight)


RARELY_TOGETHER = (
    # rows that break a constraint
    _together(Feature.BY_SOURCE_ALONE, *_CONSTRAINTS, weight=2),
    _together(Feature.EMPTY_SOURCE, Feature.BY_SOURCE_UPDATE, *_CONSTRAINTS, weight=2),
    _together(Feature.ALL_MATCHED, Feature.MATCHED_UPDATE, *_CONSTRAINTS),
    _together(Feature.MATCHED_UPDATE, *_CONSTRAINTS, off=(*_BY_SOURCE, Feature.INSERT)),
    _together(Feature.MATCHED_UPDATE, Feature.BY_SOURCE_UPDATE, *_CONSTRAINTS, off=(Feature.INSERT,)),
    _together(Feature.SELF_MERGE, *_CONSTRAINTS),
    _together(
        *(Feature.MATCHED_UPDATE, Feature.NESTED_TYPES, Feature.VIOLATIONS, Feature.CHECKS),
        off=_NOT_NULL_FIELDS,
        weight=2,
    ),
    _together(
        *(Feature.INSERT, Feature.EMPTY_TARGET, Feature.NESTED_TYPES, Feature.VIOLATIONS, Feature.CHECKS),
        off=_NOT_NULL_FIELDS,
        weight=6,
    ),
    # other failures
    _together(Feature.EMPTY_TARGET, Feature.INSERT, Feature.PARTIAL_VALUES, off=(Feature.CHECKS, Feature.NOT_NULL)),
    # inserts alone, perhaps without the path of their own
    _together(
        *(Feature.INSERT, Feature.CONDITIONS, Feature.SEVERAL_CLAUSES, Feature.SETTINGS),
        off=(*_MATCHED, *_BY_SOURCE, Feature.AMBIGUOUS),
        weight=2,
    ),
    _together(
        *(Feature.INSERT, Feature.OLDER_FILES, Feature.SETTINGS),
        off=(*_MATCHED, *_BY_SOURCE, Feature.AMBIGUOUS),
        weight=2,
    ),
    # ambiguous rows, refused
    _together(Feature.AMBIGUOUS, Feature.NESTED_TYPES, off=_NOT_NULL_FIELDS, weight=9),
    _together(Feature.AMBIGUOUS, Feature.SCHEMA_EVOLUTION, Feature.NESTED_TYPES),
    _together(Feature.AMBIGUOUS, *_MATCHED, off=(Feature.SELF_MERGE,), weight=7),
    _together(Feature.AMBIGUOUS, Feature.NO_STATISTICS),
    _together(Feature.AMBIGUOUS, Feature.CONSTANT_ON, weight=3),
    _together(Feature.AMBIGUOUS, Feature.STRICT_POLICY),
    _together(Feature.AMBIGUOUS, Feature.SELF_MERGE),
    _together(Feature.AMBIGUOUS, Feature.SUBQUERY_SOURCE),
    _together(Feature.AMBIGUOUS, Feature.PARTITIONS, Feature.WIDE_TYPES),
    _together(Feature.AMBIGUOUS, Feature.TYPED_KEYS),
    _together(Feature.AMBIGUOUS, Feature.COLUMN_DEFAULTS, Feature.GENERATED_COLUMNS),
    _together(Feature.AMBIGUOUS, Feature.INSERT, Feature.SETTINGS, off=(*_MATCHED, *_BY_SOURCE)),
    # ambiguous rows, allowed
    _together(Feature.LONE_DELETE, Feature.SEVERAL_CLAUSES, *_BY_SOURCE, weight=2),
    _together(Feature.LONE_DELETE, Feature.BY_SOURCE_UPDATE, Feature.GENERATED_COLUMNS, weight=3),
    # merges that touch no file
    _together(
        *(Feature.EMPTY_TARGET, Feature.INTERLEAVED, Feature.MATCHED_UPDATE, Feature.BY_SOURCE_UPDATE),
        off=(Feature.INSERT,),
    ),
    _together(Feature.NEVER_TRUE, Feature.ALL_MATCHED, Feature.MATCHED_UPDATE, off=(*_BY_SOURCE, Feature.INSERT)),
    _together(
        *(Feature.NEVER_TRUE, Feature.MATCHED_UPDATE, Feature.SCHEMA_EVOLUTION, Feature.NESTED_TYPES),
        off=(*_BY_SOURCE, Feature.INSERT),
    ),
)
