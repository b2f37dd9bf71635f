"""The map of the case space, and its cells."""

from __future__ import annotations

import itertools
from dataclasses import replace

from mergecheck.harness.properties.case_space import DIMENSIONS, CaseSpace, cells_of, pairs_of, possible_pairs
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.verdict import CaseReport, Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.facts import Facts
from mergecheck.model.outcome import MergePath, Rejection, Unsupported
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference
from mergecheck.reference.answer import Reference
from mergecheck.strategies import samples

REFERENCE = MergeReference()


SCHEMA = parse_schema("id INT, s STRUCT<a: INT>")
CASE = Case(
    id="space",
    target=Target(schema=SCHEMA, files=(((1, None),), ((2, (3,)),))),
    source=Source(schema=SCHEMA, rows=((1, None), (1, None))),
    sql="MERGE INTO target t USING source s ON t.id = s.id AND t.s = s.s WHEN NOT MATCHED THEN INSERT *",
)


def test_a_case_stands_in_the_cells_of_its_values() -> None:
    """One value of each dimension; several where a case has several."""
    facts = Facts(
        path=MergePath.A,
        clauses_applied=frozenset({("not_matched", "insert")}),
        matches=frozenset({"source alone", "target alone"}),
        nulls=frozenset({"ON"}),
    )
    cells = cells_of(CASE.target, facts, is_rejected=False)
    assert cells == {
        ("A", "not matched insert", match, "ON", "files", kind)
        for match in ("source alone", "target alone")
        for kind in ("integer", "struct")
    }
    assert ("path=A", "type=struct") in pairs_of(cells)


def test_the_reference_tells_matches_and_nulls() -> None:
    """NULL structs make ON NULL, so that nothing matches."""
    facts = facts_of(CASE, REFERENCE.evaluate(CASE))
    assert facts.matches == {"source alone", "target alone"}
    assert facts.nulls == {"ON"}
    twice = replace(
        CASE, sql=CASE.sql.replace(" AND t.s = s.s", "").replace("NOT MATCHED THEN INSERT *", "MATCHED THEN DELETE")
    )
    facts = facts_of(twice, REFERENCE.evaluate(twice))
    assert facts.matches == {"n:1", "target alone"}
    assert facts.nulls == frozenset()


def test_drawn_cases_reach_only_what_is_possible() -> None:
    """And what no case can reach is not asked for."""
    possible = set(possible_pairs())
    for drawn in itertools.islice(samples(3), 60):
        answer = REFERENCE.evaluate(drawn.case)
        if not isinstance(answer.answer, Unsupported):
            is_rejected = isinstance(answer.answer, Rejection)
            facts = facts_of(drawn.case, answer)
            assert pairs_of(cells_of(drawn.case.target, facts, is_rejected=is_rejected)) <= possible
    assert {pair[0].split("=")[0] for pair in possible} | {pair[1].split("=")[0] for pair in possible} == set(
        DIMENSIONS
    )


def test_cases_of_which_nothing_is_known_are_not_on_the_map() -> None:
    """Those that the reference does not do, or was not asked about."""
    space = CaseSpace()
    report = CaseReport(
        case=CASE,
        engine="any",
        engine_version="1",
        verdict=Verdict.AGREE,
        reference=Reference(answer=Unsupported("not asked")),
        result=None,
    )
    space.add(report)
    assert not space.cells
    space.add(replace(report, reference=REFERENCE.evaluate(CASE)))
    assert space.num_new([*space.cells, ("B",) * 6]) == 1
