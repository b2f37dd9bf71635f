"""The oracle of work against the truth: every row that the log allows in a file is tried.

Whether a file may be left unread is decided from a few representative rows. Here the columns have few values, so all
rows that fit the bounds can be listed, and the conditions are evaluated in Python.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck import strategies
from mergecheck.harness.oracles.work.needs import ExcludedBy, FileNeed, Need, UnknownNeeds, file_needs
from mergecheck.model.case import Case, Row, Source, Target
from mergecheck.model.storage import Statistics, TargetLayout, Vectors
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.merge_reference import MergeReference
from tools.selfcheck.mutation import Change, compile_changes, replaced

if TYPE_CHECKING:
    from collections.abc import Callable

SCHEMA = parse_schema("a INT, b INT")
SOURCE = Source(schema=parse_schema("k INT, w INT"), rows=((1, 10), (None, 11), (3, 12)))
Truth = bool | None


@dataclass(frozen=True)
class Condition:
    """A condition as SQL, and as a function of a row of the target and a row of the source."""

    sql: str
    holds: Callable[[Row, Row], Truth]


def comparison(column: int, sign: str, constant: int) -> Condition:
    compare = {"=": operator.eq, "<": operator.lt, ">=": operator.ge, "<>": operator.ne}[sign]
    return Condition(
        f"t.{'ab'[column]} {sign} {constant}",
        lambda t, _: None if t[column] is None else compare(t[column], constant),
    )


def both(left: Condition, right: Condition) -> Condition:
    def holds(t: Row, s: Row) -> Truth:
        values = {left.holds(t, s), right.holds(t, s)}
        return False if False in values else None if None in values else True

    return Condition(f"({left.sql} AND {right.sql})", holds)


def negated(inner: Condition) -> Condition:
    return Condition(f"NOT ({inner.sql})", lambda t, s: None if inner.holds(t, s) is None else not inner.holds(t, s))


def either(left: Condition, right: Condition) -> Condition:
    whole = negated(both(negated(left), negated(right)))
    return Condition(f"({left.sql} OR {right.sql})", whole.holds)


KEYS = Condition("t.a = s.k", lambda t, s: None if None in (t[0], s[0]) else t[0] == s[0])
NULL_SAFE = Condition("t.a <=> s.k", lambda t, s: t[0] == s[0])
OUTSIDE = Condition("t.a < s.k", lambda t, s: None if None in (t[0], s[0]) else t[0] < s[0])
IS_NULL = Condition("t.b IS NULL", lambda t, _: t[1] is None)
LISTED = Condition("t.b IN (0, 2)", lambda t, _: None if t[1] is None else t[1] in (0, 2))
BETWEEN = Condition("t.b BETWEEN 1 AND 2", lambda t, _: None if t[1] is None else 1 <= t[1] <= 2)
GAP = both(comparison(1, ">=", 1), comparison(1, "<", 1))
SIGNS = [comparison(1, sign, constant) for sign in ("=", "<", ">=", "<>") for constant in (0, 1, 2)]
CONDITIONS = [
    *SIGNS,
    IS_NULL,
    LISTED,
    BETWEEN,
    GAP,
    negated(SIGNS[1]),
    negated(IS_NULL),
    negated(LISTED),
    both(comparison(1, ">=", 1), comparison(1, "<", 2)),
    either(comparison(1, "=", 2), IS_NULL),
    either(both(comparison(0, "=", 0), IS_NULL), comparison(1, "=", 0)),
    negated(either(SIGNS[0], comparison(0, "<>", 1))),
]


@dataclass(frozen=True)
class Statement:
    """A statement in parts; None is a clause that is not there, TRUE a clause without a condition."""

    on: Condition
    update: Condition | None = None
    insert: bool = False
    by_source: Condition | None = None

    @property
    def sql(self) -> str:
        clauses = [
            *([] if self.update is None else [f"WHEN MATCHED AND {self.update.sql} THEN UPDATE SET b = s.w"]),
            *(["WHEN NOT MATCHED AND s.w > 10 THEN INSERT (a, b) VALUES (s.k, s.w)"] if self.insert else []),
            *([] if self.by_source is None else [f"WHEN NOT MATCHED BY SOURCE AND {self.by_source.sql} THEN DELETE"]),
        ]
        return f"MERGE INTO target t USING source s ON {self.on.sql} {' '.join(clauses)}"

    def has_part(self, row: Row) -> bool:
        """Return whether a row of the target has a part in the merge, by the definition."""
        matching = [s for s in SOURCE.rows if self.on.holds(row, s) is True]
        updated = self.update is not None and any(self.update.holds(row, s) is True for s in matching)
        keeps_out = self.insert and any(s[1] > 10 for s in matching)
        stays = self.by_source is not None and not matching and self.by_source.holds(row, (None, None)) is True
        return updated or keeps_out or stays


TRUE = Condition("TRUE", lambda *_: True)
STATEMENTS = [
    *(Statement(both(KEYS, condition), update=TRUE) for condition in CONDITIONS),
    *(Statement(KEYS, update=condition) for condition in CONDITIONS[::2]),
    *(Statement(KEYS, by_source=condition) for condition in CONDITIONS[1::2]),
    *(Statement(both(NULL_SAFE, condition), insert=True) for condition in CONDITIONS[::3]),
    *(Statement(both(KEYS, condition), by_source=other) for condition, other in zip(SIGNS, CONDITIONS, strict=False)),
    Statement(OUTSIDE, insert=True),
    Statement(NULL_SAFE, update=IS_NULL, insert=True, by_source=LISTED),
    Statement(both(KEYS, GAP), update=TRUE, by_source=GAP),
]

RANGES = [(low, high) for low in range(4) for high in range(low, 4)]


@dataclass(frozen=True)
class Values:
    """The values that the log allows in a column: a range, with NULL or without it, or NULL alone."""

    low: int | None
    high: int | None
    null: bool = False

    @property
    def all(self) -> list[int | None]:
        inside: list[int | None] = [] if self.low is None or self.high is None else [*range(self.low, self.high + 1)]
        return [*inside, *([None] if self.null else [])]

    @property
    def ends(self) -> list[int | None]:
        """Three values that give these bounds."""
        return [self.low, self.high, None if self.null else self.low]


COLUMN_A = [*(Values(low, high, null) for low, high in RANGES for null in (False, True)), Values(None, None, null=True)]
COLUMN_B = [Values(0, 0), Values(1, 2, null=True), Values(2, 2, null=True), Values(0, 2), Values(None, None, null=True)]
FILES = [*product(COLUMN_A[::2], COLUMN_B), *product(COLUMN_A[1::4], COLUMN_B[:2])]
TARGET = Target(schema=SCHEMA, files=tuple(tuple(zip(a.ends, b.ends, strict=True)) for a, b in FILES))


@pytest.fixture(scope="module")
def merges() -> MergeReference:
    return MergeReference()


def needs_of(case: Case, merges: MergeReference) -> tuple[FileNeed, ...]:
    found = file_needs(case, merges.evaluate(case))
    assert not isinstance(found, UnknownNeeds), found
    return found


def wrong_needs(statements: list[Statement], merges: MergeReference) -> list[str]:
    """List the files that the oracle judges otherwise than the truth: unread though a row may have a part, or read."""
    wrong = []
    for statement in statements:
        case = Case(id="needs", target=TARGET, source=SOURCE, sql=statement.sql)
        for need, (a, b) in zip(needs_of(case, merges), FILES, strict=True):
            may_have_part = any(statement.has_part(row) for row in product(a.all, b.all))
            assert need.num_changed == 0 or may_have_part
            if (need.excluded_by is None) != may_have_part:
                wrong.append(f"{statement.sql}: {a} {b}: {need.excluded_by}")
    return wrong


def test_a_file_may_be_left_unread_exactly_if_no_allowed_row_has_a_part(merges: MergeReference) -> None:
    """Sound, and complete for comparisons with constants and with the source's own values, in AND, OR and NOT."""
    assert wrong_needs(STATEMENTS, merges) == []


PRUNES_TOO_MUCH = {
    "a condition that is not understood excludes": Change(
        function="harness.oracles.work.needs._Rows._is_known", replace="return False", by="return True"
    ),
    "NULL is left out": Change(
        function="harness.oracles.work.possible_rows._representatives",
        replace="if bounds.may_be_null:",
        by="if not bounds.may_be_value:",
    ),
    "values inside the bounds are left out": Change(
        function="harness.oracles.work.possible_rows._representatives", replace="*ends, *near,", by="*ends,"
    ),
    "the upper bound is left out": Change(
        function="harness.oracles.work.file_bounds.Bounds.allows",
        replace="not is_less(self.high, value)",
        by="is_less(value, self.high)",
    ),
    "clauses that insert are forgotten": Change(
        function="harness.oracles.work.needs._Asked.matching", replace=", *inserted]", by="]"
    ),
    "BY SOURCE is forgotten": Change(
        function="harness.oracles.work.needs._Rows._verdicts", replace=" | self._files(file, asked.staying)", by=""
    ),
    "ON excludes rows that BY SOURCE reaches": Change(
        function="harness.oracles.work.needs._Asked.staying",
        replace="{unmatched}",
        by="{unmatched} AND {_all(self.on)}",
    ),
}
PRUNES_TOO_LITTLE = {
    "neighbours outside the bounds": Change(
        function="harness.oracles.work.possible_rows._representatives", replace="if bounds.allows(value)", by="if True"
    ),
    "NULL everywhere": Change(
        function="harness.oracles.work.possible_rows._representatives", replace="if bounds.may_be_null:", by="if True:"
    ),
    "OR is not understood": Change(
        function="harness.oracles.work.condition_parts._uses", replace="exp.And | exp.Or", by="exp.And"
    ),
    "IN is not understood": Change(
        function="harness.oracles.work.condition_parts._comparison",
        replace="isinstance(node, exp.In)",
        by="isinstance(node, exp.Paren)",
    ),
    "conditions of MATCHED are forgotten": Change(
        function="harness.oracles.work.needs._Asked.matching",
        replace="_all(self._known(clause.parts))",
        by='"TRUE"',
    ),
    "matches do not protect from BY SOURCE": Change(
        function="harness.oracles.work.needs._Asked.staying", replace="len(self.on) == len(", by="len(self.on) < len("
    ),
    "the source is not looked at": Change(
        function="harness.oracles.work.needs._Asked.__init__",
        replace="knows_source or not part.uses_source",
        by="not part.uses_source",
    ),
}


OPAQUE = [
    Condition("t.a + 0 = s.k", KEYS.holds),
    Condition("abs(t.b - 1) = 1", lambda t, _: None if t[1] is None else abs(t[1] - 1) == 1),
    Condition("CASE WHEN t.b = 0 THEN t.a = 2 ELSE t.b = 1 END", lambda t, _: t[0] == 2 if t[1] == 0 else t[1] == 1),
    Condition("t.a = t.b", lambda t, _: None if None in t else t[0] == t[1]),
]
OPAQUE_STATEMENTS = [
    Statement(OPAQUE[0], update=TRUE),
    *(Statement(both(KEYS, condition), update=TRUE) for condition in OPAQUE),
    *(Statement(KEYS, by_source=either(condition, SIGNS[0])) for condition in OPAQUE[1:]),
]


def wrongly_unread(statements: list[Statement], merges: MergeReference) -> list[str]:
    """List the files that may be left unread by the oracle, and that may hold a row with a part."""
    return [text for text in wrong_needs(statements, merges) if not text.endswith("None")]


def test_a_condition_that_is_not_understood_excludes_nothing(merges: MergeReference) -> None:
    assert wrongly_unread(OPAQUE_STATEMENTS, merges) == []


MUTANT_STATEMENTS = [
    Statement(NULL_SAFE, update=IS_NULL, insert=True, by_source=LISTED),
    Statement(both(KEYS, CONDITIONS[0]), by_source=both(comparison(1, ">=", 1), comparison(1, "<", 2))),
    Statement(both(KEYS, either(comparison(1, "=", 0), comparison(0, "=", 0))), update=TRUE),
    Statement(both(KEYS, comparison(1, "=", 1)), update=LISTED),
]


@pytest.mark.parametrize("name", [*PRUNES_TOO_MUCH, *PRUNES_TOO_LITTLE])
def test_mutants_of_the_oracle_are_found(name: str, merges: MergeReference) -> None:
    """An oracle that excludes too much lets an engine lose rows; one that excludes too little sees no needless work."""
    excludes_more = name in PRUNES_TOO_MUCH
    change = (PRUNES_TOO_MUCH | PRUNES_TOO_LITTLE)[name]
    with replaced(compile_changes([change])):
        wrong = wrong_needs(MUTANT_STATEMENTS, merges)
        unread = wrongly_unread(OPAQUE_STATEMENTS[:1], merges) if excludes_more else []
    assert any(text.endswith("None") != excludes_more for text in (*wrong, *unread))


CUT = "x" * 40
MOMENT = dt.datetime(2020, 2, 29, 12, 0, 0, 123_456)  # noqa: DTZ001 - of a TIMESTAMP_NTZ
TYPED = {
    "TINYINT": ([-128, 0, 1, 2, 127], ["1.5D", "1.5", "300", "CAST(NULL AS INT)", "' 1 '"]),
    "BIGINT": ([-(2**63), 0, 2**53 + 1, 2**63 - 1], ["9007199254740993", "9007199254740992.5", "1.0D"]),
    "FLOAT": ([-math.inf, -0.0, 0.10000000149011612, 1.5, math.inf, math.nan], ["0.1D", "0.1F", "0", "double('NaN')"]),
    "DOUBLE": ([-math.inf, -0.0, 0.0, 5e-324, 1.5, math.nan], ["0", "1.5", "-0.0D", "double('Infinity')"]),
    "DECIMAL(5,2)": ([Decimal("-999.99"), Decimal("0.00"), Decimal("1.25")], ["1.25", "1.249", "1", "1.25D"]),
    "STRING": (["", "a", CUT, CUT + "y", "\U0010ffff" * 40, "é"], ["'a'", f"'{CUT}'", f"'{CUT}yz'", "'b'"]),
    "DATE": ([dt.date.min, dt.date(2020, 2, 29), dt.date(2020, 3, 1)], ["'2020-02-29'", "DATE'2020-03-01'"]),
    "TIMESTAMP": (
        [MOMENT.replace(tzinfo=dt.UTC), MOMENT.replace(microsecond=123_999, tzinfo=dt.UTC)],
        ["TIMESTAMP'2020-02-29 12:00:00.123456Z'", "TIMESTAMP'2020-02-29 12:00:00.1235Z'", "DATE'2020-02-29'"],
    ),
    "TIMESTAMP_NTZ": ([MOMENT, MOMENT.replace(microsecond=0)], ["TIMESTAMP_NTZ'2020-02-29 12:00:00.123456'"]),
    "BOOLEAN": ([False, True], ["TRUE", "FALSE"]),
}
LAYOUTS = [
    TargetLayout(statistics=Statistics.ALTERNATE),
    TargetLayout(statistics=Statistics.COUNTS),
    TargetLayout(vectors=Vectors.INLINE),
]


@pytest.mark.parametrize(
    ("kind", "layout"),
    [*((kind, TargetLayout()) for kind in (*TYPED, "STRUCT")), *(("TIMESTAMP", layout) for layout in LAYOUTS)],
)
def test_bounds_of_every_type(kind: str, layout: TargetLayout, merges: MergeReference) -> None:
    """Files of one and two values, with NULL: a file with a match is read; without one, one exact value decides."""
    is_struct = kind == "STRUCT"
    values, constants = TYPED["TINYINT" if is_struct else kind]
    column, schema = ("t.x.f", "x STRUCT<f: TINYINT>") if is_struct else ("t.x", f"x {kind}")
    cells: list[Any] = [None, *((value,) for value in values)] if is_struct else [None, *values]
    files = tuple(((low,), (high,)) for place, low in enumerate(cells) for high in cells[place:])
    target = Target(schema=parse_schema(schema), files=files, layout=layout)
    one_row = Source(schema=SOURCE.schema, rows=((1, 1),))
    skipped = 0
    for sign, constant in product(("<", "<=>"), constants):
        on = f"{column} {sign} {constant}"
        sql = f"MERGE INTO target t USING source s ON {on} WHEN NOT MATCHED THEN INSERT (x) VALUES (NULL)"
        case = Case(id=kind, target=target, source=one_row, sql=sql)
        trace = merges.evaluate(case).trace
        assert trace.matches is not None
        matched = {trace.files[rid] for _, rid in trace.matches.pairs}
        needs = needs_of(case, merges)
        assert not [need for need in needs if need.need is Need.SKIP and need.number in matched], sql
        skipped += sum(need.need is Need.SKIP for need in needs)
    assert skipped or layout.statistics is Statistics.COUNTS


def test_partitions_exclude_by_any_condition_and_the_source_by_its_keys(merges: MergeReference) -> None:
    target = Target(
        schema=parse_schema("id INT, p STRING"),
        files=(((1, "a"), (2, "a")), ((11, "b"), (12, "b")), ((21, None),)),
        partition_by=("p",),
    )
    source = Source(schema=parse_schema("id INT"), rows=((11,),))
    sql = "MERGE INTO target t USING source s ON t.id = s.id AND upper(t.p) = 'B' WHEN MATCHED THEN DELETE"
    case = Case(id="partitions", target=target, source=source, sql=sql)
    first, second, third = needs_of(case, merges)
    assert (first.need, first.excluded_by, first.reason) == (Need.SKIP, ExcludedBy.STATEMENT, "UPPER(t.p) = 'B'")
    assert (second.need, second.num_changed, second.num_rows) == (Need.REWRITE, 1, 2)
    assert (third.need, third.excluded_by) == (Need.SKIP, ExcludedBy.STATEMENT)
    first, _, third = needs_of(
        Case(id="keys", target=target, source=source, sql=sql.replace("upper(t.p) = 'B'", "TRUE")), merges
    )
    assert (first.need, first.excluded_by, third.excluded_by) == (Need.SKIP, ExcludedBy.SOURCE, ExcludedBy.SOURCE)


def test_a_column_of_any_type_that_holds_nothing_but_null_decides_a_condition(merges: MergeReference) -> None:
    target = Target(schema=parse_schema("a INT, m MAP<STRING, INT>"), files=(((1, None),), ((1, (("k", 1),)),)))
    sql = "MERGE INTO target t USING source s ON t.a = s.k AND size(t.m) = 1 WHEN MATCHED THEN DELETE"
    first, second = needs_of(Case(id="map", target=target, source=SOURCE, sql=sql), merges)
    assert (first.need, first.excluded_by, second.need) == (Need.SKIP, ExcludedBy.STATEMENT, Need.REWRITE)


def test_a_refused_merge_has_no_needs(merges: MergeReference) -> None:
    sql = "MERGE INTO target t USING source s ON t.a = s.k WHEN MATCHED THEN UPDATE SET b = s.missing"
    case = Case(id="refused", target=TARGET, source=SOURCE, sql=sql)
    assert file_needs(case, merges.evaluate(case)) == UnknownNeeds("a merge that is refused or not predicted")


def test_the_oracle_never_excludes_a_row_that_changes(merges: MergeReference) -> None:
    """Random cases of every shape: rows that the reference changes lie in no file that the bounds exclude."""
    stream, found = strategies.Stream(strategies.cases()), Counter[Need]()
    for index in range(150):
        case = stream.draw(77, index)
        needs = file_needs(case, merges.evaluate(case))
        for need in () if isinstance(needs, UnknownNeeds) else needs:
            assert need.need is not Need.REWRITE or need.excluded_by is None, case
            found[need.need] += 1
    assert min(found.values()) > 10, found
