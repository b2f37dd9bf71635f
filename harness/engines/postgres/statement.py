"""A case in PostgreSQL's SQL: the statements that make its tables, the MERGE, and the query of the table afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mergecheck.harness.engines.postgres import tables
from mergecheck.harness.engines.postgres.expressions import ExpressionWriter, Family, Table, family_of
from mergecheck.harness.engines.postgres.tables import identifier
from mergecheck.harness.engines.translated_statement import extension, statement_to_translate
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.layout import physical_rows
from mergecheck.reference.analysis.constraints import parsed
from mergecheck.reference.analysis.settings import read_settings
from mergecheck.reference.analysis.values.alignment import StoreAssignmentPolicy
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from mergecheck.harness.engines.postgres.expressions import Written
    from mergecheck.model.case import Case
    from mergecheck.model.types.data_types import DataType, Schema
    from mergecheck.reference.analysis.settings import Settings
    from mergecheck.reference.syntax.statement import Clause, Statement

TARGET, SOURCE = "target", "source"
_CONSTRAINT = "delta.constraints."
_WORDS = {
    Kind.MATCHED: "MATCHED",
    Kind.NOT_MATCHED: "NOT MATCHED BY TARGET",
    Kind.NOT_MATCHED_BY_SOURCE: "NOT MATCHED BY SOURCE",
}
_ASSIGNABLE = {
    (Family.INTEGER, Family.DECIMAL),
    (Family.INTEGER, Family.DOUBLE),
    (Family.INTEGER, Family.TEXT),
    (Family.DECIMAL, Family.DECIMAL),
    (Family.SINGLE, Family.DOUBLE),
    (Family.DATE, Family.TEXT),
}
"""Assignments to another family that mean the same in both systems."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresCase:
    """A case as PostgreSQL is asked to run it; ``extension`` names what Delta refuses and PostgreSQL documents."""

    setup: tuple[str, ...]
    merge: str
    rows: str
    extension: str


def translate(case: Case) -> PostgresCase:
    """Write a case in PostgreSQL's SQL.

    Raises:
        UnsupportedByReferenceError: if PostgreSQL cannot express it, or it could mean something else there.
    """
    settings = read_settings(case)
    _check(case, settings)
    statement = statement_to_translate(case.sql)
    if statement.schema_evolution or settings.schema_evolution:
        raise UnsupportedByReferenceError("feature schema evolution")
    if statement.source_query is not None:
        raise UnsupportedByReferenceError("feature source query")
    setup = [tables.TINYINT_DOMAIN, _create_target(case)]
    setup += tables.inserts(identifier(TARGET), physical_rows(case.target), case.target.schema)
    if case.source is not None:
        setup.append(f"CREATE TABLE {identifier(SOURCE)} ({_plain_columns(case.source.schema)})")
        setup += tables.inserts(identifier(SOURCE), case.source.rows, case.source.schema)
    own = case.source is None or statement.source.lower() == TARGET
    writer = _MergeWriter(
        statement=statement,
        target=Table(statement.target_alias or statement.target, case.target.schema),
        source=Table(
            statement.source_alias or statement.source,
            case.target.schema if own or case.source is None else case.source.schema,
        ),
    )
    return PostgresCase(
        setup=tuple(setup),
        merge=writer.text(),
        rows=f"SELECT {tables.texts(case.target.schema, identifier(TARGET))} FROM {identifier(TARGET)}",
        extension=extension(statement, {*writer.target.schema.names, *writer.source.schema.names}),
    )


def _check(case: Case, settings: Settings) -> None:
    reasons = {
        "feature partitions": bool(case.target.partition_by),
        "feature case-sensitive names": settings.case_sensitive,
        "feature store assignment policy": settings.policy is not StoreAssignmentPolicy.ANSI,
        "feature idempotent writes": settings.transaction is not None,
        "feature append-only tables": settings.append_only,
        "tables beside target and source": bool(case.tables),
        "a generated column": any(column.generated is not None for column in case.target.schema.columns),
        case.target.schema.of_delta_only or "": case.target.schema.of_delta_only is not None,
    }
    for schema in [case.target.schema] + ([] if case.source is None else [case.source.schema]):
        names = [column.name.lower() for column in schema.columns]
        reasons["a table without columns"] = not names
        reasons["column names that differ in case only"] = len(set(names)) < len(names)
        for reason, holds in reasons.items():
            if holds:
                raise UnsupportedByReferenceError(reason)


def _plain_columns(schema: Schema) -> str:
    return ", ".join(f"{identifier(column.name)} {tables.postgres_type(column.type)}" for column in schema.columns)


def _create_target(case: Case) -> str:
    schema = case.target.schema
    writer = ExpressionWriter((Table(TARGET, schema),))
    columns = []
    for column in schema.columns:
        text = f"{identifier(column.name)} {tables.postgres_type(column.type)}"
        if column.default is not None:
            text += f" DEFAULT {_assigned(ExpressionWriter(()).write(parsed(column.default)), column.type)}"
        columns.append(text if column.nullable else f"{text} NOT NULL")
    checks = [
        f"CHECK (({writer.condition(parsed(text))}) IS TRUE)"  # NULL violates it, unlike in SQL
        for name, text in case.target.properties.items()
        if name.lower().startswith(_CONSTRAINT)
    ]
    return f"CREATE TABLE {identifier(TARGET)} ({', '.join([*columns, *checks])})"


def _assigned(value: Written, data_type: DataType) -> str:
    """Write a value for a column.

    Raises:
        UnsupportedByReferenceError: if the assignment could mean something else.
    """
    wanted = family_of(data_type)
    if value.family not in (Family.NULL, wanted) and (value.family, wanted) not in _ASSIGNABLE:
        raise UnsupportedByReferenceError(f"assignment from {value.family.value} to {wanted.value}")
    return value.sql


@dataclass(frozen=True, slots=True, kw_only=True)
class _MergeWriter:
    statement: Statement
    target: Table
    source: Table

    def text(self) -> str:
        """Write the MERGE; it returns the action, the row before and the row after as texts."""
        statement = self.statement
        both = ExpressionWriter((self.target, self.source))
        before, after = self._free("old"), self._free("new")
        parts = [
            f"MERGE INTO {_relation(statement.target, statement.target_alias)}",
            f"USING {_relation(statement.source, statement.source_alias)}",
            f"ON {both.condition(statement.on)}",
            *(self._clause(clause) for clause in statement.clauses),
            f"RETURNING WITH (OLD AS {before}, NEW AS {after})",
            f"merge_action(), {tables.texts(self.target.schema, before)}, {tables.texts(self.target.schema, after)}",
        ]
        return " ".join(parts)

    def _free(self, name: str) -> str:
        """Give a name that is no alias of the statement: by default RETURNING calls the rows OLD and NEW."""
        taken = {self.target.qualifier.lower(), self.source.qualifier.lower()}
        return next(free for free in (name, f"{name}_row", f"{name}_row_") if free not in taken)

    def _clause(self, clause: Clause) -> str:
        scope = {
            Kind.MATCHED: (self.target, self.source),
            Kind.NOT_MATCHED: (self.source,),
            Kind.NOT_MATCHED_BY_SOURCE: (self.target,),
        }
        writer = ExpressionWriter(scope[clause.kind])
        condition = "" if clause.condition is None else f" AND {writer.condition(clause.condition)}"
        return f"WHEN {_WORDS[clause.kind]}{condition} THEN {self._action(clause, writer)}"

    def _action(self, clause: Clause, writer: ExpressionWriter) -> str:
        if clause.action is Action.DELETE:
            return "DELETE"
        types = {column.name.lower(): column for column in self.target.schema.columns}
        names, values = [], []
        for path, value in self._assignments(clause, writer):
            column = types.get(path[-1].lower())
            names.append(identifier(path[-1] if column is None else column.name))
            values.append(value.sql if column is None else _assigned(value, column.type))
        if clause.action is Action.INSERT:
            # PostgreSQL counts the names and values itself
            return f"INSERT ({', '.join(names)}) VALUES ({', '.join(values)})"
        return "UPDATE SET " + ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))

    def _assignments(self, clause: Clause, writer: ExpressionWriter) -> list[tuple[tuple[str, ...], Written]]:
        if clause.star:
            source = ExpressionWriter((self.source,))
            return [((name,), source.named(name)) for name in self.target.schema.names]
        if not clause.is_balanced:
            raise UnsupportedByReferenceError("an INSERT with more names than values, or fewer")
        own = self.target.qualifier.lower()
        found = []
        for path, value in zip(clause.columns, clause.values, strict=True):
            if len(path) > 1 and (len(path) > 2 or path[0].lower() != own):  # noqa: PLR2004 - qualifier and name
                raise UnsupportedByReferenceError("an assignment to a field, or by another qualifier")
            found.append((path, writer.write(value)))
        return found


def _relation(name: str, alias: str | None) -> str:
    return f"{identifier(name)} AS {identifier(alias or name)}"
