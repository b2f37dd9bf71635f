"""A page as a browser gets it: well-formed, closed to the outside, readable without colours, safe from case data."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections import Counter
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsed_html import check_page

from mergecheck.harness.cli.html.heat import level_of
from mergecheck.harness.cli.html.page import MAX_LEVEL
from mergecheck.harness.cli.html.random_cases.fuzz import FuzzRun, fuzz_page
from mergecheck.harness.cli.html.random_cases.trend import MAX_RUNS, trend_part
from mergecheck.harness.cli.html.rendering import MAX_TEXT, page_html
from mergecheck.harness.cli.html.saved_cases import ShownCase, replay_page
from mergecheck.harness.cli.html.variants import variants_page
from mergecheck.harness.deviations.registry import Deviations
from mergecheck.harness.findings.fingerprint import fingerprint
from mergecheck.harness.findings.store import Finding
from mergecheck.harness.properties.limits import Limits
from mergecheck.harness.properties.statistics import Counts, Stop, Summary
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.events import FindingSaved
from mergecheck.harness.report.fuzz_figures import RunFigures
from mergecheck.harness.variants.counts import Counts as VariantCounts
from mergecheck.harness.variants.finding import VariantFinding
from mergecheck.harness.variants.plans import PlanFingerprint
from mergecheck.harness.variants.variant import EngineAxes
from mergecheck.harness.verdict import CaseReport, Check, ExitCode, Mismatch, Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.outcome import Outcome, Prediction, Rejection
from mergecheck.model.types.data_types import STRING, Field, Schema
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate
from tools.selfcheck.catalogue import load_catalogue
from tools.selfcheck.page import selfcheck_page
from tools.selfcheck.score import score
from tools.selfcheck.score_text import markdown, summary_lines
from tools.selfcheck.shrinking import Shrunk
from tools.selfcheck.trial import Kill, SeedResult

SCHEMA = parse_schema("id BIGINT, v STRING")
SQL = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</style><style>*{display:none}",
    "</title></textarea></pre><h1>",
    "{{ 7 * 7 }} {% raw %}",
    "\u202egnp.exe",
    "a\x00b\x1b[31m\r\n\t\x7f\x85\u2028\ufeff",
    "&lt;b&gt; &amp;#x3c;",
    "'onmouseover='x",
    "\ud800",
    "=cmd|' /C calc'!A0",
)
MADE = dt.datetime(2026, 1, 2, 3, 4, tzinfo=dt.UTC)


def report(schema: Schema = SCHEMA, *, value: str = "x", wrong: str = "y", name: str = "upsert") -> CaseReport:
    """An engine that stores another text than the reference, in the last column."""
    width = len(schema.columns) - 2
    row, new = (1, *["a"] * width, "a"), (1, *["a"] * width, value)
    case = Case(
        id=name,
        target=Target(schema=schema, files=((row, (7, *["a"] * width, "same")),)),
        source=Source(schema=schema, rows=(new,)),
        sql=SQL,
    )
    reference = evaluate(case)
    answer = reference.answer
    assert isinstance(answer, Prediction)
    found = tuple((*row[:-1], wrong) if row[0] == 1 else row for row in answer.rows)
    return CaseReport(
        case=case,
        engine="fake",
        engine_version="1.0",
        verdict=Verdict.MISMATCH,
        reference=reference,
        result=Outcome(schema=schema, rows=found, metrics={"numTargetRowsUpdated": 2}),
        mismatches=(
            Mismatch(check=Check.ROWS, against="reference", kind="changed_rows", lines=(f"~ v: {value} {wrong}",)),
            Mismatch(check=Check.METRICS, against="reference", kind="numTargetRowsUpdated", lines=("2, not 1",)),
        ),
    )


def html(*reports: CaseReport, not_read: tuple[str, ...] = ()) -> str:
    page = replay_page(
        [
            ShownCase(
                document=case_document(one, where=f"{one.case.id}.json", hypotheses=("as if NULL counted as TRUE",))
            )
            for one in reports
        ],
        engine="fake",
        not_read=not_read,
        num_left=0,
        deviations=Deviations(),
        code=ExitCode.MISMATCH,
    )
    return page_html(page, made=MADE)


def test_a_mismatch_is_shown_side_by_side() -> None:
    """Verdict first, then findings, doubts and the rest; the differing cells and metrics are marked."""
    page = check_page(html(report()))
    titles = [heading.text.strip() for heading in page.all("h2")]
    assert titles == [
        "Findings",
        "What could make this meaningless",
        "Known deviations",
        "Coverage",
        "Time and throughput",
    ]
    tables = {table.children[0].text: table for table in page.all("table")}
    rows = tables["Rows after the merge"]
    assert [mark.children[-1].tag for mark in rows.all("mark")] == ["span", "span"]
    assert [mark.contents[-1] for mark in rows.all("mark")] == ["'x'", "'y'"]
    assert [row.children[0].text.split()[-1] for row in rows.all("tbody")[0].all("tr")] == ["differs", "same"]
    metrics = tables["Outcome and metrics"]
    (differing,) = (row for row in metrics.all("tr") if row.all("mark"))
    assert differing.children[0].text == "numTargetRowsUpdated"
    said = page.all("main")[0].text
    for text in ("as if NULL counted as TRUE", "mergecheck replay upsert.json", "clause 1 applies", "-- clause 1"):
        assert text in said


def test_an_observable_is_named_once() -> None:
    """Missing and extra rows are below one name, the metric below its own."""
    changed, metric = report().mismatches
    extra = Mismatch(check=Check.ROWS, against="reference", kind="extra_rows", lines=("1 row is extra", "+ (2, 'x')"))
    page = check_page(html(replace(report(), mismatches=(changed, extra, metric))))
    names = [strong.text for strong in page.all("strong")]
    assert [name for name in names if name in ("rows", "metrics")] == ["rows", "metrics"]
    assert "+ (2, 'x')" in page.all("main")[0].text


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:8]))
def test_hostile_texts_stay_texts(text: str) -> None:
    """In every place that a case or an engine can fill: the page has the elements that it has for a harmless text."""
    plain, hostile = (
        html(filled("x" if harmless else text), not_read=("x" if harmless else text,)) for harmless in (True, False)
    )
    shapes = [[element.tag for element in check_page(page).all()] for page in (plain, hostile)]
    assert shapes[0] == shapes[1]


def filled(text: str) -> CaseReport:
    schema = Schema((*SCHEMA.columns[:1], Field(text, STRING)))
    base = report()
    case = replace(
        base.case,
        id=text,
        sql=f"MERGE INTO target USING source ON '{text}' WHEN MATCHED AND '{text}' THEN DELETE",
        conf={text: text},
        target=Target(schema=schema, files=(((1, text),),), properties={text: text}, partition_by=(text,)),
        source=Source(schema=schema, rows=((2, text),)),
    )
    answer = base.reference.answer
    assert isinstance(answer, Prediction)
    wanted = replace(answer, schema=schema, rows=((1, text),), cdf=((1, text, text),))
    return replace(
        base,
        case=case,
        engine=text,
        engine_version=text,
        reference=replace(base.reference, answer=wanted, asked=(text,)),
        result=Rejection(error_class=text, message=text),
        reason=text,
        unknown_columns=(text,),
        unsupported_metrics=(text,),
        mismatches=(Mismatch(check=Check.ERROR, against=text, kind=text, lines=(text,)),),
    )


@settings(max_examples=8)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_value_can_be_shown(value: str, wrong: str) -> None:
    check_page(html(report(value=value, wrong=wrong)))


def test_long_values_and_many_columns_and_rows() -> None:
    """A very long text keeps its ends, wide tables keep all columns, long tables are cut and end with a note."""
    wide = Schema((*SCHEMA.columns[:1], *(Field(f"c{number}", STRING) for number in range(200))))
    text = html(report(wide, value="v" * 100_000, wrong="w" * 100_000))
    page = check_page(text)
    assert len(text) < 400_000
    assert max(map(len, (cell.text for cell in page.all("td")))) < MAX_TEXT
    assert "99,602 characters" in text
    many = report()
    rows = tuple((number, "a") for number in range(500))
    case = replace(many.case, target=Target(schema=SCHEMA, files=(rows,)))
    many = replace(many, case=case, reference=evaluate(case))
    assert "450 more rows are not shown" in check_page(html(many)).text


def test_rows_of_a_broken_engine() -> None:
    """Fewer and more columns than the reference, values that no column has, no columns at all."""
    base = report()
    for schema, rows in (
        (parse_schema("id BIGINT"), ((1,), (2,))),
        (SCHEMA, ((1, "x", "too many"), (1,), (object(), ["list"]))),
        (Schema(()), ((),)),
    ):
        check_page(html(replace(base, result=Outcome(schema=schema, rows=rows))))
    check_page(html(replace(base, result=None, verdict=Verdict.ENGINE_ERROR, reason="down", mismatches=())))


def test_a_run_of_nothing() -> None:
    summary = Summary(seed=1, stop=Stop.INTERRUPTED, seconds=0.0, counts=Counts())
    run = FuzzRun(engine="fake 1.0", limits=Limits(), missed=(), again="mergecheck fuzz")
    page = check_page(
        page_html(fuzz_page(summary, [], run=run, deviations=Deviations(), code=ExitCode.INTERRUPTED), made=MADE)
    )
    assert "INTERRUPTED" in page.all("h1")[0].text


def test_a_finding_of_a_search() -> None:
    """With how it was found, and its case."""
    found = report()
    mark = fingerprint(found)
    assert mark is not None
    finding = Finding(
        fingerprint=mark,
        report=found,
        original=found.case,
        seed=5,
        num_cases=17,
        num_runs=30,
        seconds=2.0,
        cut_short=True,
        hypotheses=("as if clause 1 deleted the row",),
    )
    counts = Counts(num_cases=20, findings=Counter({finding.id: 2}))
    summary = Summary(seed=5, stop=Stop.BUDGET, seconds=4.0, counts=counts)
    run = FuzzRun(engine="fake 1.0", limits=Limits(), missed=(), again="mergecheck fuzz --seed 5")
    saved = [FindingSaved(finding=finding, path=Path("found.json"))]
    page = check_page(page_html(fuzz_page(summary, saved, run=run, deviations=Deviations(), code=ExitCode.MISMATCH)))
    assert "1 finding on fake 1.0; 0 of 20 cases verified (0%)." in page.all("h1")[0].text
    said = page.all("main")[0].text
    for text in (str(mark), "after 17 cases of seed 5; in 2 of the cases", "as if clause 1", "5.0 cases a second"):
        assert text in said


def figures(started: str, **changes: float) -> RunFigures:
    numbers = {"num_cases": 100, "num_judged": 90, "num_verified": 45, "num_deviating": 10, "num_unsupported": 20}
    others = {"num_repeated": 1, "num_findings": 0, "num_rules": 7, "num_pairs": 30, "seconds": 50.0}
    known = {**numbers, **others, **changes}
    return RunFigures(name="run.json", started=started, engine="e", engine_version="", phase_seconds={}, **known)  # type: ignore[arg-type]


def test_a_trend_over_several_runs() -> None:
    """Lines that are described for who does not see them, and a table with all figures; the newest run is first."""
    runs = (figures("2026-01-01T00:00:00+00:00"), figures("2026-01-02T00:00:00+00:00", num_verified=90, seconds=200.0))
    run = FuzzRun(engine="e", limits=Limits(), missed=(), again="mergecheck fuzz", runs=runs)
    summary = Summary(seed=1, stop=Stop.BUDGET, seconds=1.0, counts=Counts())
    page = check_page(page_html(fuzz_page(summary, [], run=run, deviations=Deviations(), code=ExitCode.AGREE)))
    drawings = page.all("svg")
    assert {one.attributes["role"] for one in drawings} == {"img"}
    assert drawings[0].attributes["aria-label"] == "Verified: 50% in the first run, 100% in this one"
    (line,) = drawings[0].all("polyline")
    assert (line.attributes["points"] or "").split() == ["0.0,48.0", "320.0,0.0"]
    assert [one.text for one in drawings[2].all("title")] == [
        "2026-01-01T00:00:00+00:00: 2.0",
        "2026-01-02T00:00:00+00:00: 0.5",
    ]
    (section,) = (one for one in page.all("section") if one.attributes["id"] == "trend")
    rows = [[cell.text for cell in row.all("th", "td")] for row in section.all("tr")]
    assert rows[0][:5] == ["Run", "Began", "Engine", "Cases", "Verified"]
    assert [row[1] for row in rows[1:]] == ["2026-01-02 00:00:00", "2026-01-01 00:00:00"]


def test_a_long_trend_is_cut() -> None:
    part = trend_part([figures(f"{i}") for i in range(MAX_RUNS + 1)])
    assert {len(chart.points) for chart in part.charts} == {len(part.tables[0].rows)} == {MAX_RUNS}
    assert part.tables[0].foot == "not shown: 1 older run"
    assert trend_part([]).is_empty


def test_levels_of_heat() -> None:
    assert [level_of(number, 1000) for number in (0, 1, 3, 30, 200, 1000)] == [0, 1, 2, 3, 4, MAX_LEVEL]
    assert level_of(1, 1) == MAX_LEVEL


INK = ("ink", "soft", "link")
PAIRS = (
    *itertools.product(INK, ("page", "card")),
    ("ink", "code"),
    *((name, f"{name}-back") for name in ("good", "bad", "warn", "plain", "mark")),
    *((name, "card") for name in ("good", "bad", "warn", "focus")),
    *(("heat-ink", f"heat-{level}") for level in range(MAX_LEVEL + 1)),
)


def style() -> str:
    folder = resources.files("mergecheck.harness.cli.html") / "templates"
    return (folder / "style.css").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_contrast(scheme: str) -> None:
    """At least 4.5:1 wherever text stands on a colour (WCAG 2.2, 1.4.3), in both schemes and on paper."""
    blocks = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))
        for block in re.findall(r":root \{(.*?)\}", style(), re.DOTALL)
    ]
    colours = blocks[("light", "dark", "print").index(scheme)]
    assert colours.keys() >= {name for pair in PAIRS for name in pair} - {"focus"}
    low = {pair: contrast(*(colours.get(name, "#000000") for name in pair)) for pair in PAIRS if "focus" not in pair}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_contrast_formula() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_every_colour_of_text_is_a_pair_above() -> None:
    """No rule of the style sheet names a colour of its own."""
    rules = re.sub(r":root \{.*?\}", "", style(), flags=re.DOTALL)
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b", rules) == []
    used = set(re.findall(r"[^-]color: var\(--([\w-]+)\)", rules))
    assert used <= {first for first, _ in PAIRS}


def test_selfcheck() -> None:
    """Solved and missed faults, the check that saw each, minimal cases."""
    faults = load_catalogue()[:3]
    kill = Kill(num_cases=4, checks=("rows",), num_runs=2)
    results = [
        SeedResult(seed=1, kills={faults[0].id: kill, faults[1].id: kill}, num_cases=10, seconds=5.0),
        SeedResult(seed=2, kills={faults[0].id: kill}, num_cases=10, seconds=5.0),
    ]
    size = {"num_target_rows": 1, "num_source_rows": 2, "num_clauses": 1, "num_runs": 9}
    small = Shrunk(fault=faults[0].id, index=3, **size, seconds=2, cut_short=True, sql=SQL)
    found = score(faults, results, max_cases=10, shrunk=[small])
    page = check_page(page_html(selfcheck_page(found, floor=0.95, code=ExitCode.INCONCLUSIVE)))
    assert "1 of 3 mutants found by every seed (33%; the floor is 95%)" in page.all("h1")[0].text
    said = page.all("main")[0].text
    for text in (f"{faults[1].id} (found by 1 of 2 seeds)", "solved: 1 of 3 faults", "2.0 cases a second", SQL):
        assert text in said
    assert "cut short by its limit" in said
    assert "1+2, 1, 2 s, cut short |" in markdown(found, version="1", date="today")
    assert "cut short by a limit: 1" in "\n".join(summary_lines(found))


def test_variants() -> None:
    """A difference under a variant, and one in the base."""
    found = report()
    mark = fingerprint(found)
    assert mark is not None
    variant = EngineAxes().singles[0]
    counts = VariantCounts(EngineAxes())
    counts.add_base(found, PlanFingerprint())
    findings = [
        VariantFinding(fingerprint=mark, report=found, explained=found, variant=one, found_with=one)
        for one in (variant, None)
    ]
    page = check_page(
        page_html(
            variants_page(counts, findings, engine="fake", required=("X",), again="again", code=ExitCode.MISMATCH)
        )
    )
    said = page.all("main")[0].text
    for text in ("1 case under 0 variants: 2 differences", variant.lines()[0].split()[0], "the base itself differs"):
        assert text in said
