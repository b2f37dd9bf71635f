"""The fluent API, with the names that users of Delta Lake know (R-102..R-107).

>>> (
...     DeltaTable.forPath(spark, "/data/events").alias("t")
...     .merge(updates.alias("s"), "t.id = s.id")
...     .whenMatchedUpdate(condition="s.op = 'u'", set={"value": "s.value"})
...     .whenMatchedDelete(condition="s.op = 'd'")
...     .whenNotMatchedInsertAll()
...     .execute()
... )  # doctest: +SKIP

Expressions are SQL text or ``Column`` objects of classic Spark, as in ``col("t.id") == updates["id"]``. Columns of
Spark Connect are refused: they must be given as SQL text.
"""

# ruff: noqa: N802 - method names are Delta's
# ruff: noqa: A002, N803 - so are argument names: `set`, `sparkSession`

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from pyspark.sql import Column, DataFrame

from mergecheck.merge.column_text import SOURCE_NAME, TARGET_NAME, ColumnTexts, columns_of
from mergecheck.merge.command import run_merge
from mergecheck.merge.errors import UnsupportedStatementError
from mergecheck.merge.executors.source import MergeSource
from mergecheck.merge.expressions.boundary import merge_errors
from mergecheck.merge.resolution.delta_merge_into import check_clauses
from mergecheck.merge.syntax.dialect import parse_name, quote_name
from mergecheck.merge.syntax.expression_reader import parse_expression
from mergecheck.merge.syntax.source_alias import find_source_alias
from mergecheck.merge.syntax.statement import ActionType, Assignment, Clause, ClauseKind, MergeStatement
from mergecheck.merge.table.reading.source_reads import read_traceably
from mergecheck.merge.table.snapshot.reading import open_snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from mergecheck.merge.command import MergeResult
    from mergecheck.merge.table.snapshot.snapshot import Snapshot

# What toDF has returned, as long as the frame lives: no public interface of Spark lists the tables that a frame reads.
_SNAPSHOTS: WeakKeyDictionary[DataFrame, Snapshot] = WeakKeyDictionary()

_INSERT = ClauseKind.NOT_MATCHED, ActionType.INSERT


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeltaTable:
    """A Delta table at a path, as the target of a merge. Make one with ``forPath`` or ``forName``."""

    spark: SparkSession
    path: str
    name: str | None = None
    _read: dict[str, str] = field(default_factory=dict, repr=False)
    """The columns of what ``toDF`` returned, by Spark's identities; an alias of the table has the same."""

    @classmethod
    def forPath(cls, sparkSession: SparkSession, path: str, hadoopConf: Mapping[str, str] | None = None) -> DeltaTable:
        """Take the table at a path. The table is read when the merge runs.

        Raises:
            UnsupportedStatementError: there are settings for the file system of this table alone.
        """
        if hadoopConf:
            raise UnsupportedStatementError("hadoopConf", hint="Set its options in the session: spark.hadoop.fs.*.")
        return cls(spark=sparkSession, path=str(path))

    @classmethod
    def forName(cls, sparkSession: SparkSession, tableOrViewName: str) -> DeltaTable:
        """Take the table that a name such as ``delta.`/path``` gives.

        Raises:
            UnsupportedStatementError: it is the name of a table in a catalog.
        """
        parts = parse_name(tableOrViewName)
        if len(parts) != 2 or parts[0].lower() != "delta":  # noqa: PLR2004 - delta and the path
            raise UnsupportedStatementError(
                f"a table of the catalog ({tableOrViewName})",
                hint="Give its path: DeltaTable.forPath(spark, path), or delta.`/path` as its name.",
            )
        return cls.forPath(sparkSession, parts[1])

    def alias(self, aliasName: str) -> DeltaTable:
        """Name the table for expressions, as ``t`` in ``t.id = s.id``."""
        return replace(self, name=aliasName)

    def toDF(self) -> DataFrame:
        """Read the table as it is now, under its alias if it has one.

        Raises:
            MergeError: the table cannot be read.
        """
        with merge_errors(self.path):
            snapshot = open_snapshot(self.spark, self.path)
            frame = read_traceably(self.spark, snapshot)
            self._read.update(
                {i: quote_name(column.name) for i, column in zip(columns_of(frame, ""), frame.schema, strict=True)}
            )
            frame = frame.alias(self.name) if self.name else frame
        _SNAPSHOTS[frame] = snapshot
        return frame

    def merge(self, source: DataFrame, condition: str | Column) -> DeltaMergeBuilder:
        """Begin a merge of a source into this table.

        Args:
            source: the rows; name them with ``source.alias("s")`` to qualify columns in expressions. What ``toDF`` of
                a table returned is known as a Delta table, which need not be materialised (R-450).
            condition: when a source row matches a target row, as SQL or as a column.

        Raises:
            ValueError: an argument is None.
            TypeError: the source is no DataFrame, or the condition is neither text nor a column (R-103).
            MergeError: the condition is not readable; see ``ColumnTexts.text`` for columns.
        """
        if source is None:
            raise ValueError("'source' in merge cannot be None")
        if not isinstance(source, DataFrame):
            raise TypeError(f"Type of 'source' in merge must be DataFrame, found {type(source).__name__}")
        if condition is None:
            raise ValueError("'condition' in merge cannot be None")
        target = quote_name(self.name or TARGET_NAME)
        columns = ColumnTexts(
            spark=self.spark,
            source=columns_of(source, SOURCE_NAME),
            target={identity: f"{target}.{name}" for identity, name in self._read.items()},
        )
        text = _text(condition, "'condition' in merge", columns)
        return DeltaMergeBuilder(table=self, source=source, condition=text, columns=columns, clauses=())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DeltaMergeBuilder:
    """A merge under construction. Every method returns a new builder; nothing runs before ``execute`` (R-102)."""

    table: DeltaTable
    source: DataFrame
    condition: str
    columns: ColumnTexts
    clauses: tuple[Clause, ...]
    schema_evolution: bool = False

    def whenMatchedUpdate(
        self, condition: str | Column | None = None, set: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Update matched rows: column name to SQL or column. Empty and unconditional, the clause is dropped (R-105)."""
        return self._update("whenMatchedUpdate", ClauseKind.MATCHED, condition, set)

    def whenMatchedUpdateAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Update every column of matched rows from its namesake in the source (R-201)."""
        return self._when("whenMatchedUpdateAll", ClauseKind.MATCHED, ActionType.UPDATE, condition, star=True)

    def whenMatchedDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Delete matched rows."""
        return self._when("whenMatchedDelete", ClauseKind.MATCHED, ActionType.DELETE, condition)

    def whenNotMatchedInsert(
        self, condition: str | Column | None = None, values: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Insert source rows without a match: column name to SQL or column.

        Columns left out are generated, or take their default, or NULL (R-220).
        """
        assignments = _assignments(values, "'values' in whenNotMatchedInsert", self.columns)
        return self._when("whenNotMatchedInsert", *_INSERT, condition, assignments=assignments)

    def whenNotMatchedInsertAll(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Insert source rows without a match, every column from its namesake (R-201)."""
        return self._when("whenNotMatchedInsertAll", *_INSERT, condition, star=True)

    def whenNotMatchedBySourceUpdate(
        self, condition: str | Column | None = None, set: dict[str, str | Column] | None = None
    ) -> DeltaMergeBuilder:
        """Update target rows that no source row matches. Empty and unconditional, the clause is dropped (R-105)."""
        return self._update("whenNotMatchedBySourceUpdate", ClauseKind.NOT_MATCHED_BY_SOURCE, condition, set)

    def whenNotMatchedBySourceDelete(self, condition: str | Column | None = None) -> DeltaMergeBuilder:
        """Delete target rows that no source row matches."""
        return self._when(
            "whenNotMatchedBySourceDelete", ClauseKind.NOT_MATCHED_BY_SOURCE, ActionType.DELETE, condition
        )

    def withSchemaEvolution(self) -> DeltaMergeBuilder:
        """Let the source add columns to the table."""
        return replace(self, schema_evolution=True)

    def statement(self) -> MergeStatement:
        """Give the statement that ``execute`` runs.

        Raises:
            AnalysisError: no clause (R-106), or a clause but the last of its kind has no condition (R-107).
        """
        check_clauses(self.clauses)
        statement = MergeStatement(
            condition=self.condition,
            clauses=self.clauses,
            target_alias=self.table.name,
            with_schema_evolution=self.schema_evolution,
        )
        return replace(
            statement,
            target_alias=self.table.name or _if_used(TARGET_NAME, statement),
            source_alias=find_source_alias(statement, self.source) or _if_used(SOURCE_NAME, statement),
        )

    def execute(self) -> MergeResult:
        """Run the merge and commit it.

        Raises:
            MergeError: the merge fails, with Delta's error class; the table is unchanged.
        """
        snapshot = _SNAPSHOTS.get(self.source)
        with merge_errors(self.table.path):
            source = MergeSource(frame=self.source)
            if snapshot is not None:
                source = MergeSource.of_table(self.source, snapshot)
            return run_merge(self.table.spark, path=self.table.path, statement=self.statement(), source=source)

    def _update(
        self, method: str, kind: ClauseKind, condition: str | Column | None, given: dict[str, str | Column] | None
    ) -> DeltaMergeBuilder:
        assignments = _assignments(given, f"'set' in {method}", self.columns)
        if not assignments and condition is None:
            return self
        return self._when(method, kind, ActionType.UPDATE, condition, assignments=assignments)

    def _when(
        self,
        method: str,
        kind: ClauseKind,
        action: ActionType,
        condition: str | Column | None,
        *,
        assignments: tuple[Assignment, ...] = (),
        star: bool = False,
    ) -> DeltaMergeBuilder:
        text = None if condition is None else _text(condition, f"'condition' in {method}", self.columns)
        clause = Clause(kind=kind, action=action, condition=text, assignments=assignments, star=star)
        return replace(self, clauses=(*self.clauses, clause))


def _if_used(name: str, statement: MergeStatement) -> str | None:
    """Give a table that has no alias the one that columns of a DataFrame were written with."""
    return name if any(quote_name(name) in text for text in statement.expressions()) else None


def _text(given: object, what: str, columns: ColumnTexts) -> str:
    """Check an expression (R-103) and write it as SQL."""
    if isinstance(given, Column):
        given = columns.text(given, what)
    if not isinstance(given, str):
        raise TypeError(
            f"{what} must be a Column or an expression as SQL text, found {given!r} of type {type(given).__name__}"
        )
    parse_expression(given)
    return given


def _assignments(given: object, what: str, columns: ColumnTexts) -> tuple[Assignment, ...]:
    """Check a dict of names and expressions (R-103) and read the names (R-104)."""
    if given is None:
        raise ValueError(f"{what} cannot be None")
    if not isinstance(given, dict):
        raise TypeError(f"{what} must be a dict of column names and Columns or SQL texts, found {type(given).__name__}")
    return tuple(
        Assignment(target=_key(key, what), value=_text(value, f"the value of {key!r} of {what}", columns))
        for key, value in given.items()
    )


def _key(key: object, what: str) -> tuple[str, ...]:
    if not isinstance(key, str):
        raise TypeError(f"Keys of {what} must be column names, found {key!r} of type {type(key).__name__}")
    # a star is a name here, which cannot be resolved.
    return ("*",) if key.strip() == "*" else parse_name(key)
