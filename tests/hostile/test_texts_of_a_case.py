"""Every text of a case that anybody may evaluate passes the door, wherever in the case it is."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.configuration.trust.places import PLACES, TextKind
from mergecheck.harness.configuration.trust.settings import is_property_allowed, is_setting_allowed
from mergecheck.harness.engines.pyspark import PySparkEngine
from mergecheck.harness.engines.spark_case import PLANNER_SETTINGS
from mergecheck.harness.variants.variant import EngineAxes
from mergecheck.harness.verdict import UserInputError
from mergecheck.merge.conf import SETTING_NAMES
from mergecheck.model import case as model
from mergecheck.model import storage
from mergecheck.model.case import Case, Expectation, Source, Target
from mergecheck.model.storage import TargetLayout
from mergecheck.model.types import data_types
from mergecheck.model.types.data_types import BIGINT, INT, STRING, ArrayType, Field, MapType, Schema, StructType
from tools.benchmarks.bad_input.attacks import NOWHERE, values

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES: dict[str, Any] = {**vars(storage), **vars(data_types), **vars(model), "Mapping": Mapping}
EVALUATED = {TextKind.STATEMENT, TextKind.CONDITION, TextKind.DEFAULT}


def parts_of(annotation: object) -> Iterator[object]:
    """Take a type apart: ``Mapping[str, Field | None]`` has the parts str, Field and None."""
    arguments = typing.get_args(annotation)
    if not arguments:
        yield annotation
    for argument in arguments:
        yield from parts_of(argument)


def dataclasses_of(root: type) -> dict[type, dict[str, set[object]]]:
    """Give all dataclasses that a dataclass may hold, each with the parts of its fields' types."""
    found: dict[type, dict[str, set[object]]] = {}
    waiting = [root]
    while waiting:
        owner = waiting.pop()
        if owner not in found:
            hints = typing.get_type_hints(owner, globalns=NAMES)
            found[owner] = {field.name: set(parts_of(hints[field.name])) for field in fields(owner)}
            waiting += [part for parts in found[owner].values() for part in parts if is_dataclass(part)]
    return found


def test_every_field_that_can_hold_a_text_is_listed() -> None:
    """A field of text that is added to a case, or to anything in it, must be listed with its kind."""
    owners = dataclasses_of(Case)
    assert {Case, Target, Source, Expectation, Field, Schema, StructType, TargetLayout} <= owners.keys()
    holding = {
        (owner.__name__, name)
        for owner, hints in owners.items()
        for name, parts in hints.items()
        if parts & {str, Any, object, bytes}
    }
    assert holding == {(owner.__name__, name) for owner, names in PLACES.items() for name in names}
    known = {str, int, bool, type(None), Any, Ellipsis, types.NoneType}
    others = {part for hints in owners.values() for parts in hints.values() for part in parts}
    assert {part for part in others if not (part in known or is_dataclass(part) or issubclass(part, Enum))} == set()


def full_case() -> Case:
    """Give a case that has a text at every listed place, nested ones included."""
    inner = Field("f", STRING, default="'d'", generated="'g'", invariant="f > 'i'")
    nested = StructType((inner, Field("l", ArrayType(StructType((inner,)))), Field("m", MapType(STRING, STRING))))
    own = Schema(
        (
            Field("id", INT),
            Field("v", STRING, default="'x'"),
            Field("g", INT, generated="id + 1"),
            Field("n", BIGINT, invariant="n < 10"),
            Field("s", nested),
        )
    )
    row = (1, "a", 2, 3, ("b", (), ()))
    return Case(
        id="full",
        target=Target(
            schema=own,
            files=((row,),),
            partition_by=("g",),
            properties={"delta.constraints.c": "id > 0", "mine": "1"},
            layout=TargetLayout(
                added_columns=("v",), dropped_columns=("o",), cluster_by=("id",), widened_columns={"n": nested}
            ),
            transactions={"app": 1},
        ),
        source=Source(schema=own, rows=(row,)),
        sql="MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE",
        conf={"spark.sql.caseSensitive": "false"},
        expect=Expectation(rows=(row,), schema=own, metrics={"n": 1}, cdf=((*row, "insert"),), error="x"),
    )


def places_in(value: object, kind: TextKind | None = None) -> Iterator[tuple[TextKind | None, Callable[[str], Any]]]:
    """Give each text inside a value, with its kind and a function that makes the value with another text there."""
    if isinstance(value, str):
        yield kind, lambda text: text
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            for inner, put in places_in(getattr(value, field.name), PLACES.get(type(value), {}).get(field.name)):
                yield inner, _replacing(value, field.name, put)
    elif isinstance(value, tuple):
        for number, member in enumerate(value):
            for inner, put in places_in(member, kind):
                yield inner, _at(value, number, put)
    elif isinstance(value, Mapping):
        for key, member in value.items():
            for inner, put in places_in(member, kind):
                yield inner, _under(value, key, put)


def _replacing(value: Any, name: str, put: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: replace(value, **{name: put(text)})


def _at(value: tuple[Any, ...], number: int, put: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: (*value[:number], put(text), *value[number + 1 :])


def _under(value: Mapping[Any, Any], key: object, put: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: {**value, key: put(text)}


def refusal(case: Case) -> str | None:
    try:
        require_harmless(case, "file")
    except UserInputError as error:
        return str(error)
    return None


def test_the_full_case_has_a_text_at_every_place_and_may_run() -> None:
    case = full_case()
    assert refusal(case) is None
    places = [kind for kind, _ in places_in(case)]
    assert set(places) == set(TextKind) - {TextKind.UNKNOWN}
    assert len([kind for kind in places if kind in EVALUATED]) > 20


@pytest.mark.parametrize("text", values(NOWHERE))
def test_no_place_takes_a_hostile_expression(text: str) -> None:
    """Defaults, generation expressions, constraints and invariants, of columns and of fields at any depth."""
    case = full_case()
    tried = 0
    for kind, put in places_in(case):
        if kind is TextKind.STATEMENT:
            hostile = put(case.sql.replace("t.id = s.id", f"{text} = 'x'"))
        elif kind in EVALUATED or kind is TextKind.PROPERTIES:
            hostile = put(text)
        else:
            continue
        if hostile.target.properties.get("mine") == text:  # a property of no meaning is no expression
            continue
        tried += 1
        assert refusal(hostile) is not None, hostile
    assert tried > 20


@dataclasses.dataclass(frozen=True, slots=True)
class FieldWithRemark(Field):
    remark: str = ""


def test_a_text_of_no_known_kind_is_refused() -> None:
    """A new field holds texts before it is listed: no case that has one runs."""
    column = FieldWithRemark("x", INT, remark="anything")
    case = full_case()
    schema = Schema((*case.target.schema.columns, column))
    assert "is not among the parts" in str(refusal(replace(case, target=replace(case.target, schema=schema))))


def test_settings_of_the_harness_and_the_merges_are_allowed() -> None:
    """A finding under a variant, or with a setting that random cases draw, can be replayed."""
    axes = EngineAxes(PySparkEngine.capabilities.axes)
    settings = {*PLANNER_SETTINGS, *SETTING_NAMES, *axes.base} - {
        *("spark.sql.ansi.doubleQuotedIdentifiers", "spark.sql.parser.escapedStringLiterals")  # other readings of texts
    }
    settings |= {name for value in axes.values for name in value.settings}
    assert {name for name in settings if not is_setting_allowed(name)} == set()
    for name in ("delta.enableRowTracking", "delta.feature.x", "delta.constraints.c", "delta.targetFileSize", "team"):
        assert is_property_allowed(name)


@pytest.mark.parametrize(
    "name",
    [
        "spark.databricks.delta.write.dataFilesToSubdir",
        "spark.databricks.delta.history.threadPoolSize",
        "spark.sql.adaptive.customCostEvaluatorClass",
        "spark.sql.adaptive.optimizer.excludedRules",
        "spark.sql.parquet.output.committer.class",
        "spark.sql.codegen.logging.maxLines",
        "spark.sql.sources.commitProtocolClass",
        "spark.sql.warehouse.dir",
        "spark.databricks.delta.logStore.class",
        "SPARK.SQL.CASESENSITIVE",
    ],
)
def test_settings_that_name_classes_or_paths_are_refused(name: str) -> None:
    assert "setting" in str(refusal(replace(full_case(), conf={name: "x"})))


@pytest.mark.parametrize(
    "name",
    [
        "delta.redirectReaderWriter-preview",
        "delta.redirectWriterOnly-preview",
        "delta.coordinatedCommits.commitCoordinator-preview",
        "delta.coordinatedCommits.commitCoordinatorConf-preview",
        "delta.universalFormat.enabledFormats",
        "DELTA.RedirectReaderWriter-preview",
        "option.path",
        "delta.nobodyKnows",
    ],
)
def test_properties_that_lead_elsewhere_are_refused(name: str) -> None:
    """A redirect makes of the case's table a name for another one."""
    case = full_case()
    assert "table property" in str(refusal(replace(case, target=replace(case.target, properties={name: "x"}))))
