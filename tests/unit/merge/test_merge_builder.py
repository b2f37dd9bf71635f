"""The fluent API: arguments, immutability and the statement that it builds (R-102..R-107)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, cast

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame

from mergecheck.merge.builder import DeltaMergeBuilder, DeltaTable
from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.syntax.statement import ActionType, Assignment, ClauseKind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Frame(DataFrame):
    """A source whose relations are known: alias to columns."""

    columns: list[str] = ()  # type: ignore[assignment] # a plain attribute in place of the property

    def __new__(cls, *_: object, **__: object) -> Self:
        return object.__new__(cls)

    def __init__(self, columns: list[str], **aliases: list[str]) -> None:
        self.columns = columns
        self.aliases = aliases
        self.tried: list[str] = []

    def select(self, star: str) -> Frame:  # type: ignore[override] # only ever asked for one star
        name = star.removesuffix(".*").strip("`")
        self.tried.append(name)
        if name not in self.aliases:
            message = "no relation of this name"
            raise AnalysisException(message, errorClass="CANNOT_RESOLVE_STAR_EXPAND", messageParameters={})
        return Frame(self.aliases[name])


def builder(condition: str = "t.id = s.id", frame: Frame | None = None) -> DeltaMergeBuilder:
    table = DeltaTable.forPath(cast("SparkSession", None), "/nowhere").alias("t")
    source = frame or Frame(["id", "v"], s=["id", "v"])
    return table.merge(source, condition)


def test_builds_the_statement_that_was_asked_for() -> None:
    """Every method adds its clause, in order; kinds may be mixed (R-102)."""
    statement = (
        builder()
        .whenNotMatchedBySourceDelete("t.v > 1")
        .whenMatchedUpdate(condition="s.v > t.v", set={"v": "s.v", "st.`a.b`": "1"})
        .whenNotMatchedInsert(values={"id": "s.id"})
        .whenMatchedDelete()
        .whenNotMatchedBySourceUpdate(set={"t.v": "0"})
        .withSchemaEvolution()
        .statement()
    )
    assert [(c.kind, c.action, c.condition) for c in statement.clauses] == [
        (ClauseKind.NOT_MATCHED_BY_SOURCE, ActionType.DELETE, "t.v > 1"),
        (ClauseKind.MATCHED, ActionType.UPDATE, "s.v > t.v"),
        (ClauseKind.NOT_MATCHED, ActionType.INSERT, None),
        (ClauseKind.MATCHED, ActionType.DELETE, None),
        (ClauseKind.NOT_MATCHED_BY_SOURCE, ActionType.UPDATE, None),
    ]
    assert statement.clauses[1].assignments == (
        Assignment(target=("v",), value="s.v"),
        Assignment(target=("st", "a.b"), value="1"),
    )
    assert (statement.condition, statement.target_alias, statement.source_alias) == ("t.id = s.id", "t", "s")
    assert statement.with_schema_evolution


def test_stars() -> None:
    """The All methods are stars, with or without a condition."""
    statement = builder().whenMatchedUpdateAll("s.v > 0").whenNotMatchedInsertAll().statement()
    assert [(c.action, c.star, c.condition) for c in statement.clauses] == [
        (ActionType.UPDATE, True, "s.v > 0"),
        (ActionType.INSERT, True, None),
    ]


def test_every_call_gives_a_new_builder() -> None:
    """R-102: a builder can be the start of several merges."""
    start = builder()
    left, right = start.whenMatchedDelete(), start.whenMatchedUpdateAll()
    assert start.clauses == ()
    assert [c.action for c in (*left.clauses, *right.clauses)] == [ActionType.DELETE, ActionType.UPDATE]


@pytest.mark.parametrize("method", ["whenMatchedUpdate", "whenNotMatchedBySourceUpdate"])
def test_an_empty_unconditional_update_is_dropped(method: str) -> None:
    """R-105: as if it had never been written; with a condition it is a clause that changes nothing."""
    assert getattr(builder(), method)(set={}).clauses == ()
    (clause,) = getattr(builder(), method)(condition="t.v = 1", set={}).clauses
    assert (clause.action, clause.assignments) == (ActionType.UPDATE, ())


def test_an_empty_insert_is_a_clause() -> None:
    """R-105: it inserts rows of NULLs."""
    (clause,) = builder().whenNotMatchedInsert(values={}).clauses
    assert (clause.action, clause.assignments, clause.star) == (ActionType.INSERT, (), False)


@pytest.mark.parametrize(
    ("method", "argument"),
    [
        ("whenMatchedUpdate", "set"),
        ("whenNotMatchedInsert", "values"),
        ("whenNotMatchedBySourceUpdate", "set"),
    ],
)
def test_assignments_are_required_and_typed(method: str, argument: str) -> None:
    """R-103: ValueError for nothing, TypeError for a wrong type, each naming argument and method."""
    call = getattr(builder(), method)
    with pytest.raises(ValueError, match=f"'{argument}' in {method} cannot be None"):
        call(condition="t.v = 1")
    for wrong in ("v = 1", [("v", "1")], MappingProxyType({"v": "1"}), {1: "1"}, {"v": 1}, {"v": None}):
        with pytest.raises(TypeError, match=f"'{argument}' in {method}"):
            call(**{argument: wrong})


@pytest.mark.parametrize("wrong", [True, 1, b"x"])
def test_conditions_are_text(wrong: Any) -> None:
    """R-103."""
    with pytest.raises(
        TypeError, match="'condition' in whenMatchedDelete must be a Column or an expression as SQL text"
    ):
        builder().whenMatchedDelete(wrong)
    with pytest.raises(TypeError, match="'condition' in merge"):
        builder(condition=wrong)


def test_merge_needs_a_source_and_a_condition() -> None:
    """R-103: ValueError for nothing, TypeError for a source that is no DataFrame."""
    table = DeltaTable.forPath(cast("SparkSession", None), "/nowhere")
    with pytest.raises(ValueError, match="'source' in merge cannot be None"):
        table.merge(cast("DataFrame", None), "TRUE")
    with pytest.raises(ValueError, match="'condition' in merge cannot be None"):
        table.merge(Frame(["id"]), cast("str", None))
    with pytest.raises(TypeError, match="Type of 'source' in merge must be DataFrame, found str"):
        table.merge(cast("DataFrame", "source"), "TRUE")


def test_columns_of_connect_are_refused_with_the_way_out() -> None:
    """They have no tree that could be written as SQL."""
    column = object.__new__(Column)
    with pytest.raises(UnsupportedStatementError, match="Give the expression as SQL text"):
        builder().whenMatchedUpdate(set={"v": column})


def test_a_table_is_taken_by_its_path_or_by_a_name_that_has_it() -> None:
    """Arguments have Delta's names; a table of a catalog is refused with the way out."""
    spark = cast("SparkSession", None)
    assert DeltaTable.forPath(sparkSession=spark, path="/a").path == "/a"
    assert DeltaTable.forName(spark, "delta.`/a b`").path == "/a b"
    with pytest.raises(UnsupportedStatementError, match="forPath"):
        DeltaTable.forName(spark, "db.events")
    with pytest.raises(UnsupportedStatementError, match="hadoopConf"):
        DeltaTable.forPath(spark, "/a", {"fs.s3a.access.key": "x"})


def test_a_star_as_key_is_a_name() -> None:
    """R-104: it stays a name, which cannot resolve later."""
    (clause,) = builder().whenMatchedUpdate(set={"*": "s.v"}).clauses
    assert clause.assignments[0].target == ("*",)
    assert not clause.star


def test_bad_sql_is_told_where_it_is_given() -> None:
    """A text that is no expression fails in the call that gives it."""
    with pytest.raises(AnalysisError, match="PARSE_SYNTAX_ERROR"):
        builder().whenMatchedDelete("s.v >")


def test_a_clause_is_needed() -> None:
    """R-106, also where the only clause was dropped by R-105."""
    with pytest.raises(AnalysisError, match="DELTA_MERGE_MISSING_WHEN"):
        builder().whenMatchedUpdate(set={}).statement()


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (("whenMatchedDelete", "whenMatchedUpdateAll"), "DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION"),
        (
            ("whenNotMatchedInsertAll", "whenNotMatchedInsertAll"),
            "DELTA_NON_LAST_NOT_MATCHED_CLAUSE_OMIT_CONDITION",
        ),
        (
            ("whenNotMatchedBySourceDelete", "whenNotMatchedBySourceDelete"),
            "DELTA_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
        ),
    ],
)
def test_only_the_last_clause_of_a_kind_may_omit_its_condition(calls: tuple[str, str], expected: str) -> None:
    """R-107, under Delta's names, with clauses of other kinds in between."""
    merge = getattr(builder(), calls[0])().whenNotMatchedInsertAll("s.v = 0")
    with pytest.raises(AnalysisError) as caught:
        getattr(merge, calls[1])().statement()
    assert caught.value.error_class == expected


def test_finds_the_alias_of_the_source_among_the_qualifiers_used() -> None:
    """Spark does not return an alias, but it resolves a name that means the whole source; columns are tried in vain."""
    frame = Frame(["id", "st"], s=["id", "st"], st=["x"])
    statement = builder("t.id = st.x AND t.id = s.id", frame).whenMatchedDelete().statement()
    assert statement.source_alias == "s"
    assert frame.tried == ["t", "st", "s"]


def test_the_alias_of_the_target_may_be_the_alias_of_the_source() -> None:
    """R-118: both sides then go by it, and a name of both is ambiguous."""
    frame = Frame(["id"], t=["id"])
    assert builder("t.id = t.id", frame).whenMatchedDelete().statement().source_alias == "t"


def test_a_source_without_alias_has_none() -> None:
    """Unqualified names still work."""
    assert builder("t.id = other", Frame(["other"])).whenMatchedDelete().statement().source_alias is None


def test_a_join_as_source_needs_an_alias_of_its_own() -> None:
    """``a.id`` and ``b.id`` of a join have one name once the source is one relation."""
    frame = Frame(["id", "v"], a=["id"], b=["v"])
    with pytest.raises(UnsupportedStatementError, match=r'source\.alias\("s"\)'):
        builder("t.id = a.id", frame).whenMatchedDelete().statement()
