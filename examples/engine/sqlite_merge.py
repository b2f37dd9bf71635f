"""An engine for mergecheck: a merge that SQLite, which has no MERGE, runs as three statements."""

from __future__ import annotations

import sqlite3

from mergecheck import (
    Action,
    Capabilities,
    Case,
    Kind,
    Outcome,
    Rejection,
    SemanticsError,
    Statement,
    Unsupported,
    parse_statement,
)

STORED_AS_THEY_ARE = frozenset({"INT", "BIGINT", "STRING"})


class SqliteMerge:
    """Merges by one column, with UPDATE SET *, DELETE and INSERT * without conditions."""

    name = "sqlite"
    version = sqlite3.sqlite_version
    capabilities = Capabilities(
        cdf=False,
        error_class=False,
        metric_names=frozenset({"numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"}),
        reasons={
            "cdf": "SQLite has no change data feed",
            "error": "its errors have no classes",
            "metrics": "it counts inserted, updated and deleted rows only",
            "commit": "a table has no versions",
            "path": "there is one way to run a merge",
            "table": "a table has no log",
            "log": "a table has no log",
            "result": "the three statements return no row",
        },
    )

    def run(self, case: Case) -> Outcome | Rejection | Unsupported:
        """Create both tables, merge, and read the target."""
        try:
            statement = parse_statement(case.sql)
        except SemanticsError as error:
            return Unsupported(f"a statement that is no plain merge: {type(error).__name__}")
        reason = _unsupported_reason(case) or _unsupported_clauses(statement)
        if reason is not None:
            return Unsupported(reason)
        key = _key(statement, case)
        if key is None:
            return Unsupported("an ON that is no equality of one column of both tables")
        return _merged(case, key, {clause.kind: clause.action for clause in statement.clauses})

    def close(self) -> None:
        """Every case has a database of its own, in memory; nothing is left to close."""


def _unsupported_reason(case: Case) -> str | None:
    schema = case.target.schema
    if case.conf:
        return "settings"
    if case.source is None or case.source.schema.ddl() != schema.ddl():
        return "a source that has other columns than the target"
    if case.target.partition_by or any(name.startswith("delta.constraints.") for name in case.target.properties):
        return "partitions and constraints"
    if any(
        not column.nullable or column.default or column.generated or column.of_delta_only for column in schema.columns
    ):
        return "NOT NULL and computed columns"
    if any(column.type.ddl() not in STORED_AS_THEY_ARE for column in schema.columns):
        return "types other than INT, BIGINT and STRING"
    if case.target.properties.get("delta.appendOnly") == "true":
        return "tables that take appends only"
    return None


def _unsupported_clauses(statement: Statement) -> str | None:
    kinds = [clause.kind for clause in statement.clauses]
    if statement.schema_evolution or statement.source != "source":
        return "schema evolution, and sources that are queries"
    if Kind.NOT_MATCHED_BY_SOURCE in kinds or len(set(kinds)) != len(kinds):
        return "clauses NOT MATCHED BY SOURCE, and several of a kind"
    if any(c.condition is not None or not (c.star or c.action is Action.DELETE) for c in statement.clauses):
        return "conditions, and lists of columns"
    return None


def _key(statement: Statement, case: Case) -> str | None:
    on = statement.on.unnest()
    if type(on).__name__ != "EQ":
        return None
    left, right = ([part.name for part in getattr(side, "parts", ())] for side in (on.this, on.expression))
    sides = {statement.target_alias or statement.target, statement.source_alias or statement.source}
    one_column = len(left) == len(right) == 2 and {left[0], right[0]} == sides and left[1] == right[1]
    return left[1] if one_column and left[1] in case.target.schema.names else None


def _merged(case: Case, key: str, actions: dict[Kind, Action]) -> Outcome | Rejection | Unsupported:
    names = [f"c{number}" for number in range(len(case.target.schema.names))]
    on = names[case.target.schema.names.index(key)]
    columns = ", ".join(names)
    with sqlite3.connect(":memory:") as database:
        for table, rows in (("target", case.target.rows), ("source", case.source.rows)):
            database.execute(f"CREATE TABLE {table} (number INTEGER PRIMARY KEY, {columns})")
            database.executemany(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(names))})", rows)
        # The matches are written down first: an UPDATE or DELETE must not change what the INSERT sees as a match.
        database.execute(
            f"CREATE TABLE pair AS SELECT t.number AS t, s.number AS s FROM target t JOIN source s ON t.{on} = s.{on}"
        )
        matched = actions.get(Kind.MATCHED)
        counts = {"numTargetRowsUpdated": 0, "numTargetRowsDeleted": 0, "numTargetRowsInserted": 0}
        if matched is Action.UPDATE:
            if database.execute("SELECT 1 FROM pair GROUP BY t HAVING count(*) > 1").fetchone():
                return Rejection(error_class="AMBIGUOUS", message="several rows match one target row", unchanged=True)
            values = ", ".join(f"{name} = s.{name}" for name in names)
            done = database.execute(
                f"UPDATE target SET {values} FROM pair, source s WHERE pair.t = target.number AND pair.s = s.number"
            )
            counts["numTargetRowsUpdated"] = done.rowcount
        elif matched is Action.DELETE:
            done = database.execute("DELETE FROM target WHERE number IN (SELECT t FROM pair)")
            counts["numTargetRowsDeleted"] = done.rowcount
        if Kind.NOT_MATCHED in actions:
            done = database.execute(
                f"INSERT INTO target ({columns}) SELECT {columns} FROM source WHERE number NOT IN (SELECT s FROM pair)"
            )
            counts["numTargetRowsInserted"] = done.rowcount
        merged = tuple(database.execute(f"SELECT {columns} FROM target"))
    return Outcome(schema=case.target.schema, rows=merged, metrics=counts)
