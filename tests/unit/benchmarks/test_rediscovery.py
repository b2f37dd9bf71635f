"""The page of released versions: what counts as one observed, of which kind, and as another cause."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.properties.vocabulary import AUTO_MERGE
from mergecheck.harness.verdict import CaseReport, Check, Mismatch, Verdict
from mergecheck.model.case import Case, Source, Target
from mergecheck.model.case_file import dump_case
from mergecheck.model.outcome import Rejection
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference.answer import Reference
from tools.benchmarks.rediscovery.findings import Seen, findings, shows
from tools.benchmarks.rediscovery.known import KNOWN
from tools.benchmarks.rediscovery.page import Cell, cells, num_causes, shares, table
from tools.benchmarks.rediscovery.runs import Part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.model.outcome import EngineResult

SCHEMA = parse_schema("id INT")
CASE = Case(
    id="x",
    target=Target(schema=SCHEMA, files=(((1,),),)),
    source=Source(schema=SCHEMA, rows=((1,),)),
    sql="MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE",
    conf={},
)
EXTRA = Mismatch(check=Check.ROWS, against="reference", kind="extra_rows", lines=())
MISSING = Mismatch(check=Check.ROWS, against="reference", kind="missing_rows", lines=())
METRICS = Mismatch(check=Check.METRICS, against="reference", kind="numOutputRows", lines=())
FAILS = Mismatch(check=Check.ERROR, against="reference", kind="spurious_error", lines=())


def seen(name: str, *, shown: Mapping[str, bool] | None = None) -> Seen:
    return Seen(
        kind="rows",
        text="rows extra_rows against reference",
        observed="rows extra_rows",
        num_cases=1,
        path=Path(f"{name}.json"),
        shown=shown or {},
    )


def report(verdict: Verdict, *mismatches: Mismatch, result: EngineResult | None = None) -> CaseReport:
    return CaseReport(
        case=CASE,
        engine="e",
        engine_version="1",
        verdict=verdict,
        reference=Reference(answer=Rejection(error_class="", message="", unchanged=True)),
        result=result,
        mismatches=mismatches,
    )


def test_findings_are_counted_by_kind_and_symptom(tmp_path: Path) -> None:
    plain = replace(CASE, conf={AUTO_MERGE: "false"})
    evolving = replace(
        CASE,
        target=replace(CASE.target, schema=parse_schema("id INT, p INT"), files=(((1, 2),),), partition_by=("p",)),
        sql=CASE.sql.replace("MERGE INTO", "MERGE WITH SCHEMA EVOLUTION INTO"),
    )
    fingerprints = {
        "a": ("e: rows extra_rows against reference", plain),
        "b": ("e: rows extra_rows against reference", plain),
        "c": ("e: rows extra_rows against reference", evolving),
        "d": ("e: error no_error against reference (CLASS)", plain),
        "e": ("e: error spurious_error against reference (DeltaError: no field)", plain),
        "f": ("e: metrics P-10-files against itself", plain),
        "g": ("e: cdf missing_rows against reference", plain),
    }
    for name, (_, case) in fingerprints.items():
        (tmp_path / f"{name}.json").write_text(dump_case(case), encoding="utf-8")
    document = {
        "findings": [{"id": name, "fingerprint": text, "num_cases": 2} for name, (text, _) in fingerprints.items()]
    }
    again = {"findings": [{"id": "a", "fingerprint": fingerprints["a"][0], "num_cases": 5}]}
    found = findings([Part(document, tmp_path), Part(again, tmp_path)])
    assert [found[name].num_cases for name in "ab"] == [7, 2]
    assert {name: one.kind for name, one in found.items()} == {
        "a": "rows",
        "b": "rows",
        "c": "rows",
        "d": "no error",
        "e": "error",
        "f": "metrics",
        "g": "cdf",
    }
    assert [found[name].observed for name in "abcde"] == [
        "rows extra_rows",
        "rows extra_rows",
        "rows extra_rows with evolution partitioned",
        "CLASS",
        "DeltaError: no field",
    ]
    engine = KNOWN[0].engine
    found["a"] = replace(found["a"], shown={engine: True, KNOWN[1].engine: False})
    found["b"] = replace(found["b"], shown={engine: True, KNOWN[1].engine: True})
    counts = [Part({"num_cases": 8, "verified": 5}, tmp_path), Part({"num_cases": 2, "verified": 0}, tmp_path)]
    *_, line = table(cells({engine: found}), {engine: counts})
    assert line.startswith(f"| {engine} | 10 | 50% | {KNOWN[0].causes} | {KNOWN[0].by_kind[0]} / 2-3 | ")


def test_findings_have_different_causes_if_a_version_shows_one_alone() -> None:
    """A version without an answer is no evidence, however the other finding fares there."""
    both, first, hidden = {"1": True, "2": True}, {"1": True, "2": False}, {"1": True}
    assert num_causes([]) == 0
    assert num_causes([seen("a", shown=both), seen("b", shown=both), seen("c", shown=hidden)]) == 1
    assert num_causes([seen("a", shown=both), seen("b", shown=first), seen("c", shown=hidden)]) == 2
    assert num_causes([seen("a"), seen("b", shown={"2": False}), seen("c", shown={"1": False})]) == 1


@pytest.mark.parametrize(
    ("told", "of"),
    [
        (True, report(Verdict.MISMATCH, EXTRA, METRICS)),
        (False, report(Verdict.AGREE)),
        (False, report(Verdict.MISMATCH, METRICS)),
        (None, report(Verdict.MISMATCH, MISSING)),
        (None, report(Verdict.MISMATCH, FAILS, result=Rejection(error_class="E", message="no", unchanged=True))),
        (None, report(Verdict.UNSUPPORTED)),
        (None, report(Verdict.ENGINE_ERROR)),
    ],
)
def test_a_version_shows_a_finding_or_not_or_hides_it(*, told: bool | None, of: CaseReport) -> None:
    assert shows(of, seen("a")) is told


def test_what_is_found_beyond_the_known_causes_of_a_kind_does_not_count() -> None:
    counted = {"a@1": [Cell(known=3, least=1, most=9), Cell(known=0, least=2, most=2)], "b@1": [Cell(1, 0, 1)]}
    assert shares(counted) == {"known": "4", "least": "25%", "most": "100%"}
