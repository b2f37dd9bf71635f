"""The swarm flags, how often each is on, and which of them need or spoil each other (techniques T22)."""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType


class Feature(Enum):
    """What a case may use; the value is its name in reports and options."""

    # clauses
    MATCHED_UPDATE = "matched-update"
    MATCHED_DELETE = "matched-delete"
    INSERT = "insert"
    BY_SOURCE_UPDATE = "not-matched-by-source-update"
    BY_SOURCE_DELETE = "not-matched-by-source-delete"
    SEVERAL_CLAUSES = "several-clauses-of-a-kind"
    CONDITIONS = "conditions"
    STAR = "star-actions"
    EXPLICIT = "explicit-actions"
    EXPRESSIONS = "assigned-expressions"
    PARTIAL_INSERT = "partial-insert-lists"
    PARTIAL_VALUES = "values-that-may-fail"
    KEY_UPDATE = "key-updates"
    LONE_DELETE = "sole-unconditional-delete"
    # keys and rows
    NULL_KEYS = "null-keys"
    NULL_VALUES = "null-values"
    DUPLICATE_SOURCE_KEYS = "duplicate-source-keys"
    DUPLICATE_TARGET_ROWS = "duplicate-target-rows"
    AMBIGUOUS = "ambiguous-matches"
    AMBIGUOUS_UNMATCHED = "ambiguous-matches-without-matched-clauses"
    EMPTY_TARGET = "empty-target"
    EMPTY_SOURCE = "empty-source"
    # ON
    SEVERAL_KEYS = "several-keys"
    NON_EQUI_ON = "non-equi-on"
    NULL_SAFE_ON = "null-safe-on"
    KEY_EXPRESSION_ON = "key-expression-on"
    TARGET_ONLY_ON = "target-only-part-of-on"
    SOURCE_ONLY_ON = "source-only-part-of-on"
    ONE_SIDED_ON = "one-sided-on"
    CONSTANT_ON = "constant-on"
    FILE_PRUNING = "file-pruning"
    KEY_RANGES = "key-ranges"
    SELF_MERGE = "self-merge"
    # table
    PARTITIONS = "partitions"
    AWKWARD_PARTITIONS = "awkward-partition-values"
    CHANGE_DATA_FEED = "change-data-feed"
    SEVERAL_FILES = "several-files"
    # how the tables are stored
    ROW_GROUPS = "several-row-groups"
    NO_STATISTICS = "files-without-statistics"
    OLDER_FILES = "files-without-a-column"
    STRING_TYPES = "arrow-string-types"
    SOURCE_BATCHES = "several-source-batches"
    LARGE_TABLES = "large-tables"
    # types
    WIDE_TYPES = "wide-types"
    TIMESTAMP_NTZ = "timestamp-ntz"
    NESTED_TYPES = "nested-types"
    LONG_TEXTS = "texts-beyond-the-statistics"
    TYPED_KEYS = "typed-keys"
    FLOAT_KEYS = "float-keys"
    INTEGER_WIDTHS = "integer-widths"
    # names and columns
    AWKWARD_NAMES = "awkward-names"
    SPACED_NAMES = "names-with-spaces"
    INTERNAL_NAMES = "names-that-engines-use"
    OTHER_CASE = "names-in-other-case"
    COLUMN_ORDER = "columns-in-other-order"
    EXTRA_SOURCE_COLUMNS = "extra-source-columns"
    RENAMED_SOURCE_COLUMNS = "renamed-source-columns"
    MISSING_SOURCE_COLUMNS = "missing-source-columns"
    UNQUALIFIED_NAMES = "unqualified-names"
    ALIASES = "aliases"
    # schema evolution, nested data, casts, constraints
    SCHEMA_EVOLUTION = "schema-evolution"
    NESTED_UPDATE = "nested-updates"
    CASTS = "casts"
    LEGACY_POLICY = "legacy-store-assignment"
    STRICT_POLICY = "strict-store-assignment"
    NOT_NULL = "not-null-columns"
    NOT_NULL_FIELDS = "not-null-fields"
    CHECKS = "check-constraints"
    COLUMN_DEFAULTS = "column-defaults"
    GENERATED_COLUMNS = "generated-columns"
    VIOLATIONS = "constraint-violations"
    # the statement as a whole
    SUBQUERY_SOURCE = "subquery-source"
    INVALID = "invalid-statements"
    INTERLEAVED = "interleaved-clause-kinds"
    STATEMENT_TIME = "statement-time"
    LAYOUT_AMBIGUITY = "ambiguity-in-pruned-files"
    # session
    SETTINGS = "settings"
    CASE_SENSITIVE = "case-sensitive-session"
    # unusual tables and names
    UNUSUAL_SCHEMAS = "schemas-without-columns-or-types"
    RESERVED_NAMES = "names-of-change-columns"
    DUPLICATE_SOURCE_NAMES = "duplicate-source-names"
    ALIAS_OF_COLUMN = "alias-equal-to-a-column"
    APPEND_ONLY = "append-only-target"


_F = Feature
PERCENT = MappingProxyType(
    {
        _F.MATCHED_UPDATE: 60,
        _F.MATCHED_DELETE: 40,
        _F.INSERT: 70,
        _F.BY_SOURCE_UPDATE: 50,
        _F.BY_SOURCE_DELETE: 44,
        _F.SEVERAL_CLAUSES: 40,
        _F.CONDITIONS: 52,
        _F.STAR: 50,
        _F.EXPLICIT: 70,
        _F.EXPRESSIONS: 50,
        _F.PARTIAL_INSERT: 30,
        _F.PARTIAL_VALUES: 8,
        _F.KEY_UPDATE: 30,
        _F.LONE_DELETE: 12,
        _F.NULL_KEYS: 45,
        _F.NULL_VALUES: 65,
        _F.DUPLICATE_SOURCE_KEYS: 40,
        _F.DUPLICATE_TARGET_ROWS: 30,
        _F.AMBIGUOUS: 3,
        _F.AMBIGUOUS_UNMATCHED: 2,
        _F.EMPTY_TARGET: 3.5,
        _F.EMPTY_SOURCE: 3.5,
        _F.SEVERAL_KEYS: 25,
        _F.NON_EQUI_ON: 15,
        _F.NULL_SAFE_ON: 20,
        _F.KEY_EXPRESSION_ON: 10,
        _F.TARGET_ONLY_ON: 20,
        _F.SOURCE_ONLY_ON: 15,
        _F.ONE_SIDED_ON: 8,
        _F.CONSTANT_ON: 4,
        _F.FILE_PRUNING: 37,
        _F.KEY_RANGES: 14,
        _F.SELF_MERGE: 3,
        _F.PARTITIONS: 35,
        _F.AWKWARD_PARTITIONS: 35,
        _F.CHANGE_DATA_FEED: 50,
        _F.SEVERAL_FILES: 70,
        _F.ROW_GROUPS: 15,
        _F.NO_STATISTICS: 8,
        _F.OLDER_FILES: 10,
        _F.STRING_TYPES: 15,
        _F.SOURCE_BATCHES: 15,
        _F.LARGE_TABLES: 0.8,
        _F.WIDE_TYPES: 35,
        _F.TIMESTAMP_NTZ: 15,
        _F.NESTED_TYPES: 36,
        _F.LONG_TEXTS: 9,
        _F.TYPED_KEYS: 25,
        _F.FLOAT_KEYS: 10,
        _F.INTEGER_WIDTHS: 20,
        _F.AWKWARD_NAMES: 22,
        _F.SPACED_NAMES: 12,
        _F.INTERNAL_NAMES: 6,
        _F.OTHER_CASE: 15,
        _F.COLUMN_ORDER: 25,
        _F.EXTRA_SOURCE_COLUMNS: 25,
        _F.RENAMED_SOURCE_COLUMNS: 20,
        _F.MISSING_SOURCE_COLUMNS: 15,
        _F.UNQUALIFIED_NAMES: 20,
        _F.ALIASES: 25,
        _F.SCHEMA_EVOLUTION: 30,
        _F.NESTED_UPDATE: 18,
        _F.CASTS: 25,
        _F.LEGACY_POLICY: 6,
        _F.STRICT_POLICY: 5,
        _F.NOT_NULL: 14,
        _F.NOT_NULL_FIELDS: 15,
        _F.CHECKS: 25,
        _F.COLUMN_DEFAULTS: 10,
        _F.GENERATED_COLUMNS: 10,
        _F.VIOLATIONS: 26,
        _F.SUBQUERY_SOURCE: 12,
        _F.INVALID: 4,
        _F.INTERLEAVED: 8,
        _F.STATEMENT_TIME: 5,
        _F.LAYOUT_AMBIGUITY: 2,
        _F.SETTINGS: 40,
        _F.CASE_SENSITIVE: 4,
        _F.UNUSUAL_SCHEMAS: 2,
        _F.RESERVED_NAMES: 3,
        _F.DUPLICATE_SOURCE_NAMES: 3,
        _F.ALIAS_OF_COLUMN: 3,
        _F.APPEND_ONLY: 3.5,
    }
)  # fmt: skip - one line per group reads as the table that it is

NEEDS = (
    (_F.LAYOUT_AMBIGUITY, _F.AMBIGUOUS),
    (_F.LAYOUT_AMBIGUITY, _F.FILE_PRUNING),
    (_F.LAYOUT_AMBIGUITY, _F.MATCHED_UPDATE),
    (_F.AMBIGUOUS_UNMATCHED, _F.AMBIGUOUS),
    (_F.AMBIGUOUS_UNMATCHED, _F.BY_SOURCE_UPDATE),
    (_F.LONE_DELETE, _F.MATCHED_DELETE),
    (_F.LONE_DELETE, _F.DUPLICATE_SOURCE_KEYS),
    (_F.AMBIGUOUS, _F.DUPLICATE_SOURCE_KEYS),
    (_F.AMBIGUOUS, _F.CONDITIONS),
    (_F.FILE_PRUNING, _F.CONDITIONS),
    (_F.FILE_PRUNING, _F.SEVERAL_FILES),
    (_F.FILE_PRUNING, _F.NULL_VALUES),
    (_F.LONG_TEXTS, _F.FILE_PRUNING),
    (_F.KEY_RANGES, _F.SEVERAL_FILES),
    (_F.KEY_RANGES, _F.NULL_KEYS),
    (_F.NESTED_UPDATE, _F.NESTED_TYPES),
    (_F.PARTIAL_VALUES, _F.EXPLICIT),
    (_F.NESTED_UPDATE, _F.EXPLICIT),
    (_F.NESTED_UPDATE, _F.MATCHED_UPDATE),
    (_F.COLUMN_DEFAULTS, _F.INSERT),
    (_F.COLUMN_DEFAULTS, _F.EXPLICIT),
    (_F.COLUMN_DEFAULTS, _F.PARTIAL_INSERT),
    (_F.UNUSUAL_SCHEMAS, _F.SCHEMA_EVOLUTION),
    (_F.UNUSUAL_SCHEMAS, _F.STAR),
)
"""Pairs of features: without the second the first would mostly lead to nothing."""

_SMALL_ONLY = (
    *(_F.NON_EQUI_ON, _F.ONE_SIDED_ON, _F.CONSTANT_ON, _F.SOURCE_ONLY_ON),
    *(_F.AMBIGUOUS, _F.AMBIGUOUS_UNMATCHED, _F.LAYOUT_AMBIGUITY),
    *(_F.EMPTY_TARGET, _F.EMPTY_SOURCE, _F.SELF_MERGE, _F.SUBQUERY_SOURCE, _F.UNUSUAL_SCHEMAS, _F.INVALID),
    *(_F.TYPED_KEYS, _F.FLOAT_KEYS, _F.SEVERAL_KEYS, _F.INTEGER_WIDTHS),
)
"""What large tables go without: joins of all with all, keys that cannot be counted, and statements that are refused."""

_NOT_IN_RANGES = (
    *(_F.BY_SOURCE_UPDATE, _F.BY_SOURCE_DELETE, _F.PARTITIONS, _F.TYPED_KEYS, _F.FLOAT_KEYS),
    *(_F.PARTIAL_VALUES, _F.NESTED_TYPES, _F.CHECKS, _F.SELF_MERGE, _F.SUBQUERY_SOURCE),
)
"""What keeps an engine from leaving out files by the source's keys, or from rewriting only the rows that change."""

SPOILS = (
    (_F.LAYOUT_AMBIGUITY, _F.INSERT),
    (_F.LAYOUT_AMBIGUITY, _F.BY_SOURCE_UPDATE),
    (_F.LAYOUT_AMBIGUITY, _F.BY_SOURCE_DELETE),
    (_F.LAYOUT_AMBIGUITY, _F.LONE_DELETE),
    (_F.LAYOUT_AMBIGUITY, _F.INVALID),
    (_F.LAYOUT_AMBIGUITY, _F.NO_STATISTICS),
    (_F.AMBIGUOUS, _F.LONE_DELETE),
    (_F.AMBIGUOUS_UNMATCHED, _F.LAYOUT_AMBIGUITY),
    (_F.AMBIGUOUS_UNMATCHED, _F.LONE_DELETE),
    (_F.AMBIGUOUS_UNMATCHED, _F.FILE_PRUNING),
    (_F.AMBIGUOUS_UNMATCHED, _F.MATCHED_UPDATE),
    (_F.AMBIGUOUS_UNMATCHED, _F.MATCHED_DELETE),
    (_F.FILE_PRUNING, _F.BY_SOURCE_UPDATE),
    (_F.FILE_PRUNING, _F.BY_SOURCE_DELETE),
    (_F.SCHEMA_EVOLUTION, _F.SPACED_NAMES),
    (_F.LEGACY_POLICY, _F.STRICT_POLICY),
    (_F.INVALID, _F.AMBIGUOUS),
    (_F.CASE_SENSITIVE, _F.OTHER_CASE),
    (_F.CASE_SENSITIVE, _F.DUPLICATE_SOURCE_NAMES),
    *((_F.LARGE_TABLES, spoiled) for spoiled in _SMALL_ONLY),
    *((_F.KEY_RANGES, spoiled) for spoiled in _NOT_IN_RANGES),
    (_F.UNUSUAL_SCHEMAS, _F.INVALID),
    (_F.UNUSUAL_SCHEMAS, _F.SELF_MERGE),
    (_F.UNUSUAL_SCHEMAS, _F.SUBQUERY_SOURCE),
    (_F.UNUSUAL_SCHEMAS, _F.SPACED_NAMES),
)
"""Pairs of features that do not go together; the second is turned off.

Several matches are then allowed (R-320); every file is read (R-420); without column mapping a changed schema cannot
hold names with spaces; there is one policy (R-251); an invalid statement never gets as far as a match. Only a merge
with nothing but MATCHED clauses leaves out files by their conditions (R-322).
"""

CLAUSE_FEATURES = (
    Feature.INSERT,
    Feature.MATCHED_UPDATE,
    Feature.MATCHED_DELETE,
    Feature.BY_SOURCE_UPDATE,
    Feature.BY_SOURCE_DELETE,
)
"""The features that stand for clauses, simplest first: a case has at least one of them (R-106)."""
