"""Features that hardly meet by chance, and so are brought together on purpose.

A feature of one case in twenty meets another such feature in one case of four hundred. Their effects are even rarer:
a condition that is FALSE on an ambiguous row, or a NOT NULL column that a NOT MATCHED BY SOURCE clause sets to NULL. If
every such feature were more probable, too few cases would change a row. ``tools.benchmarks.generators.nway`` counts
the features that occur together.
"""

from __future__ import annotations

from dataclasses import dataclass

from mergecheck.strategies.features import Feature

_MATCHED = (Feature.MATCHED_UPDATE, Feature.MATCHED_DELETE)
_BY_SOURCE = (Feature.BY_SOURCE_UPDATE, Feature.BY_SOURCE_DELETE)
_CONSTRAINTS = (Feature.VIOLATIONS, Feature.NOT_NULL, Feature.CHECKS)
_STRUCT_FIELDS = (Feature.NESTED_TYPES, Feature.NESTED_UPDATE, Feature.NOT_NULL_FIELDS)
# A field of a struct is NOT NULL only if no row has a NULL there. Pruned files need NULL values, and key ranges have no
# structs.
_NO_NULL_FIELDS = (Feature.NULL_VALUES, Feature.NOT_NULL, Feature.FILE_PRUNING, Feature.LONG_TEXTS, Feature.KEY_RANGES)


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


EVERYDAY = (
    # inserts of the new rows that satisfy a condition
    _together(
        *(Feature.INSERT, Feature.CONDITIONS),
        off=(
            *(*_MATCHED, *_BY_SOURCE, Feature.SEVERAL_CLAUSES, Feature.NEVER_TRUE, Feature.AMBIGUOUS),
            *(Feature.EMPTY_SOURCE, Feature.ALL_MATCHED, Feature.SELF_MERGE, Feature.INVALID),
            *(Feature.CONSTANT_ON, Feature.ONE_SIDED_ON, Feature.NON_EQUI_ON, Feature.UNUSUAL_SCHEMAS),
            # these bring clauses of other kinds with them
            *(Feature.BY_SOURCE_ALONE, Feature.AMBIGUOUS_UNMATCHED, Feature.LAYOUT_AMBIGUITY, Feature.LONE_DELETE),
        ),
    ),
    # an upsert that writes rows of several partitions
    _together(
        *(Feature.MATCHED_UPDATE, Feature.INSERT, Feature.PARTITIONED_BY_TEXT, Feature.PARTITIONS),
        Feature.SEVERAL_FILES,
        off=(
            *(*_BY_SOURCE, Feature.MATCHED_DELETE, Feature.CONDITIONS, Feature.SEVERAL_CLAUSES, Feature.NEVER_TRUE),
            *(Feature.AMBIGUOUS, Feature.DUPLICATE_SOURCE_KEYS, Feature.EMPTY_SOURCE, Feature.EMPTY_TARGET),
            *(Feature.ALL_MATCHED, Feature.SELF_MERGE, Feature.INVALID, Feature.UNUSUAL_SCHEMAS),
            *(Feature.CONSTANT_ON, Feature.ONE_SIDED_ON, Feature.NON_EQUI_ON, Feature.PARTIAL_VALUES),
            *(Feature.VIOLATIONS, Feature.APPEND_ONLY, Feature.FLOAT_KEYS),
            # these bring conditions or other clauses with them, or keep partitions away
            *(Feature.BY_SOURCE_ALONE, Feature.AMBIGUOUS_UNMATCHED, Feature.LAYOUT_AMBIGUITY, Feature.LONE_DELETE),
            *(Feature.FILE_PRUNING, Feature.LONG_TEXTS, Feature.KEY_RANGES),
        ),
    ),
)
"""Statements that people write every day, and that seldom come by chance: most draws have clauses of several kinds."""
RARELY_TOGETHER = (
    # rows that break a constraint
    _together(Feature.BY_SOURCE_ALONE, *_CONSTRAINTS, weight=5),
    _together(Feature.EMPTY_SOURCE, Feature.BY_SOURCE_UPDATE, *_CONSTRAINTS, weight=2),
    _together(Feature.ALL_MATCHED, Feature.MATCHED_UPDATE, *_CONSTRAINTS, weight=3),
    _together(Feature.MATCHED_UPDATE, *_CONSTRAINTS, off=(*_BY_SOURCE, Feature.INSERT)),
    _together(Feature.MATCHED_UPDATE, Feature.BY_SOURCE_UPDATE, *_CONSTRAINTS, off=(Feature.INSERT,)),
    _together(Feature.SELF_MERGE, *_CONSTRAINTS),
    _together(
        *(Feature.MATCHED_UPDATE, *_STRUCT_FIELDS, Feature.VIOLATIONS, Feature.CHECKS),
        off=_NO_NULL_FIELDS,
        weight=6,
    ),
    _together(
        *(Feature.INSERT, Feature.EMPTY_TARGET, *_STRUCT_FIELDS, Feature.VIOLATIONS, Feature.CHECKS),
        off=_NO_NULL_FIELDS,
        weight=6,
    ),
    # values that do not fit their columns
    _together(
        *(Feature.CASTS, Feature.VIOLATIONS, Feature.INTEGER_WIDTHS),
        *(Feature.STAR, Feature.MATCHED_UPDATE, Feature.INSERT),
        off=(
            *(Feature.SCHEMA_EVOLUTION, Feature.STRICT_POLICY, Feature.CHECKS, Feature.NOT_NULL, Feature.AMBIGUOUS),
            *(Feature.MATCHED_DELETE, Feature.LONE_DELETE, Feature.CONDITIONS, Feature.NEVER_TRUE, Feature.EXPLICIT),
            *(Feature.SELF_MERGE, *_BY_SOURCE),
        ),
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
    # columns that some of the inserts leave out
    _together(
        *(Feature.INSERT, Feature.PARTIAL_INSERT, Feature.SEVERAL_CLAUSES, Feature.CONDITIONS, Feature.EXPLICIT),
        off=(Feature.STAR, Feature.AMBIGUOUS, Feature.VIOLATIONS, Feature.NOT_NULL, Feature.INVALID),
        weight=6,
    ),
    # ambiguous rows, refused
    _together(Feature.AMBIGUOUS, *_STRUCT_FIELDS, off=_NO_NULL_FIELDS, weight=12),
    _together(Feature.AMBIGUOUS, Feature.SCHEMA_EVOLUTION, Feature.NESTED_TYPES),
    _together(
        *(Feature.AMBIGUOUS, *_MATCHED),
        off=(Feature.SELF_MERGE, Feature.FILE_PRUNING, Feature.LONG_TEXTS, Feature.NEVER_TRUE),
        weight=12,
    ),
    _together(
        *(Feature.AMBIGUOUS, Feature.MATCHED_UPDATE, Feature.EXPRESSIONS, Feature.EXPLICIT),
        off=(Feature.STAR, Feature.SELF_MERGE, Feature.MATCHED_DELETE, Feature.INSERT, *_BY_SOURCE),
        weight=6,
    ),
    _together(Feature.AMBIGUOUS, Feature.SETTINGS, off=(Feature.INSERT, *_BY_SOURCE), weight=5),
    _together(Feature.AMBIGUOUS, Feature.NO_STATISTICS),
    _together(Feature.AMBIGUOUS, Feature.CONSTANT_ON, off=(Feature.INSERT, *_BY_SOURCE), weight=7),
    _together(Feature.AMBIGUOUS, Feature.STRICT_POLICY),
    _together(Feature.AMBIGUOUS, Feature.SELF_MERGE),
    _together(Feature.AMBIGUOUS, Feature.SUBQUERY_SOURCE),
    _together(Feature.AMBIGUOUS, Feature.PARTITIONS, Feature.WIDE_TYPES),
    _together(Feature.AMBIGUOUS, Feature.TYPED_KEYS),
    _together(Feature.AMBIGUOUS, Feature.COLUMN_DEFAULTS, Feature.GENERATED_COLUMNS),
    _together(Feature.AMBIGUOUS, Feature.INSERT, Feature.SETTINGS, off=(*_MATCHED, *_BY_SOURCE)),
    # ambiguous rows, allowed
    _together(Feature.LONE_DELETE, Feature.SEVERAL_CLAUSES, *_BY_SOURCE, weight=2),
    _together(Feature.LONE_DELETE, Feature.BY_SOURCE_UPDATE, Feature.GENERATED_COLUMNS, weight=6),
    # merges that touch no file
    _together(
        *(Feature.EMPTY_TARGET, Feature.INTERLEAVED, Feature.MATCHED_UPDATE, Feature.BY_SOURCE_UPDATE),
        off=(Feature.INSERT,),
    ),
    _together(Feature.NEVER_TRUE, Feature.BY_SOURCE_UPDATE, off=(*_MATCHED, Feature.INSERT), weight=4),
    _together(Feature.NEVER_TRUE, Feature.ALL_MATCHED, Feature.MATCHED_UPDATE, off=(*_BY_SOURCE, Feature.INSERT)),
    _together(
        *(Feature.NEVER_TRUE, Feature.MATCHED_UPDATE, Feature.SCHEMA_EVOLUTION, Feature.NESTED_TYPES),
        off=(*_BY_SOURCE, Feature.INSERT),
    ),
    # NaN, which bounds leave out
    _together(
        *(Feature.FLOAT_KEYS, Feature.WIDE_TYPES, Feature.FILE_PRUNING, Feature.MATCHED_UPDATE),
        off=(*_BY_SOURCE, Feature.INSERT, Feature.NO_STATISTICS, Feature.LONG_TEXTS, Feature.AMBIGUOUS),
        weight=6,
    ),
    # merges that succeed
    _together(
        *(Feature.INTERLEAVED, Feature.MATCHED_DELETE, Feature.BY_SOURCE_DELETE, Feature.SEVERAL_CLAUSES),
        off=(Feature.MATCHED_UPDATE, Feature.BY_SOURCE_UPDATE, Feature.INSERT),
    ),
    _together(Feature.NON_EQUI_ON, Feature.SUBQUERY_SOURCE, weight=2),
    _together(Feature.SCHEMA_EVOLUTION, Feature.TYPED_KEYS, Feature.WIDE_TYPES, weight=4),
)
