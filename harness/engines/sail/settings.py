"""The settings of a case that Sail obeys, ignores without harm, or lacks; the metrics that it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.compare.feed_balance import PRESERVE_NULL_STRUCTS
from mergecheck.harness.engines.spark_case import PLANNER_SETTINGS, full_name, is_for_harness
from mergecheck.harness.engines.statement_forms import has_place_for_clause
from mergecheck.harness.properties.vocabulary import AUTO_MERGE, evolves_by_session
from mergecheck.model.axis import Axis

if TYPE_CHECKING:
    from mergecheck.model.case import Case

COMPARED_METRICS = frozenset(
    {
        "numSourceRows",
        "numTargetRowsInserted",
        "numTargetRowsUpdated",
        "numTargetRowsDeleted",
        "numTargetRowsMatchedUpdated",
        "numTargetRowsMatchedDeleted",
        "numTargetRowsNotMatchedBySourceUpdated",
        "numTargetRowsNotMatchedBySourceDeleted",
    }
)
"""Metrics that a merge must count whatever files it rewrites; the others must fit the files (P-6, P-10)."""

FEATURES_OFF = frozenset(
    {
        "case-sensitive-session",
        "commit-settings",
        "duplicate-source-names",
        "legacy-store-assignment",
        "schemas-without-columns-or-types",
        "source-third-tables",
        "strict-store-assignment",
        "time-zone",
    }
)
"""Features of random cases that lead to a setting, or to a table, that Sail does not have."""

REASONS = {
    "metrics": "which files are rewritten, and so which rows are copied, is the engine's choice",
    "commit": "Sail has rules of its own about versions in which no row changes",
    "error": "Sail's errors have few classes of Delta's",
    "cdf": "Sail merges into no table with a change feed",
    "path": "Sail has one way to run a merge",
    "log": "Sail's commitInfo has some of Delta's entries only",
    "result": "Sail returns a row of its own",
}

_SERVER = "sail."
AXES: tuple[Axis, ...] = tuple(
    # Random cases carry none of them: each other configuration is another server, which takes a second to start.
    Axis(f"{_SERVER}{name}", values=values, sentence=sentence, drawn=False)
    for name, values, sentence in (
        ("execution.batch_size", ("1", "3"), "rows go through a plan in batches of so many"),
        ("execution.default_parallelism", ("1", "4"), "so many partitions of a plan"),
        ("optimizer.enable_join_reorder", ("true",), "joins may change their order"),
        ("optimizer.prefer_hash_join", ("false",), "tables are joined by sorting"),
        ("parquet.pruning", ("false",), "no row group is skipped"),
        ("parquet.enable_page_index", ("false",), "no page is skipped"),
        ("parquet.pushdown_filters", ("true",), "conditions are evaluated while files are read"),
    )
)
"""Settings of Sail's server, which it reads from its environment when it starts."""
_DOMAIN = {axis.name: axis.values for axis in AXES}

# Sail takes any setting without a word; these are the values by which it works.
_FIXED = {
    PRESERVE_NULL_STRUCTS.lower(): "true",
    f"{PRESERVE_NULL_STRUCTS}.updateStar".lower(): "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.casesensitive": "false",
    "spark.sql.storeassignmentpolicy": "ansi",
    "spark.sql.timestamptype": "timestamp_ltz",
}
# Whether a version is made where no row changes is not compared.
_NOT_COMPARED = frozenset({"spark.databricks.delta.skiprecordingemptycommits"})
_PASSED_ON = frozenset({"spark.sql.session.timeZone"})
# How Delta Lake plans its merge; Sail has its own planner.
_DELTAS_PLANNER = "spark.databricks.delta.merge."


def lacking(case: Case) -> str | None:
    """Return which settings of a case Sail cannot obey, or which features of its table Sail lacks; None if none."""
    if case.target.schema.of_delta_only is not None:
        return case.target.schema.of_delta_only
    if case.tables:
        return "tables beside target and source"
    for setting, value in case.conf.items():
        name = full_name(setting)
        if name.startswith(_SERVER):
            if value not in _DOMAIN.get(name, ()):
                return f"setting {setting}={value}"
            continue
        if name in PLANNER_SETTINGS | _PASSED_ON or name.lower() in _NOT_COMPARED:
            continue
        if name == AUTO_MERGE:
            if evolves_by_session(case) and not has_place_for_clause(case):
                return f"setting {setting} with a statement that cannot be read"
        elif name.lower() in _FIXED:
            if _FIXED[name.lower()] != value.lower():
                return f"setting {setting}"
        elif not is_for_harness(setting) and not name.startswith(_DELTAS_PLANNER):
            return f"setting {setting}"
    return None


def environment(case: Case) -> tuple[str, ...]:
    """Return the variables of the server's environment, as ``NAME=VALUE``."""
    return tuple(
        f"SAIL_{name.removeprefix(_SERVER).upper().replace('.', '__')}={value}"
        for name, value in sorted(case.conf.items())
        if name in _DOMAIN
    )


def passed_on(case: Case) -> dict[str, str]:
    """Return the settings that are passed on to Sail."""
    return {name: value for name, value in case.conf.items() if name in _PASSED_ON}
