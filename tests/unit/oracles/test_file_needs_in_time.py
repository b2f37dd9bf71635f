"""The oracle of work on days and years of moments, and on partitions that are computed from other columns.

Every row that the log allows is tried: three days around the end of a year, at their first and last millisecond.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.oracles.work.needs import Need, UnknownNeeds, file_needs
from mergecheck.model.case import Case, Row, Source, Target
from mergecheck.model.storage import Statistics, TargetLayout
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.merge_reference import MergeReference
from tools.selfcheck.mutation import Change, compile_changes, replaced

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

DAYS = [dt.date(2019, 12, 30), dt.date(2019, 12, 31), dt.date(2020, 1, 1)]
ENDS = [dt.time(0), dt.time(23, 59, 59, 999_000)]
NAIVE = [dt.datetime.combine(day, end) for day, end in product(DAYS, ENDS)]
MOMENTS: dict[str, Sequence[dt.date]] = {
    "DATE": DAYS,
    "TIMESTAMP_NTZ": NAIVE,
    "TIMESTAMP": [moment.replace(tzinfo=dt.UTC) for moment in NAIVE],
}
Holds = Callable[[Any], bool]
SIGNS: dict[str, Callable[[Any, Any], bool]] = {"=": operator.eq, "<": operator.lt}


def day_of(value: dt.date) -> dt.date:
    return value.date() if isinstance(value, dt.datetime) else value


def year_of(value: dt.date) -> int:
    return value.year


FUNCTIONS: dict[str, Callable[[dt.date], Any]] = {
    "CAST({} AS DATE)": day_of,
    "to_date({})": day_of,
    "date(CAST({} AS TIMESTAMP_NTZ))": day_of,
    "CAST({} AS TIMESTAMP)": lambda v: v.replace(tzinfo=None) if isinstance(v, dt.datetime) else at(v),
    "year({})": year_of,
}


def at(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time())


def constants(function: str) -> list[Any]:
    """A value of a function's results, and those beside it."""
    if function.startswith("year"):
        return [2019, 2020, 2021]
    middle: Any = FUNCTIONS[function](NAIVE[2])
    return [middle, middle + dt.timedelta(days=1), middle - dt.timedelta(days=2)]


def comparisons(function: str) -> Iterable[tuple[str, Holds]]:
    for sign, constant in product(SIGNS, constants(function)):
        yield (
            f"{function.format('t.x')} {sign} {literal(constant)}",
            lambda value, sign=sign, constant=constant: SIGNS[sign](FUNCTIONS[function](value), constant),
        )


LAST_DAY_OF_A_YEAR: list[tuple[str, Holds]] = [
    ("date(t.x) > DATE'2019-12-30' AND year(t.x) <= 2019", lambda value: day_of(value) == DAYS[1])
]


def literal(value: object) -> str:
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP'{value}Z'"
    return f"DATE'{value}'" if isinstance(value, dt.date) else str(value)


@pytest.fixture(scope="module")
def merges() -> MergeReference:
    return MergeReference()


def skipped(case: Case, merges: MergeReference) -> list[bool]:
    needs = file_needs(case, merges.evaluate(case))
    assert not isinstance(needs, UnknownNeeds), needs
    return [need.need is Need.SKIP or need.excluded_by is not None for need in needs]


def merge_on(condition: str, target: Target) -> Case:
    sql = f"MERGE INTO target t USING source s ON {condition} WHEN MATCHED THEN DELETE"
    return Case(id="time", target=target, source=ONE_ROW, sql=sql)


ONE_ROW = Source(schema=parse_schema("k INT"), rows=((1,),))


def wrong_files(kind: str, merges: MergeReference, *, functions: Iterable[str] = FUNCTIONS) -> list[str]:
    """List the files of a column that are judged otherwise than by all values within their bounds."""
    values = MOMENTS[kind]
    ranges = list(combinations_with_replacement(range(len(values)), 2))
    files: list[tuple[Row, ...]] = [tuple((values[end],) for end in pair) for pair in ranges]
    target = Target(schema=parse_schema(f"x {kind}"), files=(*files, ((None,),)))
    allowed = [*(values[low : high + 1] for low, high in ranges), ()]
    wrong = []
    for condition, holds in (*LAST_DAY_OF_A_YEAR, *(one for function in functions for one in comparisons(function))):
        found = skipped(merge_on(condition, target), merges)
        for is_skipped, inside in zip(found, allowed, strict=True):
            if is_skipped == any(map(holds, inside)):
                wrong.append(f"{condition}: {inside} {is_skipped}")
    return wrong


@pytest.mark.parametrize("kind", MOMENTS)
def test_days_and_years_of_moments_are_decided_by_bounds(kind: str, merges: MergeReference) -> None:
    """Sound and complete: a file is excluded exactly if no moment within its bounds has such a day or year."""
    assert wrong_files(kind, merges) == []


NO_ORDER = [
    "CAST(t.x AS DATE) = 'no day'",
    "year(t.x) = 2147483647",
    "month(t.x) = 2",
    "CAST(CAST(t.x AS STRING) AS DATE) = DATE'2030-01-01'",
    "CAST(t.x AS BIGINT) = 2021",
]


def is_read(condition: str, merges: MergeReference) -> bool:
    """Return whether a file with all moments is not excluded; of a merge that fails nothing is."""
    file = tuple((moment,) for moment in MOMENTS["TIMESTAMP"])
    case = merge_on(condition, Target(schema=parse_schema("x TIMESTAMP"), files=(file,)))
    needs = file_needs(case, merges.evaluate(case))
    return isinstance(needs, UnknownNeeds) or needs[0].excluded_by is None


@pytest.mark.parametrize("condition", NO_ORDER)
def test_what_cannot_be_compared_by_order_excludes_nothing(condition: str, merges: MergeReference) -> None:
    assert is_read(condition, merges)


GENERATED = {
    "DATE GENERATED ALWAYS AS (CAST(x AS DATE))": day_of,
    "DATE GENERATED ALWAYS AS (to_date(`X`))": day_of,
    "INT GENERATED ALWAYS AS (year(x))": year_of,
}
ON_MOMENTS = [f"t.x {sign} {literal(value)}" for sign in SIGNS for value in (at(DAYS[1]), at(DAYS[2]))]
ON_MOMENTS += ["t.x IS NULL", "t.x = TIMESTAMP'2019-12-30 23:59:59.999Z' OR t.x > TIMESTAMP'2030-01-01 00:00:00Z'"]


def partitioned(column: str, function: Callable[[dt.date], Any]) -> Target:
    """Two files of each partition, without statistics: the partition's value is all that the log knows."""
    rows: list[Row] = [(moment, function(moment)) for moment in MOMENTS["TIMESTAMP"]]
    return Target(
        schema=parse_schema(f"x TIMESTAMP, p {column}"),
        files=(*((row,) for row in rows), ((None, None),)),
        partition_by=("p",),
        layout=TargetLayout(statistics=Statistics.NONE),
    )


def wrong_partitions(column: str, merges: MergeReference) -> list[str]:
    """List the files that are judged otherwise than by all moments of their partition."""
    function = GENERATED[column]
    target = partitioned(column, function)
    wrong = []
    for condition in ON_MOMENTS:
        case = merge_on(condition, target)
        trace = merges.evaluate(case).trace
        assert trace.matches is not None
        matched = {target.files[trace.files[rid]][0][1] for _, rid in trace.matches.pairs}
        for (row,), is_skipped in zip(target.files, skipped(case, merges), strict=True):
            if is_skipped == (row[1] in matched):
                wrong.append(f"{condition}: {row} {is_skipped}")
    return wrong


@pytest.mark.parametrize("column", GENERATED)
def test_a_generated_partition_column_bounds_the_column_that_it_is_made_of(column: str, merges: MergeReference) -> None:
    assert wrong_partitions(column, merges) == []


def trusts_none_that_breaks_its_expression(merges: MergeReference) -> bool:
    target = partitioned("DATE GENERATED ALWAYS AS (CAST(x AS DATE))", lambda _: DAYS[0])
    return not any(skipped(merge_on(f"t.x = {literal(at(DAYS[2]))}", target), merges)[: len(NAIVE)])


def test_a_table_that_breaks_its_own_expression_is_not_trusted(merges: MergeReference) -> None:
    assert trusts_none_that_breaks_its_expression(merges)


PARTS = "harness.oracles.work.condition_parts"
MUTANTS = {
    "days and years end where they begin": [
        Change(function=f"{PARTS}._before", replace='f"least(({value.sql}) + 1, {last})"', by="value.sql"),
        Change(function=f"{PARTS}._before", replace=") + 1, {dt.MAXYEAR}", by="), {dt.MAXYEAR}"),
    ],
    "a year is taken for a day": [Change(function=f"{PARTS}._before", replace="make_date", by="DATE '2000-01-01' + ")],
    "promises are not looked at": [
        Change(function="harness.oracles.work.needs._Rows._verdicts", replace="DELETE FROM", by="SELECT count(*) FROM")
    ],
    "other promises are looked at": [
        Change(function="harness.oracles.work.needs._Rows._promises", replace="if any(", by="if not any(")
    ],
    "a broken promise is believed": [
        Change(function="harness.oracles.work.needs._Rows.load_values", replace="== (0,)", by="!= ()")
    ],
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_found(name: str, merges: MergeReference) -> None:
    with replaced(compile_changes(MUTANTS[name])):
        wrong = wrong_files("TIMESTAMP", merges, functions=("year({})",))
        wrong += wrong_partitions(next(iter(GENERATED)), merges)
        is_wary = trusts_none_that_breaks_its_expression(merges)
    assert wrong or not is_wary
