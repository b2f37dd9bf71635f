"""Names, stars, checks and values of a resolved merge, without Spark wherever types follow from the schemas."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    BooleanType,
    IntegerType,
    StructField,
    StructType,
)
from resolving import EVOLVE, ON, Answers, failure, run, schema_of

from mergecheck.merge.conf import MergeConf
from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.expressions.functions import array_call
from mergecheck.merge.expressions.scope import Relation, Side
from mergecheck.merge.resolution.delta_merge_into import DeltaMergeInto
from mergecheck.merge.syntax.statement import ActionType, Assignment, Clause, ClauseKind


def test_settles_every_name_by_position() -> None:
    """Qualified, unqualified and quoted names become positional; the rest of the text stays as it is."""
    merge = run(ON + "WHEN MATCHED AND t.v=`s`.`v` THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *")
    assert merge.condition.sql == "target_0 = source_0"
    assert (merge.condition.target_columns, merge.condition.source_columns) == (frozenset({0}), frozenset({0}))
    assert merge.condition.text == "t.id = s.id"
    assert merge.condition.tree.sql() == "target_0 = source_0"
    (update,) = merge.matched
    assert update.condition is not None
    assert update.condition.sql == "target_1=source_1"
    assert update.values == ("target_0", "source_1")
    assert update.source_columns == {1}
    (insert,) = merge.not_matched
    assert insert.values == ("source_0", "source_1")


def test_table_names_qualify_where_there_is_no_alias() -> None:
    """R-119: a table without alias goes by its name, with or without the names before it."""
    merge = run("MERGE INTO db.tgt USING src ON tgt.id = src.id WHEN MATCHED THEN UPDATE SET db.tgt.v = src.v")
    assert merge.matched[0].values == ("target_0", "source_1")


@pytest.mark.parametrize("name", ["target.v", "s.v", "x.v", "nope"])
def test_left_hand_sides_are_target_columns(name: str) -> None:
    """R-119: an alias hides the table's name, the source's alias and unknown names do not resolve."""
    error = failure(ON + f"WHEN MATCHED THEN UPDATE SET {name} = 1")
    assert error.error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"
    assert f"Cannot resolve {name} in UPDATE clause given columns t.id, t.v ." in error.message


@pytest.mark.parametrize(
    ("clause", "message"),
    [
        ("WHEN MATCHED AND nope THEN DELETE", "nope in DELETE condition given columns t.id, t.v, s.id, s.v ."),
        ("WHEN MATCHED AND nope THEN UPDATE SET v = 1", "nope in UPDATE condition given"),
        ("WHEN MATCHED THEN UPDATE SET v = s.nope", "s.nope in UPDATE clause given columns t.id, t.v, s.id, s.v ."),
        ("WHEN NOT MATCHED AND t.v > 1 THEN INSERT *", "t.v in INSERT condition given columns s.id, s.v ."),
        ("WHEN NOT MATCHED THEN INSERT (v) VALUES (t.v)", "t.v in INSERT clause given columns s.id, s.v ."),
        ("WHEN NOT MATCHED THEN INSERT (v) VALUES (DEFAULT)", "DEFAULT in INSERT clause"),
        ("WHEN NOT MATCHED THEN INSERT (nope) VALUES (1)", "nope in INSERT clause given columns t.id, t.v ."),
        ("WHEN NOT MATCHED BY SOURCE AND s.v > 1 THEN DELETE", "s.v in DELETE condition given columns t.id, t.v ."),
        ("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = s.v", "s.v in UPDATE clause given columns t.id, t.v ."),
    ],
)
def test_each_place_sees_its_own_sides(clause: str, message: str) -> None:
    """R-115, R-117, R-227: a name out of scope does not resolve, and the message lists those in scope."""
    error = failure(ON + clause)
    assert error.error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"
    assert f"Cannot resolve {message}" in error.message


def test_search_condition_is_named_in_its_errors() -> None:
    """R-117: ON is called search condition."""
    error = failure("MERGE INTO target t USING source s ON t.id = s.nope WHEN MATCHED THEN DELETE")
    assert "Cannot resolve s.nope in search condition given columns t.id, t.v, s.id, s.v ." in error.message


def test_names_of_both_sides_are_ambiguous_only_where_both_are_in_scope() -> None:
    """R-118: ``v`` is ambiguous in a matched clause and fine in the two others."""
    error = failure(ON + "WHEN MATCHED THEN UPDATE SET v = v")
    assert error.error_class == "AMBIGUOUS_REFERENCE"
    assert "Reference `v` is ambiguous, could be: [`s`.`v`, `t`.`v`]." in error.message
    merge = run(ON + "WHEN NOT MATCHED THEN INSERT (v) VALUES (v) WHEN NOT MATCHED BY SOURCE THEN UPDATE SET id = v")
    assert merge.not_matched[0].values == ("CAST(NULL AS INT)", "source_1")
    assert merge.not_matched_by_source[0].values == ("target_1", "target_1")


def test_duplicate_source_columns_harm_only_when_used() -> None:
    """R-823: two columns of one name fail where a name or a star refers to them."""
    source = "id INT, v INT, V INT"
    run(ON + "WHEN MATCHED THEN DELETE", source=source)
    for clause in ("WHEN MATCHED THEN UPDATE SET *", "WHEN MATCHED THEN UPDATE SET v = s.v"):
        assert failure(ON + clause, source=source).error_class == "AMBIGUOUS_REFERENCE"


def test_case_of_names_follows_the_session() -> None:
    """R-120, R-816: names match without regard to case, unless the session is case-sensitive."""
    sql = "MERGE INTO target t USING source s ON T.ID = S.id WHEN MATCHED THEN UPDATE SET *"
    assert run(sql, source="Id INT, V INT").matched[0].values == ("source_0", "source_1")
    strict = MergeConf(case_sensitive=True)
    assert failure(sql, conf=strict).error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"
    star = failure(ON + "WHEN MATCHED THEN UPDATE SET *", source="id INT, V INT", conf=strict)
    assert "Cannot resolve v in UPDATE clause given columns s.id, s.V ." in star.message


def test_an_alias_wins_over_a_column_of_the_same_name() -> None:
    """R-824: ``s.id`` is the source's column although the target has a struct ``s``; ``s.a`` is the struct's field."""
    merge = run(
        ON + "WHEN MATCHED AND s.a = s.id THEN DELETE",
        target="id INT, s S<a INT, id INT>",
        types=Answers(**{"target_1.a = source_0": BooleanType()}),
    )
    assert merge.matched[0].condition is not None
    assert merge.matched[0].condition.sql == "target_1.a = source_0"


def test_names_with_dots_and_backticks_resolve() -> None:
    """R-808: quoted names are one name each, whatever is in them."""
    merge = run(
        "MERGE INTO target t USING source s ON t.`a.b` = s.`c``d` WHEN MATCHED THEN UPDATE SET t.`a.b` = s.`c``d`",
        target="`a.b` INT",
        source="c`d INT",
    )
    assert merge.condition.sql == "target_0 = source_0"
    assert merge.matched[0].values == ("source_0",)


def test_deep_fields_keep_their_path() -> None:
    """Only the part of a name that is the column is replaced, however many parts there are."""
    deep = "id INT, st S<a S<b S<c S<d INT>>>>"
    merge = run(ON + "WHEN MATCHED THEN UPDATE SET id = s.st.a.b.c.d", target=deep, source=deep)
    assert merge.matched[0].values == ("source_1.a.b.c.d", "target_1")


def test_lambda_variables_are_no_columns() -> None:
    """A variable hides a column of the same name; columns inside a lambda still resolve."""
    merge = run(
        ON + "WHEN MATCHED AND exists(t.xs, v -> v > s.v) THEN DELETE",
        target="id INT, xs INTS",
        types=Answers(**{"exists(target_1, v -> v > source_1)": BooleanType()}),
    )
    assert merge.matched[0].condition is not None
    assert merge.matched[0].condition.sql == "exists(target_1, v -> v > source_1)"


def test_a_star_needs_every_target_column_and_ignores_others() -> None:
    """R-201, both ways."""
    merge = run(ON + "WHEN NOT MATCHED THEN INSERT *", source="extra INT, v INT, id INT")
    assert merge.not_matched[0].values == ("source_2", "source_1")
    error = failure(ON + "WHEN NOT MATCHED THEN INSERT *", source="id INT, m INT")
    assert "Cannot resolve v in INSERT clause given columns s.id, s.m ." in error.message


@pytest.mark.parametrize(
    ("assignments", "listed"),
    [
        ("v = 1, V = 2", "`v`, `v`"),
        ("t.v = 1, v = 2", "`v`, `v`"),
        ("st = s.st, st.a = 1", "`st`, `st.a`"),
        ("st.a = 1, st = s.st", "`st.a`, `st`"),
        ("st.a = 1, st.A = 2", "`st.a`, `st.A`"),
    ],
)
def test_conflicting_assignments_are_refused(assignments: str, listed: str) -> None:
    """R-210: one path equals or contains another, after dropping qualifiers, under the session's case rule."""
    schema = "id INT, v INT, st S<a INT, b INT>"
    error = failure(ON + f"WHEN MATCHED THEN UPDATE SET {assignments}", target=schema, source=schema)
    assert error.error_class == "DELTA_CONFLICT_SET_COLUMN"
    assert f"There is a conflict from these SET columns: [{listed}]." in error.message


def test_names_differing_in_case_do_not_conflict_in_a_case_sensitive_session() -> None:
    """R-210 with R-120."""
    merge = run(
        ON + "WHEN MATCHED THEN UPDATE SET v = 1, V = 2",
        target="id INT, v INT, V INT",
        conf=MergeConf(case_sensitive=True),
    )
    assert merge.matched[0].values == ("target_0", "1", "2")


def test_nested_assignments_rebuild_the_struct() -> None:
    """R-212, R-213, R-215: other fields are read from the old struct, so a NULL struct gives NULL for them."""
    merge = run(
        ON + "WHEN MATCHED THEN UPDATE SET st.b.c = 5, t.st.a = s.v",
        target="id INT, st S<a INT, b S<c INT, `d e` INT>>",
    )
    assert merge.matched[0].values == (
        "target_0",
        "named_struct('a', source_1, 'b', named_struct('c', 5, 'd e', target_1.`b`.`d e`))",
    )


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("m.k", "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE"),
        ("st.m.k", "DELTA_UNSUPPORTED_NESTED_FIELD_IN_UPDATE"),
        ("id.x", "INVALID_EXTRACT_BASE_FIELD_TYPE"),
        ("xs.x", "INVALID_EXTRACT_BASE_FIELD_TYPE"),
        ("st.nope", "FIELD_NOT_FOUND"),
    ],
)
def test_paths_lead_through_structs_only(path: str, expected: str) -> None:
    """R-214, and Spark's own errors for fields that are not there."""
    target = "id INT, m MAP, xs INTS, st S<m MAP>"
    assert failure(ON + f"WHEN MATCHED THEN UPDATE SET {path} = 1", target=target).error_class == expected


def test_inserts_fill_up_with_null() -> None:
    """R-220: columns that are not listed are NULL of their type; the order of the list does not matter."""
    merge = run(ON + "WHEN NOT MATCHED THEN INSERT (v, id) VALUES (s.id, s.v)", target="id INT, gap STRING, v INT")
    assert merge.not_matched[0].values == ("source_1", "CAST(NULL AS STRING)", "source_0")


def test_insert_lists_are_checked() -> None:
    """R-224, R-225: no fields, no name twice; names that differ in case pass and the first wins."""
    target = "id INT, st S<a INT>"
    nested = failure(ON + "WHEN NOT MATCHED THEN INSERT (id, st.a) VALUES (1, 2)", target=target)
    assert nested.error_class == "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION"
    assert "(field = `st`.`a`)" in nested.message
    twice = failure(ON + "WHEN NOT MATCHED THEN INSERT (v, t.v) VALUES (1, 2)")
    assert twice.error_class == "DELTA_DUPLICATE_COLUMNS_ON_INSERT"
    merge = run(ON + "WHEN NOT MATCHED THEN INSERT (v, V) VALUES (1, 2)")
    assert merge.not_matched[0].values == ("CAST(NULL AS INT)", "1")


def table_with_implicit_columns() -> StructType:
    """``id``, ``d DEFAULT 7``, ``g GENERATED ALWAYS AS (id + d)``."""
    schema = StructType([StructField("id", IntegerType())])
    schema = schema.add("d", IntegerType(), metadata={"CURRENT_DEFAULT": "7"})
    return schema.add("g", IntegerType(), metadata={"delta.generationExpression": "ID + `d`"})


def test_implicit_columns_have_values_of_their_own() -> None:
    """R-220, R-222, R-223: defaults in inserts; generated from new values, on every update, unless assigned."""
    merge = run(
        ON + "WHEN MATCHED AND s.v > 1 THEN UPDATE SET id = s.v * 2 WHEN MATCHED THEN UPDATE SET g = 1 "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.v) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET d = 0",
        target=table_with_implicit_columns(),
        types=Answers(),
    )
    assert [clause.values for clause in merge.clauses] == [
        ("source_1 * 2", "target_1", "(source_1 * 2) + target_1"),
        ("target_0", "target_1", "1"),
        ("source_1", "7", "source_1 + (7)"),
        ("target_0", "0", "target_0 + (0)"),
    ]


def test_stars_without_evolution_need_generated_columns_too() -> None:
    """R-201; with evolution they are generated (R-202)."""
    target = table_with_implicit_columns()
    error = failure(ON + "WHEN NOT MATCHED THEN INSERT *", target=target, source="id INT, d INT")
    assert "Cannot resolve g in INSERT clause" in error.message
    merge = run(EVOLVE + "WHEN NOT MATCHED THEN INSERT *", target=target, source="id INT", types=Answers())
    assert merge.not_matched[0].values == ("source_0", "7", "source_0 + (7)")


def test_random_values_do_not_feed_generated_columns() -> None:
    """R-330: the value would be drawn twice, so it is refused by name; assigned together it is fine."""
    target = table_with_implicit_columns()
    sql = ON + "WHEN MATCHED THEN UPDATE SET id = rand()"
    with pytest.raises(UnsupportedStatementError, match="generated column g from a column that is assigned a random"):
        run(sql, target=target, types=Answers())
    assert run(sql + ", g = 1", target=target, types=Answers()).matched[0].values == ("rand()", "target_1", "1")


def test_names_differing_in_case_are_duplicates_beside_generated_columns() -> None:
    """R-225: only there, only in a case-insensitive session, and unless the flag is off."""
    target = table_with_implicit_columns()
    sql = ON + "WHEN NOT MATCHED THEN INSERT (d, D) VALUES (1, 2)"
    assert failure(sql, target=target).error_class == "DELTA_DUPLICATE_COLUMNS_ON_INSERT"
    merge = run(sql, target=target, conf=MergeConf(fix_case_sensitive_duplicate_columns=False), types=Answers())
    assert merge.not_matched[0].values[1] == "1"


def relation(side: Side) -> Relation:
    return Relation(side=side, qualifier=(side.value,), schema=schema_of("id INT"))


def apply(*clauses: Clause) -> DeltaMergeInto:
    return DeltaMergeInto.apply(
        target=relation(Side.TARGET),
        source=relation(Side.SOURCE),
        condition="true",
        when_clauses=clauses,
        with_schema_evolution=False,
    )


DELETE = Clause(kind=ClauseKind.MATCHED, action=ActionType.DELETE)
INSERT = Clause(kind=ClauseKind.NOT_MATCHED, action=ActionType.INSERT, star=True)
SET_ID = (Assignment(target=("id",), value="1"),)


def test_a_merge_sorts_its_clauses_by_kind() -> None:
    """R-102, R-111, R-113: only the order within a kind matters."""
    first = Clause(kind=ClauseKind.MATCHED, action=ActionType.UPDATE, condition="true", assignments=SET_ID)
    assert apply(INSERT, first, DELETE).clauses == (first, DELETE, INSERT)


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ((), "DELTA_MERGE_MISSING_WHEN"),
        ((DELETE, DELETE), "DELTA_NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION"),
        ((INSERT, INSERT), "DELTA_NON_LAST_NOT_MATCHED_CLAUSE_OMIT_CONDITION"),
        (
            (Clause(kind=ClauseKind.NOT_MATCHED_BY_SOURCE, action=ActionType.DELETE),) * 2,
            "DELTA_NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
        ),
        (
            (Clause(kind=ClauseKind.MATCHED, action=ActionType.INSERT, star=True),),
            "DELTA_UNEXPECTED_ACTION_EXPRESSION",
        ),
        (
            (Clause(kind=ClauseKind.NOT_MATCHED_BY_SOURCE, action=ActionType.UPDATE, star=True),),
            "DELTA_UNEXPECTED_ACTION_EXPRESSION",
        ),
        (
            (Clause(kind=ClauseKind.MATCHED, action=ActionType.DELETE, assignments=SET_ID),),
            "DELTA_UNEXPECTED_ACTION_EXPRESSION",
        ),
        (
            (Clause(kind=ClauseKind.MATCHED, action=ActionType.UPDATE, assignments=("id = 1",)),),  # type: ignore[arg-type]
            "DELTA_UNEXPECTED_ACTION_EXPRESSION",
        ),
    ],
)
def test_a_merge_is_checked_on_construction(clauses: tuple[Clause, ...], expected: str) -> None:
    """R-106, R-107, R-111: what SQL's grammar ensures is checked for statements that come from elsewhere."""
    with pytest.raises(AnalysisError) as caught:
        apply(*clauses)
    assert caught.value.error_class == expected


@pytest.mark.parametrize(
    ("sql", "operands"),
    [
        ("array_union(a, f(b, ARRAY(1, 2)))", ("a", "f(b, ARRAY(1, 2))")),
        ("((Array_Remove( x.y , named_struct('a, b', 1) )))", ("x.y", "named_struct('a, b', 1)")),
        ("array_distinct(a)[0]", None),
        ("array_union(a, b) || array_union(c, d)", None),
        ("(array_distinct(a)) || (b)", None),
        ("f(array_distinct(a))", None),
        ("array_distinct", None),
    ],
)
def test_array_functions_are_found_where_they_are_the_whole_value(sql: str, operands: tuple[str, ...] | None) -> None:
    """R-246: directly, brackets apart."""
    call = array_call(sql)
    assert (call.operands if call else None) == operands


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, (True, True)),
        ({".updateStar": "false"}, (True, False)),
        ({"": "false"}, (False, False)),
        ({"": "false", ".updateStar": "true"}, (False, False)),
    ],
)
def test_the_setting_for_update_star_counts_only_with_the_other(
    settings: dict[str, str], expected: tuple[bool, bool]
) -> None:
    """R-244: ``preserveNullSourceStructs.updateStar`` does nothing if ``preserveNullSourceStructs`` is off."""
    prefix = "spark.databricks.delta.merge.preserveNullSourceStructs"
    conf = MergeConf.from_settings({prefix + name: value for name, value in settings.items()})
    assert (conf.preserve_null_source_structs, conf.preserve_null_source_structs_update_star) == expected
