"""Iceberg's support for a case: kinds of tables, types, constraints and settings; the rest is unsupported, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.compare.feed_balance import PRESERVE_NULL_STRUCTS
from mergecheck.harness.engines.spark.session import PROFILE_SETTINGS
from mergecheck.harness.engines.spark_case import COMPILED_PROFILES, full_name, is_for_harness, profile_of
from mergecheck.harness.engines.statement_forms import has_place_for_clause
from mergecheck.harness.properties.vocabulary import AUTO_MERGE, evolves_by_session
from mergecheck.model.axis import Axis
from mergecheck.model.case import CDF_PROPERTY
from mergecheck.model.schema_json import as_nullable, check_constraints
from mergecheck.model.types.data_types import (
    BINARY,
    SMALLINT,
    STRING,
    TINYINT,
    VOID,
    ArrayType,
    MapType,
    StructType,
    has_type,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.case import Case
    from mergecheck.model.types.data_types import DataType

MODE, FORMAT = "mergecheck.iceberg.mode", "mergecheck.iceberg.format"
"""Settings of a case: how rows are changed, and the version of the table's format."""
COPY_ON_WRITE, MERGE_ON_READ = "copy-on-write", "merge-on-read"
AXES = (Axis(MODE, base=COPY_ON_WRITE, values=(MERGE_ON_READ,)), Axis(FORMAT, base="2", values=("3",)))
_DOMAIN: Mapping[str, tuple[str, ...]] = {name: values for axis in AXES for name, values in axis.domain.items()}
FIRST_FORMAT_WITH_ROW_IDS = 3

FEATURES_OFF = frozenset(
    {
        "append-only-target",
        "check-constraints",
        "column-defaults",
        "commit-settings",
        "duplicate-source-names",
        "generated-columns",
        "integer-widths",
        "legacy-store-assignment",
        "narrow-integers",
        "not-null-fields",
        "schema-evolution",
        "schemas-without-columns-or-types",
        "source-third-tables",
        "strict-store-assignment",
        "text-partitions",
    }
)
"""Features of random cases that lead to what Iceberg does not have, or does by other rules."""

_LACKING_TYPES = {TINYINT: "TINYINT, which becomes INT", SMALLINT: "SMALLINT, which becomes INT", VOID: "VOID"}
# Settings that speak of Delta's own merge and log; Spark's planner and Iceberg do not read them.
_DELTAS_OWN = ("spark.databricks.delta.merge.", "spark.databricks.delta.skipRecordingEmptyCommits")
_SPARKS = "spark.sql."
_STORE_ASSIGNMENT = "spark.sql.storeAssignmentPolicy"


def lacking(case: Case) -> str | None:
    """Return which part of a case Iceberg does not support; None if it supports all."""
    target = case.target
    if case.tables:
        return "tables beside target and source"
    for lacking_type, text in _LACKING_TYPES.items():
        if has_type(target.schema, lacking_type):
            return f"a target with {text}"
    if any(column.generated is not None for column in target.schema.columns):
        return "a generated column"
    if any(column.default is not None for column in target.schema.columns):
        return "a column with a default"
    if target.schema.of_delta_only is not None:
        return target.schema.of_delta_only
    if check_constraints(target.properties):
        return "a CHECK constraint"
    bare = as_nullable(target.schema)
    if any(column.type != given.type for column, given in zip(bare.columns, target.schema.columns, strict=True)):
        return "NOT NULL inside a column: Delta refuses nullable values for it (R-741), Spark looks at each row"
    if not target.schema.columns:
        return "a target without columns"
    if any(column.type in (STRING, BINARY) for column in target.schema.columns if column.name in target.partition_by):
        return "partitions by texts, of which Delta stores an empty one as NULL (R-744)"
    for name in target.properties:
        if name != CDF_PROPERTY:
            return f"table property {name}"
    return _lacking_setting(case)


def _lacking_setting(case: Case) -> str | None:
    for setting, value in case.conf.items():
        name = full_name(setting)
        if setting in _DOMAIN:
            if value not in _DOMAIN[setting]:
                return f"setting {setting}={value}"
        elif (name == _STORE_ASSIGNMENT and value.upper() != "ANSI") or (
            name == PRESERVE_NULL_STRUCTS and value.lower() == "false"
        ):
            return f"setting {setting}={value}"
        elif name == AUTO_MERGE:
            if evolves_by_session(case) and not has_place_for_clause(case):
                return f"setting {setting} with a statement that cannot be read"
        elif not (is_for_harness(setting) or name.startswith((_SPARKS, *_DELTAS_OWN))):
            return f"setting {setting}"
    return None


def session_settings(case: Case) -> dict[str, str]:
    """Give the settings that Spark's session has for a case."""
    told = {
        full_name(name): value
        for name, value in case.conf.items()
        if name not in _DOMAIN and not is_for_harness(name) and full_name(name).startswith(_SPARKS)
    }
    return {**PROFILE_SETTINGS[profile_of(case, COMPILED_PROFILES)], **told}


def mode_of(case: Case) -> str:
    """Return how the table changes rows."""
    return case.conf.get(MODE, COPY_ON_WRITE)


def has_changelog(case: Case) -> bool:
    """Return whether Iceberg's changelog reads such a table: it knows no rows that are deleted on read, and no MAP."""
    columns = (*case.target.schema.columns, *(() if case.source is None else case.source.schema.columns))
    return mode_of(case) == COPY_ON_WRITE and not any(_has_map(column.type) for column in columns)


def _has_map(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return any(_has_map(field.type) for field in data_type.fields)
    return isinstance(data_type, MapType) or (isinstance(data_type, ArrayType) and _has_map(data_type.element))


def format_of(case: Case) -> int:
    """Return the version of the table's format."""
    return int(case.conf.get(FORMAT, "2"))
