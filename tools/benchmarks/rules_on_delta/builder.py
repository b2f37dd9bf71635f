"""The builder, the plan that it makes, and references of DataFrames (R-103 to R-105, R-111, R-112, R-121, R-122)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.benchmarks.rules_on_delta.lab import Check

if TYPE_CHECKING:
    from collections.abc import Callable

    from delta.tables import DeltaMergeBuilder

    from tools.benchmarks.rules_on_delta.lab import Lab


def _builder(lab: Lab, condition: Any = "t.id = s.id") -> DeltaMergeBuilder:  # noqa: ANN401 - text or Column
    lab.both()
    source = lab.spark.read.format("delta").load(str(lab.source)).alias("s")
    return lab.delta_table().merge(source, condition)


def _error(act: Callable[[], object]) -> str:
    try:
        act()
    except Exception as error:  # noqa: BLE001 - the error is the answer
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return "no error"


def _missing_maps(lab: Lab) -> object:
    builder: Any = _builder(lab)  # its types forbid this call
    calls = (builder.whenMatchedUpdate, builder.whenNotMatchedInsert, builder.whenNotMatchedBySourceUpdate)
    return [_error(call) for call in calls]


def _wrong_types(lab: Lab) -> object:
    builder = _builder(lab)
    wrong: Any = 1
    acts = (
        lambda: builder.whenMatchedUpdate(set=wrong),
        lambda: builder.whenMatchedUpdate(set={wrong: "s.v"}),
        lambda: builder.whenMatchedUpdate(set={"v": wrong}),
        lambda: builder.whenMatchedDelete(condition=wrong),
    )
    return [_error(act).split(":")[0] for act in acts]


def _columns_and_texts(lab: Lab) -> object:
    from pyspark.sql.functions import expr  # noqa: PLC0415 - needs Spark's path

    builder = _builder(lab, expr("t.id = s.id"))
    builder.whenMatchedUpdate(set={"v": expr("s.v + 1")}).whenNotMatchedInsert(
        values={"id": "s.id", "v": "0"}
    ).execute()
    return lab.rows()


def _dotted_keys(lab: Lab) -> object:
    lab.table(lab.target, "id INT, a STRUCT<b: INT>, `x.y` INT", "(1, named_struct('b', 1), 1)")
    lab.table(lab.source, "id INT", "(1)")
    source = lab.spark.read.format("delta").load(str(lab.source)).alias("s")
    builder = lab.delta_table().merge(source, "t.id = s.id")
    builder.whenMatchedUpdate(set={"a.b": "2", "`x.y`": "3", "t.id": "7"}).execute()
    return lab.rows("id, a.b, `x.y`")


def _star_key(lab: Lab) -> object:
    return _builder(lab).whenMatchedUpdate(set={"*": "s.v"}).execute()


def _empty_update(lab: Lab) -> object:
    _builder(lab).whenMatchedUpdate(set={}).whenNotMatchedInsertAll().execute()
    return lab.history()["operationParameters"]["matchedPredicates"]


def _only_empty_update(lab: Lab) -> object:
    return _builder(lab).whenMatchedUpdate(set={}).execute()


def _conditional_empty_update(lab: Lab) -> object:
    _builder(lab).whenMatchedUpdate(condition="s.v > 0", set={}).execute()
    return [lab.rows(), lab.history()["operationMetrics"]["numTargetRowsUpdated"]]


def _empty_insert(lab: Lab) -> object:
    _builder(lab).whenNotMatchedInsert(values={}).execute()
    return [tuple(row) for row in lab.spark.read.format("delta").load(str(lab.target)).filter("id IS NULL").collect()]


def _jvm(lab: Lab) -> Any:  # noqa: ANN401 - Py4J's view of the JVM
    return lab.spark.sparkContext._jvm  # noqa: SLF001 - Delta's plans have no public API


def _merge_into(lab: Lab, *given: object) -> Any:  # noqa: ANN401 - a plan
    """Call the companion object, which Java hides behind a method of all trees."""
    plans = _jvm(lab).org.apache.spark.sql.catalyst.plans.logical
    companion = getattr(getattr(plans, "DeltaMergeInto$"), "MODULE$")
    return companion.apply(*given)


def _seq(lab: Lab, *items: object) -> Any:  # noqa: ANN401 - a Scala sequence
    return _jvm(lab).org.apache.spark.api.python.PythonUtils.toSeq(list(items))


def _unexpected_action(lab: Lab) -> object:
    jvm = _jvm(lab)
    plans, none = jvm.org.apache.spark.sql.catalyst.plans.logical, jvm.scala.Option.empty()
    true = jvm.org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral()
    clause = plans.DeltaMergeIntoMatchedUpdateClause(none, _seq(lab, true))
    row = jvm.org.apache.spark.sql.catalyst.plans.logical.OneRowRelation()
    return _merge_into(lab, row, row, true, _seq(lab, clause), False)  # noqa: FBT003 - Scala's signature


def _command(lab: Lab) -> object:
    jvm = _jvm(lab)
    plans, none = jvm.org.apache.spark.sql.catalyst.plans.logical, jvm.scala.Option.empty()
    true = jvm.org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral()
    row = plans.OneRowRelation()
    merge = _merge_into(lab, row, row, true, _seq(lab, plans.DeltaMergeIntoMatchedDeleteClause(none)), True)  # noqa: FBT003 - Scala's signature
    return [
        merge.children().size(),
        merge.output().size(),
        merge.finalSchema().isDefined(),
        str(merge.matchedClauses()),
        merge.matchedClauses().apply(0).actions().size(),
    ]


def _behaviours(lab: Lab) -> object:
    return str(
        _jvm(lab).org.apache.spark.sql.catalyst.plans.logical.TargetOnlyStructFieldBehavior.values().mkString(", ")
    )


def _unresolved_target_name(lab: Lab) -> object:
    jvm = _jvm(lab)
    plans = jvm.org.apache.spark.sql.catalyst.plans.logical
    true = jvm.org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral()
    nullify = plans.TargetOnlyStructFieldBehavior.NULLIFY()
    actions = [plans.DeltaMergeAction(_seq(lab, "v"), true, nullify, flag) for flag in (False, True)]
    return [action.resolved() for action in actions]


def _foreign_reference(lab: Lab) -> object:
    lab.both()
    source = lab.spark.read.format("delta").load(str(lab.source))
    other = lab.spark.range(1)
    target = lab.delta_table()
    return target.merge(source, other["id"] == source["id"]).whenMatchedDelete().execute()


def _self_merge(lab: Lab) -> object:
    lab.both()
    target = lab.delta_table()
    source = target.toDF().alias("s")
    target.merge(source, "t.id = s.id").whenMatchedUpdate(set={"v": "s.v + 1"}).execute()
    return lab.rows()


def _ambiguous(lab: Lab) -> object:
    lab.both()
    target = lab.delta_table()
    frame = target.toDF()
    return target.merge(frame, frame["id"] == frame["id"]).whenMatchedUpdate(set={"v": frame["v"]}).execute()


def _insert_reference(alias: str | None, of_source: str | None = None) -> Callable[[Lab], object]:
    def ask(lab: Lab) -> object:
        from delta.tables import DeltaTable  # noqa: PLC0415 - needs Spark's path
        from pyspark.sql.functions import lit  # noqa: PLC0415

        lab.both()
        target = DeltaTable.forPath(lab.spark, str(lab.target))
        target = target if alias is None else target.alias(alias)
        frame = target.toDF()
        source = frame if of_source is None else frame.alias(of_source)
        merge = target.merge(source, lit(False))  # noqa: FBT003 - the signature of lit
        merge.whenNotMatchedInsert(values={"id": frame["id"] + 10, "v": frame["v"]}).execute()
        return lab.rows()

    return ask


CHECKS = (
    Check(
        rule="R-103",
        question="a missing map",
        ask=_missing_maps,
        expected=[
            "ValueError: 'set' in whenMatchedUpdate cannot be None",
            "ValueError: 'values' in whenNotMatchedInsert cannot be None",
            "ValueError: 'set' in whenNotMatchedBySourceUpdate cannot be None",
        ],
    ),
    Check(rule="R-103", question="wrong types", ask=_wrong_types, expected=["TypeError"] * 4),
    Check(rule="R-103", question="Columns and texts", ask=_columns_and_texts, expected=[(1, 12), (2, 20), (3, 0)]),
    Check(rule="R-104", question="dotted and quoted keys", ask=_dotted_keys, expected=[(7, 2, 3)]),
    Check(rule="R-104", question="a star as key", ask=_star_key, expected="DELTA_MERGE_UNRESOLVED_EXPRESSION"),
    Check(rule="R-105", question="clauses after an empty unconditional update", ask=_empty_update, expected="[]"),
    Check(rule="R-105", question="nothing but it", ask=_only_empty_update, expected="DELTA_MERGE_MISSING_WHEN"),
    Check(
        rule="R-105",
        question="an empty conditional update",
        ask=_conditional_empty_update,
        expected=[[(1, 10), (2, 20)], "1"],
    ),
    Check(rule="R-105", question="an empty insert", ask=_empty_insert, expected=[(None, None)]),
    Check(
        rule="R-111",
        question="an action that is neither star nor assignment",
        ask=_unexpected_action,
        expected="DELTA_UNEXPECTED_ACTION_EXPRESSION",
    ),
    Check(
        rule="R-111",
        question="children, output, final schema, clauses, actions of a DELETE",
        ask=_command,
        expected=[2, 0, True, "List(Delete [])", 0],
    ),
    Check(
        rule="R-112",
        question="markers for fields that only the target has",
        ask=_behaviours,
        expected="PRESERVE, NULLIFY, TARGET_ALIGNED",
    ),
    Check(
        rule="R-112",
        question="an assignment is resolved without and with the flag",
        ask=_unresolved_target_name,
        expected=[False, True],
    ),
    Check(
        rule="R-121",
        question="a column of neither side",
        ask=_foreign_reference,
        expected="DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT",
    ),
    Check(rule="R-122", question="a merge of the table with itself", ask=_self_merge, expected=[(1, 11), (2, 21)]),
    Check(rule="R-122", question="a column of both sides", ask=_ambiguous, expected="AMBIGUOUS_REFERENCE"),
    Check(
        rule="R-122",
        question="a column of both sides in an insert",
        ask=_insert_reference(None),
        expected=[(1, 10), (2, 20), (11, 10), (12, 20)],
    ),
    Check(
        rule="R-122",
        question="the same, qualified by an alias of the target that the source's frame has too",
        ask=_insert_reference("t"),
        expected=[(1, 10), (2, 20), (11, 10), (12, 20)],
    ),
    Check(
        rule="R-122",
        question="the same, where the source has got an alias of its own",
        ask=_insert_reference("t", "s"),
        expected="DELTA_MERGE_UNRESOLVED_EXPRESSION",
    ),
)
