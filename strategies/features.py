"""The features that a case may use: swarm testing.

A case that may use everything rarely gets deep into anything. Each case therefore draws a set of features first
(``mergecheck.strategies.profile``), and everything else is drawn within this set.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import Self


class Feature(Enum):
    """The features that a case may use.

    Attributes:
        value: the name in reports and options.
        probability_percent: how many of a hundred cases may use it.
    """

    _value_: str
    probability_percent: float

    def __new__(cls, name: str, probability_percent: float) -> Self:
        """Make the second part of a member an attribute."""
        feature = object.__new__(cls)
        feature._value_ = name
        feature.probability_percent = probability_percent
        return feature

    # clauses
    MATCHED_UPDATE = "matched-update", 60
    MATCHED_DELETE = "matched-delete", 40
    INSERT = "insert", 70
    BY_SOURCE_UPDATE = "not-matched-by-source-update", 50
    BY_SOURCE_DELETE = "not-matched-by-source-delete", 44
    BY_SOURCE_ALONE = "by-source-clauses-alone", 5
    SEVERAL_CLAUSES = "several-clauses-of-a-kind", 40
    CONDITIONS = "conditions", 62
    STAR = "star-actions", 50
    EXPLICIT = "explicit-actions", 70
    EXPRESSIONS = "assigned-expressions", 50
    PARTIAL_INSERT = "partial-insert-lists", 38
    PARTIAL_VALUES = "values-that-may-fail", 9
    KEY_UPDATE = "key-updates", 30
    LONE_DELETE = "sole-unconditional-delete", 16
    NEVER_TRUE = "clauses-that-never-apply", 6
    # keys and rows
    NULL_KEYS = "null-keys", 45
    NULL_VALUES = "null-values", 72
    DUPLICATE_SOURCE_KEYS = "duplicate-source-keys", 40
    DUPLICATE_TARGET_ROWS = "duplicate-target-rows", 30
    AMBIGUOUS = "ambiguous-matches", 16
    AMBIGUOUS_UNMATCHED = "ambiguous-matches-without-matched-clauses", 2
    EMPTY_TARGET = "empty-target", 7
    EMPTY_SOURCE = "empty-source", 9
    ALL_MATCHED = "all-rows-match", 5
    # ON
    SEVERAL_KEYS = "several-keys", 25
    NON_EQUI_ON = "non-equi-on", 15
    NULL_SAFE_ON = "null-safe-on", 20
    KEY_EXPRESSION_ON = "key-expression-on", 16
    TARGET_ONLY_ON = "target-only-part-of-on", 20
    SOURCE_ONLY_ON = "source-only-part-of-on", 18
    ONE_SIDED_ON = "one-sided-on", 8
    CONSTANT_ON = "constant-on", 6
    FILE_PRUNING = "file-pruning", 49
    KEY_RANGES = "key-ranges", 14
    SELF_MERGE = "self-merge", 8
    # table
    PARTITIONS = "partitions", 46
    AWKWARD_PARTITIONS = "awkward-partition-values", 35
    CHANGE_DATA_FEED = "change-data-feed", 50
    SEVERAL_FILES = "several-files", 70
    # how the tables are stored
    ROW_GROUPS = "several-row-groups", 18
    NO_STATISTICS = "files-without-statistics", 22
    OLDER_FILES = "files-without-a-column", 13
    STRING_TYPES = "arrow-string-types", 15
    SOURCE_BATCHES = "several-source-batches", 15
    LARGE_TABLES = "large-tables", 0.8
    # types
    WIDE_TYPES = "wide-types", 42
    TIMESTAMP_NTZ = "timestamp-ntz", 15
    NESTED_TYPES = "nested-types", 36
    LONG_TEXTS = "texts-beyond-the-statistics", 9
    TYPED_KEYS = "typed-keys", 48
    FLOAT_KEYS = "float-keys", 15
    INTEGER_WIDTHS = "integer-widths", 20
    # in every case, unless an engine lacks them, see ALWAYS_ON
    NARROW_INTEGERS = "narrow-integers", 100
    TEXT_PARTITIONS = "text-partitions", 100
    LISTED_GENERATED = "values-for-generated-columns", 100
    # in cases of some combinations, see BROUGHT
    PARTITIONED_BY_TEXT = "partitioned-by-text", 0
    MANY_NULL_KEYS = "many-null-keys", 0
    # names and columns
    AWKWARD_NAMES = "awkward-names", 22
    SPACED_NAMES = "names-with-spaces", 12
    INTERNAL_NAMES = "names-that-engines-use", 6
    OTHER_CASE = "names-in-other-case", 15
    COLUMN_ORDER = "columns-in-other-order", 25
    EXTRA_SOURCE_COLUMNS = "extra-source-columns", 25
    RENAMED_SOURCE_COLUMNS = "renamed-source-columns", 20
    MISSING_SOURCE_COLUMNS = "missing-source-columns", 15
    UNQUALIFIED_NAMES = "unqualified-names", 20
    ALIASES = "aliases", 25
    # schema evolution, nested data, casts, constraints
    SCHEMA_EVOLUTION = "schema-evolution", 38
    NESTED_UPDATE = "nested-updates", 18
    CASTS = "casts", 25
    LEGACY_POLICY = "legacy-store-assignment", 8
    STRICT_POLICY = "strict-store-assignment", 7
    NOT_NULL = "not-null-columns", 26
    NOT_NULL_FIELDS = "not-null-fields", 80
    CHECKS = "check-constraints", 36
    COLUMN_DEFAULTS = "column-defaults", 23
    GENERATED_COLUMNS = "generated-columns", 20
    VIOLATIONS = "constraint-violations", 39
    # the statement as a whole
    SUBQUERY_SOURCE = "subquery-source", 36
    INVALID = "invalid-statements", 4
    INTERLEAVED = "interleaved-clause-kinds", 20
    STATEMENT_TIME = "statement-time", 5
    LAYOUT_AMBIGUITY = "ambiguity-in-pruned-files", 2
    # session
    SETTINGS = "settings", 40
    CASE_SENSITIVE = "case-sensitive-session", 7
    COMMIT_SETTINGS = "commit-settings", 26
    TIME_ZONE = "time-zone", 2
    # unusual tables and names
    UNUSUAL_SCHEMAS = "schemas-without-columns-or-types", 2
    RESERVED_NAMES = "names-of-change-columns", 3
    DUPLICATE_SOURCE_NAMES = "duplicate-source-names", 3
    ALIAS_OF_COLUMN = "alias-equal-to-a-column", 3
    APPEND_ONLY = "append-only-target", 3.5
    # features of the target's protocol, see TABLE_FEATURES
    CLUSTERING = "clustered-table", 30
    IN_COMMIT_TIMESTAMPS = "in-commit-timestamps", 30
    CHECKPOINTS = "checkpoints", 25
    NAMED_TABLE_FEATURES = "named-table-features", 15
    COLUMN_MAPPING = "column-mapping", 45
    DELETION_VECTORS = "deletion-vectors", 60
    TYPE_WIDENING = "type-widening", 56
    ROW_TRACKING = "row-tracking", 35
    IDENTITY_COLUMNS = "identity-columns", 30
    COLUMN_INVARIANTS = "column-invariants", 20
    TEXT_LENGTHS = "text-lengths", 75
    # what people write, see WRITTEN_FORMS
    SOURCE_WINDOWS = "source-windows", 8
    SOURCE_GROUPS = "source-groups", 5
    SOURCE_JOINS = "source-joins", 5
    SOURCE_READS_TARGET = "source-reads-target", 7
    SOURCE_WITH = "source-with", 7
    SOURCE_QUALIFY = "source-qualify", 3
    SOURCE_TOTALS = "source-running-totals", 3
    SOURCE_SUBQUERIES = "source-subqueries", 5
    SOURCE_EXPLODES = "source-explodes", 3
    SOURCE_LIMIT = "source-order-limit", 3
    TEXT_OPERANDS = "texts-beside-other-types", 8
    RANDOM_VALUES = "random-values", 10
    TIME_DEFAULTS = "defaults-of-the-time", 4
    THIRD_TABLES = "source-third-tables", 6


ALWAYS_ON = (Feature.NARROW_INTEGERS, Feature.TEXT_PARTITIONS, Feature.LISTED_GENERATED)
"""What any case may have: TINYINT and SMALLINT, partitions by texts, values for generated columns. Not drawn."""

BROUGHT = (Feature.PARTITIONED_BY_TEXT, Feature.MANY_NULL_KEYS)
"""Drawn alone only for profiles that favour them: combinations of features bring them, or a test with few examples."""

TABLE_FEATURES = (
    *(Feature.CLUSTERING, Feature.IN_COMMIT_TIMESTAMPS, Feature.CHECKPOINTS, Feature.NAMED_TABLE_FEATURES),
    *(Feature.COLUMN_MAPPING, Feature.DELETION_VECTORS, Feature.TYPE_WIDENING, Feature.ROW_TRACKING),
    *(Feature.IDENTITY_COLUMNS, Feature.COLUMN_INVARIANTS, Feature.TEXT_LENGTHS),
)
"""Drawn after everything else, in this order, and only for profiles that name them: few engines know them all."""

SPARK_FORMS = (
    *(Feature.SOURCE_QUALIFY, Feature.SOURCE_TOTALS, Feature.SOURCE_SUBQUERIES, Feature.SOURCE_EXPLODES),
    Feature.SOURCE_LIMIT,
)
"""Queries that the reference has no translation for: for profiles of runs that ask Spark for their rows."""

SOURCE_FORMS = (
    *(Feature.SOURCE_WINDOWS, Feature.SOURCE_GROUPS, Feature.SOURCE_JOINS, Feature.SOURCE_READS_TARGET),
    *(Feature.SOURCE_WITH, *SPARK_FORMS),
)
"""Queries in place of a source that is a table."""

WRITTEN_FORMS = (
    *(*SOURCE_FORMS, Feature.TEXT_OPERANDS, Feature.RANDOM_VALUES, Feature.TIME_DEFAULTS),
    Feature.THIRD_TABLES,
)
"""Drawn last of all, in this order, and only for profiles that name them."""

_F = Feature
NEEDS = MappingProxyType(
    {
        _F.LAYOUT_AMBIGUITY: (_F.AMBIGUOUS, _F.FILE_PRUNING, _F.MATCHED_UPDATE),
        _F.AMBIGUOUS_UNMATCHED: (_F.AMBIGUOUS, _F.BY_SOURCE_UPDATE),
        _F.BY_SOURCE_ALONE: (_F.BY_SOURCE_UPDATE,),
        _F.LONE_DELETE: (_F.MATCHED_DELETE, _F.DUPLICATE_SOURCE_KEYS),
        _F.AMBIGUOUS: (_F.DUPLICATE_SOURCE_KEYS, _F.CONDITIONS, _F.SEVERAL_CLAUSES),
        _F.FILE_PRUNING: (_F.CONDITIONS, _F.SEVERAL_FILES, _F.NULL_VALUES),
        _F.NEVER_TRUE: (_F.CONDITIONS,),
        _F.LONG_TEXTS: (_F.FILE_PRUNING,),
        _F.KEY_RANGES: (_F.SEVERAL_FILES, _F.NULL_KEYS),
        _F.MANY_NULL_KEYS: (_F.NULL_KEYS,),
        _F.PARTIAL_VALUES: (_F.EXPLICIT,),
        _F.NESTED_UPDATE: (_F.NESTED_TYPES, _F.EXPLICIT),
        _F.PARTITIONED_BY_TEXT: (_F.PARTITIONS,),
        _F.COLUMN_DEFAULTS: (_F.EXPLICIT, _F.PARTIAL_INSERT),
        _F.UNUSUAL_SCHEMAS: (_F.SCHEMA_EVOLUTION, _F.STAR),
    }
)
"""The features that a feature turns on, in this order, because it would mostly have no effect without them."""

PARTS = MappingProxyType(
    {
        _F.FILE_PRUNING: (_F.TARGET_ONLY_ON,),
        _F.LAYOUT_AMBIGUITY: (_F.FILE_PRUNING,),
        _F.KEY_RANGES: (_F.NULL_SAFE_ON, _F.NON_EQUI_ON),
        _F.NEVER_TRUE: (_F.CONDITIONS,),
        _F.STATEMENT_TIME: (_F.CONDITIONS,),
        _F.PARTIAL_VALUES: (_F.CONDITIONS, _F.EXPLICIT),
        _F.PARTITIONED_BY_TEXT: (_F.PARTITIONS, _F.TEXT_PARTITIONS),
        **dict.fromkeys((_F.EXPRESSIONS, _F.PARTIAL_INSERT, _F.KEY_UPDATE, _F.NESTED_UPDATE), (_F.EXPLICIT,)),
        _F.RANDOM_VALUES: (_F.EXPLICIT,),
        _F.TEXT_OPERANDS: (_F.KEY_EXPRESSION_ON,),
    }
)
"""The features that a feature writes into a statement: a profile that disables any of them disables it, too."""

CONFLICTS = MappingProxyType(
    {
        # only a merge with nothing but MATCHED clauses skips files by their conditions
        _F.LAYOUT_AMBIGUITY: (
            *(_F.INSERT, _F.BY_SOURCE_UPDATE, _F.BY_SOURCE_DELETE, _F.LONE_DELETE, _F.INVALID, _F.NO_STATISTICS),
        ),
        _F.BY_SOURCE_ALONE: (
            *(_F.INSERT, _F.MATCHED_UPDATE, _F.MATCHED_DELETE, _F.LONE_DELETE, _F.LAYOUT_AMBIGUITY),
            *(_F.FILE_PRUNING, _F.KEY_RANGES),
        ),
        # a sole unconditional DELETE allows several matches
        _F.AMBIGUOUS: (_F.LONE_DELETE,),
        _F.NEVER_TRUE: (_F.LONE_DELETE, _F.LAYOUT_AMBIGUITY),
        _F.AMBIGUOUS_UNMATCHED: (
            *(_F.LAYOUT_AMBIGUITY, _F.LONE_DELETE, _F.FILE_PRUNING, _F.MATCHED_UPDATE, _F.MATCHED_DELETE),
        ),
        # a NOT MATCHED BY SOURCE clause reads every file
        _F.FILE_PRUNING: (_F.BY_SOURCE_UPDATE, _F.BY_SOURCE_DELETE),
        # without column mapping a changed schema cannot hold such names
        _F.SCHEMA_EVOLUTION: (_F.SPACED_NAMES,),
        # there is one policy
        _F.LEGACY_POLICY: (_F.STRICT_POLICY,),
        # an invalid statement never gets as far as a match
        _F.INVALID: (_F.AMBIGUOUS,),
        _F.CASE_SENSITIVE: (_F.OTHER_CASE, _F.DUPLICATE_SOURCE_NAMES),
        # no joins of all rows with all, keys that cannot be counted, or statements that are refused
        _F.LARGE_TABLES: (
            *(_F.NON_EQUI_ON, _F.ONE_SIDED_ON, _F.CONSTANT_ON, _F.SOURCE_ONLY_ON),
            *(_F.AMBIGUOUS, _F.AMBIGUOUS_UNMATCHED, _F.LAYOUT_AMBIGUITY),
            *(_F.EMPTY_TARGET, _F.EMPTY_SOURCE, _F.SELF_MERGE, _F.SUBQUERY_SOURCE, _F.UNUSUAL_SCHEMAS, _F.INVALID),
            *(_F.TYPED_KEYS, _F.FLOAT_KEYS, _F.SEVERAL_KEYS, _F.INTEGER_WIDTHS, _F.ALL_MATCHED),
        ),
        # what keeps an engine from skipping files by the source's keys, or from rewriting only the changed rows
        _F.KEY_RANGES: (
            *(_F.BY_SOURCE_UPDATE, _F.BY_SOURCE_DELETE, _F.PARTITIONS, _F.TYPED_KEYS, _F.FLOAT_KEYS),
            *(_F.PARTIAL_VALUES, _F.NESTED_TYPES, _F.CHECKS, _F.SELF_MERGE, _F.SUBQUERY_SOURCE),
        ),
        _F.UNUSUAL_SCHEMAS: (_F.INVALID, _F.SELF_MERGE, _F.SUBQUERY_SOURCE, _F.SPACED_NAMES),
    }
)
"""The features that a feature turns off."""

CLAUSE_FEATURES = (
    Feature.INSERT,
    Feature.MATCHED_UPDATE,
    Feature.MATCHED_DELETE,
    Feature.BY_SOURCE_UPDATE,
    Feature.BY_SOURCE_DELETE,
)
"""The features that lead to clauses, simplest first: a case has at least one (R-106)."""
