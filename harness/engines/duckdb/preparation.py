"""The steps that bring a case into DuckDB, merge, and read the table afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.harness.engines.duckdb.native_merge import MergeWriter, readable
from mergecheck.harness.engines.duckdb.native_source import SOURCE, GivenSource, give_source
from mergecheck.harness.engines.duckdb.native_tables import (
    ask,
    ask_rows,
    check_schema,
    create_source,
    create_target,
    insert_rows,
    load,
    misfits,
    run,
    setting,
)
from mergecheck.harness.engines.translated_statement import draws_by_chance, extension, statement_to_translate
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.layout import physical_rows
from mergecheck.model.types.data_types import STRING, Field, NestedType, Schema
from mergecheck.model.types.typed import identifier
from mergecheck.reference.analysis.settings import read_settings
from mergecheck.reference.analysis.values.alignment import StoreAssignmentPolicy
from mergecheck.reference.queries.query_reader import Reader

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.engines.duckdb.native_tables import Step
    from mergecheck.harness.engines.duckdb.options import DuckDbOptions
    from mergecheck.model.case import Case
    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.analysis.settings import Settings
    from mergecheck.reference.queries.query_reader import Rows
    from mergecheck.reference.syntax.statement import Statement

_TARGET, _INCOMING_TARGET = "target", "incoming_target"
_DROPPED = "dropped"
MERGE, COMMIT, ROWS, COLUMNS_BEFORE, COLUMNS = "merge", "commit", "rows", "columns before", "columns"
"""Names of the answers: of MERGE and COMMIT, the table's rows afterwards, its columns before, and afterwards."""
MISFITS = "misfits"
"""The answer that has a row if the table's rows hold what its generated columns do not compute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """A case as DuckDB is asked to run it.

    Attributes:
        directory: where the steps write files; it need not be there before.
        merge: the MERGE without RETURNING; ``prefix`` is the text before it.
        key: the column that an index is made on.
        misfits: the query of rows with values that the table would not compute; None if it computes none.
        extension: the construct that DuckDB allows and Delta refuses, empty for none; if DuckDB merges,
            its answer cannot be compared with a rule.
        draws: whether the merge draws values by chance: it is run once then, since no two runs are alike.
    """

    case: Case
    options: DuckDbOptions
    directory: Path
    merge: str
    prefix: str
    key: str
    extension: str
    draws: bool
    create: str
    misfits: str | None
    source_steps: tuple[Step, ...]

    def steps(self, *, returning: bool) -> list[Step]:
        """List the steps of one merge into a new table.

        Args:
            returning: whether the merge returns the rows it changed; the plain merge succeeded then, unless values
                are drawn by chance.
        """
        in_file = self.options.database == "file"
        path = str(self.directory / ("returning.duckdb" if returning else "plain.duckdb")) if in_file else ":memory:"
        merge = self._merge(returning=returning)
        is_first = not returning or self.draws
        if not is_first and self._is_plain:
            steps: list[Step] = [run('DROP TABLE "target"')]  # its database and its source serve both merges
        else:
            steps = [{"do": "open", "path": path}, setting("TimeZone", "'UTC'")]
            steps += [setting(name, value) for name, value in self.options.session]
            steps += self.source_steps
        steps.append(run(self.create))
        if is_first:
            steps.append(ask(COLUMNS_BEFORE, _COLUMNS))
        steps.append(load(_INCOMING_TARGET, physical_rows(self.case.target), self.case.target.schema))
        if self.misfits is not None:
            steps.append(ask(MISFITS, self.misfits))
        steps += self._around(merge)
        if in_file:
            steps.append({"do": "open", "path": path})
        steps += [ask_rows(ROWS, self._select(), self.case.target.schema), ask(COLUMNS, _COLUMNS)]
        if self.options.database == "temporary-table":  # it would hide the next case's; a failure here is no setup's
            steps.append(ask(_DROPPED, 'DROP TABLE IF EXISTS temp."target"'))
        return steps

    @property
    def restores(self) -> bool:
        """Whether the rows before the merge are there again after it failed: they were committed before."""
        return self.options.transaction not in ("local-rows", "mixed-rows")

    @property
    def _is_plain(self) -> bool:
        """Whether a successful merge leaves nothing behind but tables in memory."""
        return not self.options.database and self.options.transaction in ("", "explicit")

    def _merge(self, *, returning: bool) -> list[Step]:
        # by their names: a star is written out with the target's alias, and DuckDB refuses the alias "excluded" there
        schema = self.case.target.schema
        sql = self.prefix + self.merge
        if not returning:
            return [ask(MERGE, sql)]
        listed = ", ".join(identifier(column.name) for column in schema.columns)
        return [ask_rows(MERGE, f"{sql} RETURNING merge_action, {listed}", returned(schema))]

    def _around(self, merge: list[Step]) -> list[Step]:
        """Load the rows and merge, with the transactions that the case wants."""
        target = self.case.target
        rows = insert_rows(_TARGET, target.schema, _INCOMING_TARGET)
        index = [run(f'CREATE INDEX merge_index ON "target" ({identifier(self.key)})')] if self._indexed else []
        begin, commit = run("BEGIN TRANSACTION"), {**ask(COMMIT, "COMMIT"), "after": MERGE}
        match self.options.transaction:
            case "explicit":
                return [rows, *index, begin, *merge, commit]
            case "local-rows":
                return [*index, begin, rows, *merge, commit]
            case "mixed-rows":
                halves = [
                    insert_rows(
                        _TARGET,
                        target.schema,
                        f"(SELECT *, row_number() OVER () AS n FROM {_INCOMING_TARGET})",
                        where=f" WHERE n % 2 = {n}",
                    )
                    for n in (0, 1)
                ]
                return [halves[0], *index, begin, halves[1], *merge, commit]
            case "after-changes":
                # more rows than there are, and the surplus deleted again: the merge finds holes in the table
                column = next(c.name for c in target.schema.columns if c.generated is None)
                same = run(f'UPDATE "target" SET {identifier(column)} = {identifier(column)}')
                away = run('DELETE FROM "target"')
                return [rows, *index, begin, away, rows, same, *merge, commit]
            case "rolled-back-before":
                return [rows, *index, begin, *merge, {**ask(COMMIT, "ROLLBACK"), "after": MERGE}, *merge]
            case _:
                return [rows, *index, *merge]

    @property
    def _indexed(self) -> bool:
        return self.options.index in ("key", "other")

    def _select(self) -> str:
        listed = ", ".join(identifier(column.name) for column in self.case.target.schema.columns)
        return f'SELECT {listed} FROM "target"'


_COLUMNS = 'DESCRIBE "target"'


def returned(schema: Schema) -> Schema:
    """Give the columns of ``RETURNING merge_action, *``."""
    return Schema((Field("merge_action", STRING), *schema.columns))


def prepare(case: Case, options: DuckDbOptions, directory: Path) -> Preparation:
    """Translate a case; ``directory`` is where its steps may write files.

    Raises:
        UnsupportedByReferenceError: if DuckDB has no equivalent expression.
    """
    settings = read_settings(case)
    statement = statement_to_translate(case.sql)
    check_schema(case.target.schema, "target")
    if case.source is not None:
        check_schema(case.source.schema, "source")
    if any(column.name.lower() == "merge_action" for column in case.target.schema.columns):
        raise UnsupportedByReferenceError("a column that hides the action of RETURNING")
    if case.target.partition_by:
        raise UnsupportedByReferenceError("feature partitions")
    if settings.policy is StoreAssignmentPolicy.STRICT:
        raise UnsupportedByReferenceError("feature strict store assignment")
    if settings.transaction is not None:
        raise UnsupportedByReferenceError("feature idempotent writes")
    if settings.append_only:
        raise UnsupportedByReferenceError("feature append-only tables")
    given = GivenSource() if case.source is None else give_source(case.source, options, directory)
    tables = {_TARGET: readable(identifier(_TARGET), case.target.schema)}
    if case.source is not None:
        tables[SOURCE] = readable(given.text, case.source.schema)
    others: list[Step] = []
    for name, table in case.tables.items():
        check_schema(table.schema, name)
        tables[name] = readable(identifier(name), table.schema)
        incoming = f"incoming_{name}"
        others += [load(incoming, table.rows, table.schema), create_source(name, table.schema)]
        others.append(insert_rows(name, table.schema, incoming))
    source_schema = _source_schema(case, statement, tables, settings)
    writer = MergeWriter(
        statement=statement,
        target_schema=case.target.schema,
        source_schema=source_schema,
        settings=settings,
        options=options,
        tables=tables,
        source_text=given.text if statement.source.lower() == SOURCE else identifier(statement.source),
    )
    if statement.schema_evolution or settings.schema_evolution:
        _check_evolution(case.target.schema, source_schema)
    key = _key(statement.on, case.target.schema)
    if options.index == "other":
        key = next((c.name for c in reversed(case.target.schema.columns) if _indexable(c) and c.name != key), key)
    create = create_target(
        case.target,
        temporary=options.database == "temporary-table",
        primary_key=key if options.index == "primary-key" else None,
        case_sensitive=settings.case_sensitive,
    )
    return Preparation(
        case=case,
        options=options,
        directory=directory,
        merge=writer.text(),
        prefix=given.prefix,
        key=key,
        extension=extension(statement, {*case.target.schema.names, *source_schema.names})
        or ("names in any case" if settings.case_sensitive else ""),
        draws=draws_by_chance(statement),
        create=create,
        misfits=misfits(case.target.schema, _INCOMING_TARGET, case_sensitive=settings.case_sensitive),
        source_steps=(*given.steps, *others),
    )


def _source_schema(case: Case, statement: Statement, tables: dict[str, Rows], settings: Settings) -> Schema:
    if statement.source_query is not None:
        schema = Reader(case_sensitive=settings.case_sensitive).read(statement.source_query, tables).schema
        names = [column.name.lower() for column in schema.columns]
        if len(set(names)) < len(names):
            raise UnsupportedByReferenceError("a source query with two columns of one name")
        return schema
    return case.relations.get(statement.source.lower(), case.target.schema)


def _check_evolution(target: Schema, source: Schema) -> None:
    """Let schema evolution pass if there is nothing to evolve."""
    known = {column.name.lower(): column.type for column in target.columns}
    given = {column.name.lower(): column.type for column in source.columns}
    if known != given or any(_nested(column.type) for column in target.columns):
        raise UnsupportedByReferenceError("feature schema evolution")


def _nested(data_type: DataType) -> bool:
    return isinstance(data_type, NestedType)


def _indexable(column: Field) -> bool:
    return not _nested(column.type) and column.generated is None


def _key(on: exp.Expr, schema: Schema) -> str:
    """Name the column that an index is made on: the first that ON compares, else the first that can have one."""
    columns = {column.name.lower(): column for column in schema.columns if _indexable(column)}
    for name in on.find_all(exp.Column):
        found = columns.get(name.name.lower())
        if found is not None:
            return found.name
    if not columns:
        return schema.columns[0].name
    return next(iter(columns.values())).name
