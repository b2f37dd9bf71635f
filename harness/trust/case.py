"""A case that comes from a stranger may change and read nothing but its own tables.

A case is shown harmless before any engine sees it: its statement, defaults, generated columns and CHECK constraints are
read by the reference's grammar. Every relation must be one of the case's tables, every function one of a list, every
setting one that says how a merge works. What cannot be shown is refused, whatever the engine would do with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mergecheck.harness.core.schema_json import check_constraints
from mergecheck.harness.errors import UserInputError
from mergecheck.harness.trust.texts import harm_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.reference.case.model import Case

# Settings of Delta's and Spark's that change how a merge works. Others could open what the sessions have shut.
_PREFIXES: Final = (
    "delta-rs.",
    "duckdb.",
    "mergecheck.",
    "spark.databricks.delta.history.",
    "spark.databricks.delta.merge.",
    "spark.databricks.delta.optimizeWrite.",
    "spark.databricks.delta.schema.",
    "spark.databricks.delta.schemaEvolution.",
    "spark.databricks.delta.stats.",
    "spark.databricks.delta.typeWidening.",
    "spark.databricks.delta.write.",
    "spark.sql.adaptive.",
    "spark.sql.codegen.",
    "spark.sql.files.",
    "spark.sql.parquet.",
    "spark.sql.sortMergeJoinExec.",
)
_SETTINGS: Final = frozenset(
    {
        "spark.databricks.delta.commitInfo.userMetadata",
        "spark.databricks.delta.createDataFrame.dropNullColumns",
        "spark.databricks.delta.resolveMergeUpdateStructsByName.enabled",
        "spark.databricks.delta.skipRecordingEmptyCommits",
        "spark.sql.ansi.enabled",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.caseSensitive",
        "spark.sql.execution.arrow.maxRecordsPerBatch",
        "spark.sql.leafNodeDefaultParallelism",
        "spark.sql.readSideCharPadding",
        "spark.sql.session.timeZone",
        "spark.sql.shuffle.partitions",
        "spark.sql.storeAssignmentPolicy",
        "void_columns",
    }
)
_ADVICE: Final = "If it is your own, run it with --trust."


def require_harmless(case: Case, where: str, *, advice: str = _ADVICE) -> None:
    """Refuse a case that is not shown harmless.

    Args:
        case: as it was read.
        where: the file, for the message.
        advice: what the user can do.

    Raises:
        UserInputError: with the part of the case and what it does.
    """
    for part, harm in _harms(case):
        case_id = ascii(case.id)[1:-1]
        raise UserInputError(
            f"{where}: case {case_id}: {part} {harm}. The case may touch more than its own tables. {advice}"
        )


def _harms(case: Case) -> Iterator[tuple[str, str]]:
    tables = frozenset({"target"} if case.source is None else {"target", "source"})
    schemas = [case.target.schema, *([] if case.source is None else [case.source.schema])]
    columns = frozenset(column.name.lower() for schema in schemas for column in schema.columns)
    texts = [("its statement", case.sql, "statement")]
    for column in case.target.schema.columns:
        given = (("the default", column.default), ("the generation expression", column.generated))
        texts += [(f"{part} of {column.name!a}", text, "expression") for part, text in given if text is not None]
    for name, text in check_constraints(case.target.properties).items():
        texts.append((f"the constraint {name!a}", text, "expression"))
    for part, text, rule in texts:
        harm = harm_in(text, rule, tables=tables, columns=columns)
        if harm is not None:
            yield part, ascii(harm)[1:-1]
    for name in case.conf:
        if name not in _SETTINGS and not name.startswith(_PREFIXES):
            yield "its setting", f"{name!a} is not among those that a case may have"
