"""Alternatives to a merge: a fixed list of edited cases, which the reference evaluates like any other.

An alternative changes one thing: how NULL counts in a condition, which clause goes first, which match wins. Clauses are
numbered as in the report, over the whole statement. The more specific alternatives come first: a change that fewer
tables show explains more if it agrees.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.harness.explanation.alternative_actions import action_alternatives
from mergecheck.harness.properties.merge_text import ClauseText, merge_text, operands, with_operator
from mergecheck.harness.properties.source_tables import source_table
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.properties.merge_text import StatementText
    from mergecheck.model.case import Case
    from mergecheck.reference.trace import Trace

_CASE_SENSITIVE = "spark.sql.caseSensitive"
_CLAUSE = re.compile(r"clause (\d+)")
_FAMILIES = (
    (re.compile(r"did without .*", re.DOTALL), "had a condition less"),
    (re.compile(r"(?<= set ).*(?= to NULL$)", re.DOTALL), "a column"),
    (re.compile(r"(?<= left ).*(?= as it is$)", re.DOTALL), "a column"),
    (re.compile(r"(?<=NULL for ).*", re.DOTALL), "a column"),
)


@dataclass(frozen=True, slots=True)
class Alternative:
    """An alternative meaning of a case: ``hypothesis`` describes it, ``case`` is the case that has it."""

    hypothesis: str
    case: Case

    @property
    def family(self) -> str:
        """The hypothesis without numbers and texts of one statement, such as ``as if a clause had no condition``."""
        plain = re.sub(r"before clause \d+", "before another", self.hypothesis)
        plain = _CLAUSE.sub("a clause", plain)
        for own, general in _FAMILIES:
            plain = own.sub(general, plain)
        return plain

    @property
    def causes(self) -> frozenset[str]:
        """What two findings with one cause have in common: the family, with the kind or the place of the clause.

        A place counts from the second clause on: the first one is what shrinking leaves of any statement.
        """
        named = _CLAUSE.search(self.hypothesis)
        text = None if named is None else merge_text(self.case.sql)
        if named is None or text is None:
            return frozenset({self.family})
        number = int(named[1])
        clause = text.clauses[number - 1]
        of_kind = f"{self.family}: {clause.kind.value} {clause.action.value}"
        return frozenset({of_kind, f"{self.family}: {number}"} if number > 1 else {of_kind})


def alternatives(case: Case, trace: Trace) -> Iterator[Alternative]:
    """Yield the alternatives of a case."""
    text = merge_text(case.sql)
    if text is None:
        return
    edits = itertools.chain(
        _operators(text), _null_ends(text), _null_conditions(text), _conjuncts(text), _order(text), _conditions(text)
    )
    yield from (Alternative(hypothesis, replace(case, sql=edited.sql())) for hypothesis, edited in edits)
    yield from _settings(case)
    yield from _ambiguous(case, trace)
    yield from (Alternative(hypothesis, replace(case, sql=edited.sql())) for hypothesis, edited in _clauses(text))
    yield from (
        Alternative(hypothesis, replace(case, sql=text.with_clause(i, clause).sql()))
        for i in range(len(text.clauses))
        for hypothesis, clause in action_alternatives(text.clauses[i], i + 1)
    )
    yield from (Alternative(hypothesis, replace(case, sql=edited.sql())) for hypothesis, edited in _all_or_none(text))


def _null_ends(text: StatementText) -> Iterator[tuple[str, StatementText]]:
    """Skip the clauses behind one whose condition is NULL."""
    for i, first in enumerate(text.clauses):
        later = [j for j, clause in enumerate(text.clauses) if j > i and clause.kind is first.kind]
        if first.condition is None or not later:
            continue
        edited = text
        for j in later:
            own = text.clauses[j]
            known = f"({first.condition}) IS NOT NULL"
            both = known if own.condition is None else f"({own.condition}) AND {known}"
            edited = edited.with_clause(j, replace(own, condition=both))
        yield f"as if no clause came after a NULL condition of clause {i + 1}", edited


def _null_conditions(text: StatementText) -> Iterator[tuple[str, StatementText]]:
    for i, clause in enumerate(text.clauses):
        if clause.condition is None:
            continue
        inner = _null_is_false_inside(clause.condition)
        if inner is not None:
            edited = text.with_clause(i, replace(clause, condition=inner))
            yield f"as if a comparison with NULL counted as FALSE in clause {i + 1}", edited
        taken = replace(clause, condition=f"coalesce(({clause.condition}), TRUE)")
        yield f"as if NULL counted as TRUE in clause {i + 1}", text.with_clause(i, taken)
    inner = _null_is_false_inside(text.on)
    if inner is not None:
        yield "as if a comparison with NULL counted as FALSE in ON", replace(text, on=inner)
    yield "as if NULL counted as TRUE in ON", replace(text, on=f"coalesce(({text.on}), TRUE)")


def _null_is_false_inside(condition: str) -> str | None:
    """Return the condition with FALSE for each comparison in it that is NULL; None if that changes nothing."""
    try:
        tree = sqlglot.parse_one(condition, read="databricks")
    except (SqlglotError, RecursionError):
        return None
    if isinstance(tree, exp.Predicate) or not any(tree.find_all(exp.Predicate)):
        return None

    def known(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Predicate) and not isinstance(node, exp.Is):
            return exp.Coalesce(this=node.copy(), expressions=[exp.false()])
        return node

    return str(tree.transform(known).sql(dialect="databricks"))


def _operators(text: StatementText) -> Iterator[tuple[str, StatementText]]:
    for old, new in (("=", "<=>"), ("<=>", "=")):
        on = with_operator(text.on, old, new)
        if on != text.on:
            yield f"as if ON used {new} for {old}", replace(text, on=on)
        for i, clause in enumerate(text.clauses):
            other = None if clause.condition is None else with_operator(clause.condition, old, new)
            if other != clause.condition:
                edited = text.with_clause(i, replace(clause, condition=other))
                yield f"as if clause {i + 1} used {new} for {old}", edited


def _order(text: StatementText) -> Iterator[tuple[str, StatementText]]:
    """Swap two clauses of a kind; a clause without a condition gets one, so that it may stand anywhere."""
    places: dict[Kind, list[int]] = {}
    for i, clause in enumerate(text.clauses):
        places.setdefault(clause.kind, []).append(i)
    for same in places.values():
        for i, j in itertools.combinations(same, 2):
            clauses = [_conditioned(clause) for clause in text.clauses]
            clauses[i], clauses[j] = clauses[j], clauses[i]
            yield f"as if clause {j + 1} came before clause {i + 1}", replace(text, clauses=tuple(clauses))


def _conjuncts(text: StatementText) -> Iterator[tuple[str, StatementText]]:
    for part, rest in _without_conjuncts(text.on):
        yield f"as if ON did without {part}", replace(text, on=rest)
    for i, clause in enumerate(text.clauses):
        for part, rest in _without_conjuncts(clause.condition or ""):
            edited = text.with_clause(i, replace(clause, condition=rest))
            yield f"as if clause {i + 1} did without {part}", edited


def _conditions(text: StatementText) -> Iterator[tuple[str, StatementText]]:
    for i, clause in enumerate(text.clauses):
        if clause.condition is None:
            continue
        ignored = replace(clause, condition="TRUE")
        yield f"as if clause {i + 1} had no condition", text.with_clause(i, ignored)
        negated = replace(clause, condition=f"NOT ({clause.condition})")
        yield f"as if the condition of clause {i + 1} were negated", text.with_clause(i, negated)


def _clauses(text: StatementText) -> Iterator[tuple[str, StatementText]]:
    for i, clause in enumerate(text.clauses):
        never = text.with_clause(i, replace(clause, condition="FALSE"))
        yield f"as if clause {i + 1} were not there", never
        if clause.action is Action.DELETE and clause.kind is Kind.MATCHED:
            by_source = ClauseText(kind=Kind.NOT_MATCHED_BY_SOURCE, action=Action.DELETE)
            edited = replace(text, clauses=(*text.clauses, by_source))
            yield f"as if clause {i + 1} also deleted rows without a match", edited


def _all_or_none(text: StatementText) -> Iterator[tuple[str, StatementText]]:
    yield "as if no rows matched", replace(text, on="FALSE")
    yield "as if every pair of rows matched", replace(text, on="TRUE")
    if len(text.clauses) > 1:
        never = replace(text, clauses=tuple(replace(clause, condition="FALSE") for clause in text.clauses))
        yield "as if no clause applied", never


def _ambiguous(case: Case, trace: Trace) -> Iterator[Alternative]:
    """Keep one match of each target row, by leaving out the source rows of the others, where the source is a table."""
    source, matches = case.source, trace.matches
    if source is None or matches is None or source_table(case) is not source:
        return
    for word, choose in (("first", min), ("last", max)):
        kept: dict[int, int] = {}
        for sid, rid in matches.pairs:
            kept[rid] = choose(sid, kept.get(rid, sid))
        lost = {sid for sid, rid in matches.pairs if kept[rid] != sid}
        if lost:
            rows = tuple(row for sid, row in enumerate(source.rows) if sid not in lost)
            edited = replace(case, source=replace(source, rows=rows))
            yield Alternative(f"as if the {word} of several matches of a row won", edited)
    seen = {repr(row): row for row in source.rows}
    if len(seen) < len(source.rows):
        edited = replace(case, source=replace(source, rows=tuple(seen.values())))
        yield Alternative("as if equal source rows were one", edited)


def _settings(case: Case) -> Iterator[Alternative]:
    is_sensitive = case.conf.get(_CASE_SENSITIVE, "false").lower() == "true"
    conf = {**case.conf, _CASE_SENSITIVE: "false" if is_sensitive else "true"}
    word = "did not matter" if is_sensitive else "mattered"
    yield Alternative(f"as if the case of names {word}", replace(case, conf=conf))


def _without_conjuncts(condition: str) -> Iterator[tuple[str, str]]:
    parts = operands(condition, "AND")
    if len(parts) > 1:
        for i, part in enumerate(parts):
            yield part, " AND ".join(parts[:i] + parts[i + 1 :])


def _conditioned(clause: ClauseText) -> ClauseText:
    return clause if clause.condition is not None else replace(clause, condition="TRUE")
