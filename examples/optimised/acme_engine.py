"""The engine acme for mergecheck: a small merge in plain Python, to be replaced by yours."""

from __future__ import annotations

from collections import Counter

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


class AcmeEngine:
    """Merges by an equality of one column, with unconditional clauses: UPDATE SET *, DELETE, INSERT *.

    It answers everything else with ``Unsupported``, which is counted; it never guesses.
    """

    name = "acme"
    version = "0.1.0"
    # What your engine cannot report, with the reason: such checks count as not made, never as passed.
    capabilities = Capabilities(
        cdf=False,
        error_class=False,
        metric_names=frozenset({"numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"}),
        reasons={
            "cdf": "it has no change data feed",
            "error": "its errors have no classes",
            "metrics": "it counts inserted, updated and deleted rows only",
            "commit": "it has no versions",
            "path": "it has one path",
            "table": "it has no log",
            "log": "it has no log",
            "result": "it returns no row",
        },
        # Features that random cases leave out (mergecheck.strategies.Feature); remove those that your engine supports.
        features_off=frozenset(
            """settings commit-settings time-zone schema-evolution conditions several-clauses-of-a-kind
            explicit-actions key-updates casts extra-source-columns renamed-source-columns missing-source-columns
            columns-in-other-order names-in-other-case partitions not-null-columns check-constraints column-defaults
            generated-columns subquery-source self-merge not-matched-by-source-update not-matched-by-source-delete
            several-keys non-equi-on null-safe-on float-keys typed-keys integer-widths key-expression-on
            target-only-part-of-on source-only-part-of-on one-sided-on constant-on invalid-statements
            case-sensitive-session legacy-store-assignment strict-store-assignment append-only-target
            unqualified-names statement-time duplicate-source-names schemas-without-columns-or-types""".split()
        ),
    )

    def run(self, case: Case) -> Outcome | Rejection | Unsupported:
        """Run one case from scratch; replace the body by a run of your own engine."""
        if case.conf:
            return Unsupported("settings")
        if case.source is None or case.source.schema.ddl() != case.target.schema.ddl():
            return Unsupported("a source that has other columns than the target")
        if any(name.startswith("delta.constraints.") for name in case.target.properties):
            return Unsupported("check constraints")
        if any(not c.nullable or c.default or c.generated for c in case.target.schema.columns):
            return Unsupported("constraints and computed columns")
        if case.target.partition_by:
            return Unsupported("partitions")
        try:
            statement = parse_statement(case.sql)
        except SemanticsError as error:
            return Unsupported(f"a statement that cannot be read: {type(error).__name__}")
        key = key_of(statement, case)
        if key is None or not _is_plain(statement):
            return Unsupported("anything but an equality of one column and unconditional clauses")
        if case.target.schema.columns[key].type.ddl() in ("FLOAT", "DOUBLE"):
            return Unsupported("floating-point keys")
        return _merge(case, statement, key)

    def close(self) -> None:
        """Release the engine's resources."""


def key_of(statement: Statement, case: Case) -> int | None:
    """Return the position of the column that ON compares, for ``t.k = s.k``."""
    on = statement.on.unnest()
    if type(on).__name__ != "EQ":
        return None
    left, right = _name(on.this), _name(on.expression)
    aliases = {statement.target_alias or statement.target, statement.source_alias or statement.source}
    if len(left) != 2 or len(right) != 2 or {left[0], right[0]} != aliases or left[1] != right[1]:
        return None
    names = case.target.schema.names
    return names.index(left[1]) if left[1] in names else None


def _name(side: object) -> list[str]:
    """Return the parts of a column's name, ``["t", "k"]``; nothing if it is no name."""
    return [part.name for part in getattr(side, "parts", ())]


def _is_plain(statement: Statement) -> bool:
    kinds = [clause.kind for clause in statement.clauses]
    return (
        not statement.schema_evolution
        and statement.source == "source"
        and len(set(kinds)) == len(kinds)
        and Kind.NOT_MATCHED_BY_SOURCE not in kinds
        and all(c.condition is None and (c.star or c.action is Action.DELETE) for c in statement.clauses)
    )


def _merge(case: Case, statement: Statement, key: int) -> Outcome | Rejection | Unsupported:
    actions = {clause.kind: clause.action for clause in statement.clauses}
    matched, inserts = actions.get(Kind.MATCHED), Kind.NOT_MATCHED in actions
    sources = [row for row in case.source.rows if row[key] is not None]  # NULL equals nothing
    num_matches = Counter(row[key] for row in sources)
    if matched is Action.UPDATE and any(num_matches[row[key]] > 1 for row in case.target.rows if row[key] is not None):
        return Rejection(error_class="AMBIGUOUS", message="several source rows match a target row", unchanged=True)
    by_key = {row[key]: row for row in sources}
    counts = Counter()
    rows = []
    for row in case.target.rows:
        found = None if row[key] is None else by_key.get(row[key])
        if found is None or matched is None:
            rows.append(row)
        elif matched is Action.DELETE:
            counts["numTargetRowsDeleted"] += 1
        else:
            rows.append(found)
            counts["numTargetRowsUpdated"] += 1
    present = {row[key] for row in case.target.rows if row[key] is not None}
    new = [row for row in case.source.rows if row[key] not in present] if inserts else []
    rows += new
    counts["numTargetRowsInserted"] = len(new)
    metrics = {name: counts[name] for name in AcmeEngine.capabilities.metric_names}
    return Outcome(schema=case.target.schema, rows=tuple(rows), metrics=metrics)
