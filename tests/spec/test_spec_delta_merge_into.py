"""DeltaMergeInto, method by method: the logical node of a merge, its names and final schema (R-111 to R-117, R-233).

``harness/specification/text/methods.md`` lists Delta's names of these methods. The target of these tests, alias t, has
the columns id and v, the source, alias s, the columns id, v and extra, all of them INT.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from merge_tables import AllIntegers, integers
from pyspark.sql.types import ArrayType, StructType

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.expressions.clock import StatementClock
from mergecheck.merge.expressions.scope import Relation, Scope, Side
from mergecheck.merge.resolution.delta_merge_into import DeltaMergeInto
from mergecheck.merge.resolution.references import resolve_clause, resolve_references_and_schema
from mergecheck.merge.resolution.schema_evolution import filter_schema
from mergecheck.merge.syntax.parser import parse_merge
from mergecheck.merge.syntax.statement import ActionType, Clause, ClauseKind

ON = "MERGE INTO target t USING source s ON t.id = s.id "
TARGET = Relation(side=Side.TARGET, qualifier=("t",), schema=integers("id", "v"))
SOURCE = Relation(side=Side.SOURCE, qualifier=("s",), schema=integers("id", "v", "extra"))
BOTH = Scope(relations=(TARGET, SOURCE), case_sensitive=False)
CLOCK = StatementClock(instant=datetime(2026, 1, 2, tzinfo=UTC))

UPDATE = Clause(kind=ClauseKind.MATCHED, action=ActionType.UPDATE, condition="s.v > 1", star=True)
DELETE = Clause(kind=ClauseKind.MATCHED, action=ActionType.DELETE)
INSERT = Clause(kind=ClauseKind.NOT_MATCHED, action=ActionType.INSERT, star=True)
GONE = Clause(kind=ClauseKind.NOT_MATCHED_BY_SOURCE, action=ActionType.DELETE)


def node(*clauses: Clause, condition: str = "t.id = s.id", evolution: bool = False) -> DeltaMergeInto:
    return DeltaMergeInto.apply(
        target=TARGET, source=SOURCE, condition=condition, when_clauses=clauses, with_schema_evolution=evolution
    )


def written(clauses: str) -> tuple[Clause, ...]:
    """Write clauses as SQL; ON is left out."""
    return parse_merge(ON + clauses).clauses


def test_delta_merge_into_apply_sorts_clauses_by_kind() -> None:
    """A builder may interleave the kinds; the node has them kind by kind, each in statement order (R-102, R-111)."""
    merge = DeltaMergeInto.apply(
        target=TARGET,
        source=SOURCE,
        condition="t.id = s.id",
        when_clauses=(GONE, INSERT, UPDATE, DELETE),
        with_schema_evolution=True,
    )
    assert merge.clauses == (UPDATE, DELETE, INSERT, GONE)
    assert merge.with_schema_evolution


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ((), "DELTA_MERGE_MISSING_WHEN"),
        ((DELETE, UPDATE), "DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION"),
        ((INSERT, INSERT), "DELTA_NON_LAST_NOT_MATCHED_CLAUSE_OMIT_CONDITION"),
        ((GONE, GONE), "DELTA_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION"),
        (
            (Clause(kind=ClauseKind.NOT_MATCHED_BY_SOURCE, action=ActionType.UPDATE, star=True),),
            "DELTA_UNEXPECTED_ACTION_EXPRESSION",
        ),
    ],
)
def test_delta_merge_into_apply_refuses_what_sql_could_not_say(clauses: tuple[Clause, ...], expected: str) -> None:
    """At least one clause, only the last of a kind without condition, actions of its kind (R-106, R-107, R-111)."""
    with pytest.raises(AnalysisError) as caught:
        DeltaMergeInto.apply(
            target=TARGET, source=SOURCE, condition="true", when_clauses=clauses, with_schema_evolution=False
        )
    assert caught.value.error_class == expected


def test_resolve_references_and_schema_settles_names_and_the_final_schema() -> None:
    """Names become positions, stars assignments; with evolution the schema gains their columns (R-113, R-233)."""
    merge = node(DELETE, INSERT, evolution=True)
    bound = resolve_references_and_schema(merge, case_sensitive=False, clock=CLOCK, types=AllIntegers())
    assert bound.condition.sql == "target_0 = source_0"
    assert [clause.kind for clause in bound.clauses] == [ClauseKind.MATCHED, ClauseKind.NOT_MATCHED]
    assert [(a.path.column, a.value.sql) for a in bound.clauses[1].assignments] == [
        ("id", "source_0"),
        ("v", "source_1"),
        ("extra", "source_2"),
    ]
    assert bound.final_schema == integers("id", "v", "extra")


def test_resolve_references_and_schema_keeps_the_schema_where_nothing_evolves() -> None:
    """Without evolution, and for clauses that cannot add a column, the schema is the table's own (R-230, R-239)."""
    for merge in (node(INSERT), node(DELETE, GONE, evolution=True)):
        bound = resolve_references_and_schema(merge, case_sensitive=False, clock=CLOCK, types=AllIntegers())
        assert bound.final_schema is TARGET.schema


@pytest.mark.parametrize(
    ("text", "action", "assigned"),
    [
        ("WHEN MATCHED THEN UPDATE SET t.v = 1, id = s.v", "update", [(("t", "v"), "1"), (("id",), "s.v")]),
        ("WHEN NOT MATCHED THEN INSERT (v) VALUES (s.id)", "insert", [(("v",), "s.id")]),
        ("WHEN MATCHED THEN DELETE", "delete", []),
    ],
)
def test_delta_merge_into_apply_takes_clauses_of_actions(
    text: str, action: str, assigned: list[tuple[tuple[str, ...], str]]
) -> None:
    """A clause has an action of the history's name and a list of assignments, which a DELETE leaves empty (R-112)."""
    (clause,) = node(*written(text)).clauses
    assert clause.action.value == action
    assert [(assignment.target, assignment.value) for assignment in clause.assignments] == assigned
    assert clause.condition is None


def test_resolve_references_and_schema_expands_a_star_once() -> None:
    """Resolving leaves the node as it was, and gives the same when it is done again (R-114).

    The target's schema is a prefix of the final one, so that a second expansion would add assignments.
    """
    merge = node(UPDATE, INSERT, evolution=True)
    for _ in range(2):
        bound = resolve_references_and_schema(merge, case_sensitive=False, clock=CLOCK, types=AllIntegers())
        for clause in bound.clauses:
            assert [assignment.path.column for assignment in clause.assignments] == ["id", "v", "extra"]
    assert merge.clauses == (UPDATE, INSERT)


def test_resolve_clause_of_a_self_merge_goes_by_name() -> None:
    """Both sides have the same columns: a bare name is ambiguous, and in an insert clause the source's (R-122)."""
    source = Relation(side=Side.SOURCE, qualifier=("s",), schema=TARGET.schema)
    same = Scope(relations=(TARGET, source), case_sensitive=False)
    with pytest.raises(AnalysisError, match="AMBIGUOUS_REFERENCE"):
        resolve_clause(
            written("WHEN MATCHED AND v = 1 THEN DELETE")[0], same, evolution=False, clock=CLOCK, types=AllIntegers()
        )
    insert = written("WHEN NOT MATCHED AND v = 1 THEN INSERT *")[0]
    clause = resolve_clause(insert, same, evolution=False, clock=CLOCK, types=AllIntegers())
    assert clause.condition is not None
    assert clause.condition.sql == "source_1 = 1"


@pytest.mark.parametrize(
    ("condition", "clauses", "expected"),
    [
        ("t.no = 1", "WHEN MATCHED AND t.nah THEN UPDATE SET nil = 1", "Cannot resolve t.no in search condition"),
        ("true", "WHEN MATCHED AND t.nah THEN UPDATE SET nil = 1", "Cannot resolve nil in UPDATE clause"),
        ("true", "WHEN MATCHED AND t.nah THEN UPDATE SET v = 1", "Cannot resolve t.nah in UPDATE condition"),
        ("true", "WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND no THEN INSERT *", "Cannot resolve no in INSERT cond"),
    ],
    ids=["on", "action", "condition", "next-kind"],
)
def test_resolve_references_and_schema_reports_the_first_failure(condition: str, clauses: str, expected: str) -> None:
    """ON first, then kind by kind, and in a clause its actions before its condition (R-113, R-117)."""
    with pytest.raises(AnalysisError, match=expected):
        resolve_references_and_schema(
            node(*written(clauses), condition=condition), case_sensitive=False, clock=CLOCK, types=AllIntegers()
        )


def test_resolve_clause_sees_what_its_kind_may_see() -> None:
    """Matched: both sides; not matched: the source; not matched by source: the target (R-115, R-118)."""
    for text, expected in (
        ("WHEN MATCHED AND t.v = s.v THEN DELETE", "target_1 = source_1"),
        ("WHEN NOT MATCHED AND v = 1 THEN INSERT *", "source_1 = 1"),
        ("WHEN NOT MATCHED BY SOURCE AND v = 1 THEN DELETE", "target_1 = 1"),
    ):
        clause = resolve_clause(written(text)[0], BOTH, evolution=False, clock=CLOCK, types=AllIntegers())
        assert clause.condition is not None
        assert clause.condition.sql == expected
    for text, expected in (
        ("WHEN MATCHED AND v = 1 THEN DELETE", "AMBIGUOUS_REFERENCE"),
        ("WHEN NOT MATCHED AND t.v = 1 THEN INSERT *", "DELTA_MERGE_UNRESOLVED_EXPRESSION"),
        ("WHEN NOT MATCHED BY SOURCE AND s.v = 1 THEN DELETE", "DELTA_MERGE_UNRESOLVED_EXPRESSION"),
    ):
        with pytest.raises(AnalysisError) as caught:
            resolve_clause(written(text)[0], BOTH, evolution=False, clock=CLOCK, types=AllIntegers())
        assert caught.value.error_class == expected


@pytest.mark.parametrize(
    ("text", "evolution", "expected"),
    [
        ("WHEN MATCHED THEN UPDATE SET *", False, {"id": "source_0", "v": "source_1"}),
        ("WHEN MATCHED THEN UPDATE SET *", True, {"id": "source_0", "v": "source_1", "extra": "source_2"}),
        ("WHEN MATCHED THEN UPDATE SET extra = t.v + 1", True, {"extra": "target_1 + 1"}),
        ("WHEN NOT MATCHED THEN INSERT (id, s.extra) VALUES (s.v, 7)", True, {"id": "source_1", "extra": "7"}),
        ("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = t.id", True, {"v": "target_0"}),
        ("WHEN MATCHED THEN DELETE", True, {}),
    ],
    ids=["star", "evolving-star", "new-column", "insert-list", "by-source", "delete"],
)
def test_resolve_clause_expands_stars_and_finds_new_columns(
    text: str,
    evolution: bool,  # noqa: FBT001 - a parameter of the test
    expected: dict[str, str],
) -> None:
    """A star assigns the target's columns, with evolution the source's; a new name needs a namesake (R-201, R-231)."""
    clause = resolve_clause(written(text)[0], BOTH, evolution=evolution, clock=CLOCK, types=AllIntegers())
    assert {assignment.path.column: assignment.value.sql for assignment in clause.assignments} == expected


@pytest.mark.parametrize(
    ("text", "evolution"),
    [
        ("WHEN MATCHED THEN UPDATE SET extra = 1", False),
        ("WHEN MATCHED THEN UPDATE SET t.extra = 1", True),
        ("WHEN MATCHED THEN UPDATE SET nowhere = 1", True),
        ("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET extra = 1", True),
    ],
)
def test_resolve_clause_refuses_columns_that_it_cannot_add(
    text: str,
    evolution: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """Only with evolution, by a name of the source, and never in a clause by source (R-230, R-231)."""
    with pytest.raises(AnalysisError) as caught:
        resolve_clause(written(text)[0], BOTH, evolution=evolution, clock=CLOCK, types=AllIntegers())
    assert caught.value.error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"


# st STRUCT<a, in STRUCT<b, c>>, xs ARRAY<STRUCT<d>>, id
NESTED = (
    StructType()
    .add("st", StructType([*integers("a").fields]).add("in", integers("b", "c")))
    .add("xs", ArrayType(integers("d")))
    .add("id", integers("id")["id"].dataType)
)


@pytest.mark.parametrize(
    ("assigned", "star", "expected"),
    [
        ([], True, NESTED),
        ([], False, StructType()),
        ([("ID",)], False, integers("id")),
        ([("st",)], False, StructType([NESTED["st"]])),
        ([("st", "in", "c")], False, StructType().add("st", StructType().add("in", integers("c")))),
        ([("xs",), ("st", "a")], False, StructType().add("st", integers("a")).add("xs", ArrayType(integers("d")))),
        ([("xs", "d")], False, StructType()),
        ([("st", "in", "c")], True, NESTED),
    ],
    ids=["star", "nothing", "column", "whole-struct", "field", "two", "in-array", "star-and-field"],
)
def test_filter_schema_keeps_what_the_clauses_assign(
    assigned: list[tuple[str, ...]],
    star: bool,  # noqa: FBT001 - a parameter of the test
    expected: StructType,
) -> None:
    """An assigned path whole, structs on the way filtered, arrays whole or not at all, everything by a star (R-233)."""
    assert filter_schema(NESTED, assigned, star=star, case_sensitive=False) == expected


def test_filter_schema_compares_paths_by_the_session_s_case_rule() -> None:
    """R-233: in a case-sensitive session ``ID`` is another column than ``id``."""
    assert filter_schema(NESTED, [("ID",)], star=False, case_sensitive=True) == StructType()
