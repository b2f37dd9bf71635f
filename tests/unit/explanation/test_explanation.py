"""An explanation describes every row by the reference, and names the alternative that an engine's result is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.engine import Capabilities
from mergecheck.harness.explanation.alternatives import alternatives
from mergecheck.harness.explanation.explanation_text import pair_lines, why_lines
from mergecheck.harness.explanation.implied import implied
from mergecheck.harness.explanation.row_stories import RowOutcome, row_stories
from mergecheck.harness.oracles.reference_engine import answered
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.report.document import CaseDocument, case_document
from mergecheck.harness.report.explanation_json import explanation_json
from mergecheck.harness.report.mismatch import MAX_LINES, mismatch_report
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Outcome
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference, evaluate

if TYPE_CHECKING:
    from mergecheck.model.outcome import EngineResult

SCHEMA = parse_schema("k INT, v STRING")
ON = "MERGE INTO target t USING source s ON t.k = s.k"
CASE = Case(
    id="demo",
    target=Target(schema=SCHEMA, files=(((1, None), (2, "a"), (None, "z")), ((3, "b"),))),
    source=Source(schema=SCHEMA, rows=((1, "x"), (2, "y"), (7, "n"), (None, None))),
    sql=f"{ON} WHEN MATCHED AND t.v <> 'q' THEN UPDATE SET v = s.v WHEN MATCHED AND t.k > 1 THEN DELETE "
    "WHEN NOT MATCHED AND s.k > 5 THEN INSERT *",
)


class Instead:
    """Answers with the reference's answer on another statement, or another source."""

    name = "instead"
    version = "1"
    capabilities = Capabilities()

    def __init__(self, sql: str, rows: tuple[tuple[object, ...], ...] | None = None) -> None:
        self._sql = sql
        self._rows = rows

    def run(self, case: Case) -> EngineResult:
        source = case.source
        if source is not None and self._rows is not None:
            source = replace(source, rows=self._rows)
        return answered(evaluate(replace(case, sql=self._sql, source=source)).answer)

    def close(self) -> None:
        pass


def test_every_row_is_told_of() -> None:
    """What matched, what each condition and its columns were, which clause applied, what became of the row, and why."""
    reference = MergeReference().evaluate(CASE, every_pair=True)
    assert why_lines(CASE, reference, width=100) == [
        "target 1 (1, NULL) is matched by source 1",
        "  clause 1 does not apply: t.v <> 'q' is NULL (t.v = NULL)",
        "  clause 2 does not apply: t.k > 1 is FALSE (t.k = 1)",
        "  no clause applies",
        "  -> copied as it is, with its file",
        "target 2 (2, 'a') is matched by source 2",
        "  clause 1 applies: t.v <> 'q' is TRUE (t.v = 'a')",
        "  -> updated to (2, 'y')",
        "target 3 (NULL, 'z') has no match; ON is NULL with source 1, 2, 3, 4",
        "  no clause is for it",
        "  -> copied as it is, with its file",
        "target 4 (3, 'b') has no match; ON is NULL with source 4",
        "  no clause is for it",
        "  -> left as it is",
        "source 3 (7, 'n') has no match; ON is NULL with target 3",
        "  clause 3 applies: s.k > 5 is TRUE (s.k = 7)",
        "  -> inserted as (7, 'n')",
        "source 4 (NULL, NULL) has no match; ON is NULL with target 1, 2, 3, 4",
        "  clause 3 does not apply: s.k > 5 is NULL (s.k = NULL)",
        "  no clause applies",
        "  -> not inserted",
        "file 1 touched: it holds a row with a match (R-410 touched files)",
        "file 2 not touched: none of its rows has a match (R-410 touched files)",
        "path D: the touched files are rewritten (R-402 the execution paths); a table version is created",
    ]


def test_pairs_are_shown_if_they_were_asked_for() -> None:
    """The value of ON and of its columns, pair by pair."""
    reference = MergeReference().evaluate(CASE, every_pair=True)
    lines = pair_lines(CASE, reference.trace, width=100)
    assert len(lines) == 4 * 4
    assert lines[0] == "target 1, source 1: TRUE   t.k = 1, s.k = 1"
    assert lines[3] == "target 1, source 4: NULL   t.k = 1, s.k = NULL"
    assert pair_lines(CASE, evaluate(CASE).trace, width=100) == []


def test_a_field_is_shown_with_its_column() -> None:
    """With the table in front or without."""
    schema = parse_schema("k INT, n STRUCT<a: INT>")
    case = Case(
        id="nested",
        target=Target(schema=schema, files=(((1, (5,)),),)),
        source=Source(schema=parse_schema("k INT"), rows=((1,),)),
        sql=f"{ON} WHEN MATCHED AND t.n.a > 7 AND n.a > 8 THEN DELETE",
    )
    lines = why_lines(case, evaluate(case), width=100)
    assert lines[1] == "  clause 1 does not apply: t.n.a > 7 AND n.a > 8 is FALSE (t.n = {a: 5}, n = {a: 5})"


def test_lines_keep_to_their_width() -> None:
    """Also on a narrow terminal; a column and its value stay together."""
    lines = why_lines(CASE, MergeReference().evaluate(CASE, every_pair=True), width=40)
    assert max(map(len, lines)) <= 40
    assert any("t.v = NULL" in line for line in lines)


def test_ambiguous_matches_and_refusals_are_told() -> None:
    """A merge that is refused has matches, but nothing became of its rows; one refused at analysis has no rows."""
    twice = replace(CASE, source=Source(schema=SCHEMA, rows=((1, "x"), (1, "y"))))
    stories = list(row_stories(twice, evaluate(twice)))
    assert (stories[0].partners, {story.outcome for story in stories}) == ((1, 2), {RowOutcome.UNKNOWN})
    shown = why_lines(twice, evaluate(twice), width=160)
    assert shown[0] == "target 1 (1, NULL) is matched by source 1, 2"
    assert shown[1].startswith(
        "  -> several source rows match it, so the merge is refused, whatever clauses would do (R-320"
    )
    assert shown[3] == "  -> nothing happens to it: the merge is refused for another row"
    cut = why_lines(twice, evaluate(twice), width=100, max_rows=0)
    assert cut[1:] == ["  target 1 is matched by source 1, 2", cut[-1]], "also where the rows are not shown"
    last = why_lines(twice, evaluate(twice), width=100)[-1]
    assert last == "refused on these rows: DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
    wrong = replace(CASE, sql=f"{ON} WHEN MATCHED AND t.nothing THEN DELETE")
    assert why_lines(wrong, evaluate(wrong), width=100) == [
        "refused before rows are read: DELTA_MERGE_UNRESOLVED_EXPRESSION"
    ]
    pairs = replace(twice, sql=f"{ON} WHEN MATCHED THEN DELETE")
    lines = why_lines(pairs, evaluate(pairs), width=100)
    assert lines[:6] == [
        "target 1 (1, NULL) is matched by source 1, 2",
        "  with source 1:",
        "    clause 1 applies: it has no condition",
        "  with source 2:",
        "    clause 1 applies: it has no condition",
        "  -> deleted",
    ]


def test_the_document_says_the_same() -> None:
    """As JSON, in the case file's own values."""
    document = explanation_json(
        CaseDocument(case=CASE, reference=MergeReference().evaluate(CASE, every_pair=True), report=None),
        with_pairs=True,
    )
    assert (document["path"], document["touched_files"], len(document["pairs"])) == ("D", [1], 16)
    first = document["rows"][0]
    assert (first["row"], first["matched_by"], first["became"], first["after"]) == ([1, None], [1], "copied", None)
    assert [one["value"] for one in first["tried"][0]["clauses"]] == [None, False]
    assert document["rows"][1]["after"] == [2, "y"]


MATCHED, ABSENT, BY_SOURCE = "WHEN MATCHED", "WHEN NOT MATCHED", "WHEN NOT MATCHED BY SOURCE"


@pytest.mark.parametrize(
    ("clauses", "instead", "hypothesis"),
    [
        (
            f"{MATCHED} AND t.v <> 'q' THEN DELETE",
            f"{ON} {MATCHED} AND coalesce(t.v <> 'q', TRUE) THEN DELETE",
            "as if NULL counted as TRUE in clause 1",
        ),
        (
            f"{MATCHED} AND NOT (t.v = 'q') THEN DELETE",
            f"{ON} {MATCHED} AND NOT coalesce(t.v = 'q', FALSE) THEN DELETE",
            "as if a comparison with NULL counted as FALSE in clause 1",
        ),
        (
            f"{ABSENT} THEN INSERT *",
            f"{ON.replace('=', '<=>')} {ABSENT} THEN INSERT *",
            "as if ON used <=> for =",
        ),
        (
            f"{MATCHED} AND t.k > 0 THEN UPDATE SET v = 'one' {MATCHED} AND t.k > 1 THEN DELETE",
            f"{ON} {MATCHED} AND t.k > 1 THEN DELETE {MATCHED} AND t.k > 0 THEN UPDATE SET v = 'one'",
            "as if clause 2 came before clause 1",
        ),
        (
            f"{MATCHED} AND t.k > 1 THEN DELETE {ABSENT} THEN INSERT *",
            f"{ON} {ABSENT} THEN INSERT *",
            "as if clause 1 were not there",
        ),
        (f"{MATCHED} AND t.k > 1 THEN DELETE", f"{ON} {MATCHED} THEN DELETE", "as if clause 1 had no condition"),
        (
            f"{MATCHED} AND t.k > 1 THEN DELETE",
            f"{ON} {MATCHED} AND t.k > 1 THEN DELETE {BY_SOURCE} THEN DELETE",
            "as if clause 1 also deleted rows without a match",
        ),
        (
            f"{MATCHED} THEN UPDATE SET v = s.v",
            f"{ON} {MATCHED} THEN UPDATE SET v = NULL",
            "as if clause 1 set v to NULL",
        ),
        (f"{MATCHED} THEN UPDATE SET v = s.v", f"{ON} {MATCHED} THEN DELETE", "as if clause 1 deleted the row"),
    ],
)
def test_the_alternative_that_agrees_is_named(clauses: str, instead: str, hypothesis: str) -> None:
    """An engine that does something else is found out; every alternative named is one that agrees."""
    case = replace(CASE, sql=f"{ON} {clauses}")
    report = check_case(case, Instead(instead))
    found = implied(report, reference=evaluate, capabilities=Capabilities())
    assert report.verdict is Verdict.MISMATCH
    assert hypothesis in [one.hypothesis for one in found]
    by_reading = {one.hypothesis: one.case for one in alternatives(case, report.reference.trace)}
    assert isinstance(report.result, Outcome)
    for one in found:
        other = answered(evaluate(by_reading[one.hypothesis]).answer)
        assert isinstance(other, Outcome)
        assert sorted(other.rows, key=repr) == sorted(report.result.rows, key=repr)
    text = mismatch_report(case_document(report, hypotheses=tuple(map(str, found)), where="k.json"))
    assert text.splitlines()[0] == f"MISMATCH  acts {found[0]}"
    assert len(text.splitlines()) <= MAX_LINES


@pytest.mark.parametrize(("rows", "word"), [(((1, "x"),), "first"), (((1, "y"),), "last")])
def test_one_of_several_matches_may_win(rows: tuple[tuple[object, ...], ...], word: str) -> None:
    """The reference refuses; the engine takes the first or the last match."""
    source = Source(schema=SCHEMA, rows=((1, "x"), (1, "y")))
    twice = replace(CASE, source=source, sql=f"{ON} WHEN MATCHED THEN UPDATE SET *")
    report = check_case(twice, Instead(twice.sql, rows))
    found = implied(report, reference=evaluate, capabilities=Capabilities())
    assert [one.hypothesis for one in found] == [f"as if the {word} of several matches of a row won"]


def test_many_matches_are_looked_at_once() -> None:
    """Of 40,000 pairs of rows, looking at each once per pair took minutes."""
    rows = tuple((number, "a") for number in range(200))
    case = replace(
        CASE,
        target=replace(CASE.target, files=(rows,)),
        source=Source(schema=SCHEMA, rows=rows),
        sql="MERGE INTO target t USING source s ON TRUE WHEN MATCHED THEN DELETE",
    )
    by_reading = {one.hypothesis: one.case for one in alternatives(case, evaluate(case).trace)}
    for word, row in (("first", rows[0]), ("last", rows[-1])):
        source = by_reading[f"as if the {word} of several matches of a row won"].source
        assert source is not None
        assert source.rows == (row,)


def test_nothing_is_named_that_does_not_agree() -> None:
    """An engine with rows of its own is no alternative; an engine that agrees needs none."""
    strange = check_case(CASE, _Strange(CASE.sql))
    assert strange.verdict is Verdict.MISMATCH
    assert implied(strange, reference=evaluate, capabilities=Capabilities()) == ()
    agreeing = check_case(CASE, Instead(CASE.sql))
    assert implied(agreeing, reference=evaluate, capabilities=Capabilities()) == ()


class _Strange(Instead):
    """Adds a row."""

    def run(self, case: Case) -> EngineResult:
        result = super().run(case)
        assert isinstance(result, Outcome)
        return replace(result, rows=(*result.rows, (99, "from nowhere")))
