"""Relations between lists of clauses, proved by z3 for tables of any size, and wrong ones with their counterexamples.

On a row, each condition is TRUE, FALSE or NULL, whatever it looks at, and the first clause whose condition is TRUE
fires. So a list of clauses is a function from the values of its conditions to an action. If two lists are the same
X
which both have in common. ``docs/explanation/small-scope.md`` has the argument.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest
import z3

from mergecheck.harness.oracles.relations.oracle import RELATIONS
from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.outcome import Prediction
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate

Condition: TypeAlias = Any
"""The name of an unknown condition, a truth value, or an operator with operands."""
Clauses: TypeAlias = list[tuple[Condition, str]]

ATOMS = ("c", "d", "e")
VALUES = (True, False, None)
T, F, N = True, False, None


def no(x: Condition) -> Condition:
    return ("not", x)


def both(*parts: Condition) -> Condition:
    return parts[0] if len(parts) == 1 else ("and", parts[0], both(*parts[1:]))


def either(*parts: Condition) -> Condition:
    return parts[0] if len(parts) == 1 else ("or", parts[0], either(*parts[1:]))


def untrue(x: Condition) -> Condition:
    return ("is not true", x)


def null(x: Condition) -> Condition:
    return ("is null", x)


@dataclass(frozen=True)
class Relation:
    """Two lists of clauses of one kind that must do the same."""

    name: str
    left: Clauses
    right: Clauses


# The metamorphic relations of the harness that are between lists of clauses, or between two forms of ON.
OURS = (
    Relation("P-18-false", [("c", "a"), ("d", "b")], [(F, "x"), ("c", "a"), ("d", "b")]),
    Relation("P-18-null", [("c", "a"), ("d", "b")], [(N, "x"), ("c", "a"), ("d", "b")]),
    Relation("P-19", [("c", "a"), ("d", "b")], [(both("d", untrue("c")), "b"), ("c", "a")]),
    Relation("P-20", [("c", "a"), (T, "b")], [(both("c", "d"), "a"), (both("c", untrue("d")), "a"), (T, "b")]),
    Relation(
        "three-way-split",
        [("c", "a"), (T, "b")],
        [(both("c", null("c")), "a"), (both("c", no("c")), "a"), (both("c", "c"), "a"), (T, "b")],
    ),
    Relation("P-22-and-true", [("c", "match")], [(both("c", T), "match")]),
    Relation("P-22-true-and", [("c", "match")], [(both(T, "c"), "match")]),
    Relation("P-22-or-false", [("c", "match")], [(either("c", F), "match")]),
    Relation("hidden-on", [("c", "match")], [(("if", null("c"), F, "c"), "match")]),
    Relation(
        "hidden-conditions",
        [("c", "a"), ("d", "b")],
        [(("if", null("c"), F, "c"), "a"), (("if", null("d"), F, "d"), "b")],
    ),
)
# Those that compare tables, layouts, settings or several merges: they need counting, and are checked on the small scope
# (test_relations_on_the_scope) or by random cases.
ELSEWHERE = {
    *("P-16-one-file", "P-16-file-per-row", "target-halves", "source-halves", "P-23", "P-24", "P-25"),
    *("P-15", "P-17-partitions", "P-17-matched-only", "P-27", "P-28", "hidden-values"),
}

NEW = (
    Relation("a condition twice: the second never fires", [("c", "a"), ("c", "b")], [("c", "a")]),
    Relation("a third one with an earlier condition", [("c", "a"), ("d", "b"), ("c", "x")], [("c", "a"), ("d", "b")]),
    Relation("behind TRUE nothing fires", [(T, "a"), ("d", "b")], [(T, "a")]),
    Relation("one action under two conditions is OR", [("c", "a"), ("d", "a")], [(either("c", "d"), "a")]),
    Relation("clauses of one action in any order", [("c", "a"), ("d", "a")], [("d", "a"), ("c", "a")]),
    Relation("a last clause without condition takes its own", [("c", "a"), (T, "a")], [(T, "a")]),
    Relation("an exclusion may be written out", [("c", "a"), ("d", "b")], [("c", "a"), (both("d", untrue("c")), "b")]),
    Relation("the rest is not true", [("c", "a"), (T, "b")], [("c", "a"), (untrue("c"), "b")]),
    Relation(
        "the rest of a condition and its opposite is NULL",
        [("c", "a"), (no("c"), "b"), (T, "x")],
        [("c", "a"), (no("c"), "b"), (null("c"), "x")],
    ),
    Relation(
        "the last of three first",
        [("c", "a"), ("d", "b"), ("e", "x")],
        [(both("e", untrue("c"), untrue("d")), "x"), ("c", "a"), ("d", "b")],
    ),
    Relation(
        "a narrower clause first",
        [(both("c", "d"), "a"), ("c", "b")],
        [(both("c", "d"), "a"), (both("c", untrue("d")), "b")],
    ),
    Relation("AND in the other order", [(both("c", "d"), "a")], [(both("d", "c"), "a")]),
    Relation("AND with itself", [(both("c", "c"), "a")], [("c", "a")]),
    Relation("NOT twice", [(no(no("c")), "a")], [("c", "a")]),
    Relation("NOT of OR", [(no(either("c", "d")), "a")], [(both(no("c"), no("d")), "a")]),
    Relation("NOT of AND", [(no(both("c", "d")), "a")], [(either(no("c"), no("d")), "a")]),
    Relation("AND over OR", [(both("c", either("d", "e")), "a")], [(either(both("c", "d"), both("c", "e")), "a")]),
    Relation("OR over AND", [(either("c", both("d", "e")), "a")], [(both(either("c", "d"), either("c", "e")), "a")]),
    Relation("absorption", [(either("c", both("c", "d")), "a")], [("c", "a")]),
    Relation("IS TRUE", [(no(untrue("c")), "a")], [("c", "a")]),
    Relation("a condition and its opposite", [(both("c", no("c")), "a"), ("d", "b")], [("d", "b")]),
    Relation(
        "both ways of a known condition",
        [(both("c", "d"), "a"), (both("c", no("d")), "a")],
        [(both("c", no(null("d"))), "a")],
    ),
    Relation(
        "a condition in three ways",
        [("c", "a")],
        [(either(both("c", "d"), both("c", no("d")), both("c", null("d"))), "a")],
    ),
    Relation(
        "CASE in two clauses", [(("if", "c", "d", "e"), "a")], [(both("c", "d"), "a"), (both(untrue("c"), "e"), "a")]
    ),
    Relation("a split in the middle", [("c", "a"), ("d", "b")], [(both("c", "e"), "a"), ("c", "a"), ("d", "b")]),
)

# Wrong relations, which hold in two-valued logic or look as if they did; with the values of c, d, e that refute each.
WRONG = (
    (Relation("split by d and NOT d", [("c", "a")], [(both("c", "d"), "a"), (both("c", no("d")), "a")]), (T, N)),
    (Relation("the rest is NOT c", [("c", "a"), (T, "b")], [("c", "a"), (no("c"), "b")]), (N,)),
    (Relation("clauses in any order", [("c", "a"), ("d", "b")], [("d", "b"), ("c", "a")]), (T, T)),
    (Relation("c OR NOT c is TRUE", [(either("c", no("c")), "a")], [(T, "a")]), (N,)),
    (Relation("NOT c is c IS NOT TRUE", [(no("c"), "a")], [(untrue("c"), "a")]), (N,)),
    (Relation("exclusion by NOT", [("c", "a"), ("d", "b")], [("c", "a"), (both("d", no("c")), "b")]), (N, T)),
    (Relation("swapped with NOT", [("c", "a"), ("d", "b")], [(both("d", no("c")), "b"), ("c", "a")]), (N, T)),
    (
        Relation("CASE by NOT", [(("if", "c", "d", "e"), "a")], [(both("c", "d"), "a"), (both(no("c"), "e"), "a")]),
        (N, F, T),
    ),
    (Relation("the later clause wins", [("c", "a"), (T, "b")], [(T, "b")]), (T,)),
)


class Truth:
    """A value of three-valued logic in z3: TRUE, or NULL, or neither."""

    def __init__(self, is_true: Any, is_null: Any) -> None:
        self.is_true = is_true
        self.is_null = is_null

    @property
    def is_false(self) -> Any:
        return z3.Not(z3.Or(self.is_true, self.is_null))


ATOM = {name: Truth(z3.Bool(f"{name} is TRUE"), z3.Bool(f"{name} is NULL")) for name in ATOMS}
ONE_VALUE_EACH = z3.And([z3.Not(z3.And(atom.is_true, atom.is_null)) for atom in ATOM.values()])


def truth(condition: Condition) -> Truth:
    if isinstance(condition, str):
        return ATOM[condition]
    if not isinstance(condition, tuple):
        return Truth(z3.BoolVal(condition is True), z3.BoolVal(condition is None))
    operator, *parts = condition
    x, *rest = map(truth, parts)
    if operator == "not":
        return Truth(x.is_false, x.is_null)
    if operator == "is null":
        return Truth(x.is_null, z3.BoolVal(val=False))
    if operator == "is not true":
        return Truth(z3.Not(x.is_true), z3.BoolVal(val=False))
    if operator == "if":
        y, z = rest
        return Truth(z3.If(x.is_true, y.is_true, z.is_true), z3.If(x.is_true, y.is_null, z.is_null))
    (y,) = rest
    if operator == "and":
        is_true, is_false = z3.And(x.is_true, y.is_true), z3.Or(x.is_false, y.is_false)
    else:
        is_true, is_false = z3.Or(x.is_true, y.is_true), z3.And(x.is_false, y.is_false)
    return Truth(is_true, z3.Not(z3.Or(is_true, is_false)))


def fired(clauses: Clauses, actions: dict[str, Any]) -> Any:
    """Return the action of the first clause whose condition is TRUE, whatever the actions are."""
    found = actions["none"]
    for condition, action in reversed(clauses):
        found = z3.If(truth(condition).is_true, actions[action], found)
    return found


def counterexample(relation: Relation) -> tuple[bool | None, ...] | None:
    """Return values of the conditions on which the lists differ; None if there are none."""
    sort = z3.DeclareSort("Action")
    actions = {name: z3.Const(name, sort) for name in ("none", "a", "b", "x", "match")}
    solver = z3.Solver()
    solver.add(ONE_VALUE_EACH, fired(relation.left, actions) != fired(relation.right, actions))
    if solver.check() == z3.unsat:
        return None
    model = solver.model()
    return tuple(
        True if z3.is_true(model.eval(atom.is_true, model_completion=True))
        else None if z3.is_true(model.eval(atom.is_null, model_completion=True))
        else False
        for atom in ATOM.values()
    )  # fmt: skip


@pytest.mark.parametrize("relation", [*OURS, *NEW], ids=lambda relation: relation.name)
def test_a_relation_holds_for_tables_of_any_size(relation: Relation) -> None:
    assert counterexample(relation) is None


@pytest.mark.parametrize(("relation", "values"), WRONG, ids=[relation.name for relation, _ in WRONG])
def test_a_wrong_relation_is_refuted(relation: Relation, values: tuple[bool | None, ...]) -> None:
    """z3 finds values on which the lists differ, and a merge of one row shows it by the values kept here."""
    assert counterexample(relation) is not None
    row = (*values, *[False] * (len(ATOMS) - len(values)))
    assert merged(relation.left, [row]) != merged(relation.right, [row])


@pytest.mark.parametrize("relation", [*OURS, *NEW], ids=lambda relation: relation.name)
def test_the_reference_obeys_each_relation(relation: Relation) -> None:
    """The logic of the proofs is the reference's: all 27 values of three conditions, in one merge."""
    rows = list(itertools.product(VALUES, repeat=len(ATOMS)))
    assert merged(relation.left, rows) == merged(relation.right, rows)


def test_there_are_enough_relations_and_none_is_forgotten() -> None:
    assert len(NEW) >= 20
    assert {relation.name for relation in RELATIONS} == {relation.name for relation in OURS} | ELSEWHERE


SCHEMA = parse_schema("k INT, c BOOLEAN, d BOOLEAN, e BOOLEAN, v STRING")


def merged(clauses: Clauses, rows: list[tuple[bool | None, ...]]) -> tuple[Any, ...]:
    """Merge rows whose columns c, d and e are the conditions; return rows and change rows by the reference."""
    if [action for _, action in clauses] == ["match"]:
        on, when = f"t.k = s.k AND ({sql(clauses[0][0])})", "WHEN MATCHED THEN DELETE"
    else:
        on, when = "t.k = s.k", " ".join(f"WHEN MATCHED AND {sql(c)} THEN {ACTIONS[action]}" for c, action in clauses)
    case = Case(
        id="relation",
        target=Target(
            schema=SCHEMA,
            files=(tuple((number, *row, "old") for number, row in enumerate(rows)),),
            properties={CDF_PROPERTY: "true"},
        ),
        source=Source(schema=parse_schema("k INT"), rows=tuple((number,) for number in range(len(rows)))),
        sql=f"MERGE INTO target t USING source s ON {on} {when}",
    )
    answer = evaluate(case).answer
    assert isinstance(answer, Prediction), answer
    return sorted(map(repr, answer.rows)), sorted(map(repr, answer.cdf or ()))


ACTIONS = {"a": "UPDATE SET v = 'a'", "b": "DELETE", "x": "UPDATE SET v = 'x'"}


def sql(condition: Condition) -> str:
    if isinstance(condition, str):
        return f"t.{condition}"
    if not isinstance(condition, tuple):
        return {True: "TRUE", False: "FALSE", None: "CAST(NULL AS BOOLEAN)"}[condition]
    operator, *parts = condition
    texts = [f"({sql(part)})" for part in parts]
    if operator == "not":
        return f"NOT {texts[0]}"
    if operator == "if":
        return "CASE WHEN {} THEN {} ELSE {} END".format(*texts)
    if operator in ("is null", "is not true"):
        return f"{texts[0]} {operator.upper()}"
    return f" {operator.upper()} ".join(texts)
