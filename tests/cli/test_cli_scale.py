"""``mergecheck lab scale`` with an engine that needs no Spark: it rejects every merge."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.cli.verbs import scale
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.lab.scale.judge import Merged
from mergecheck.harness.lab.scale.scale_run import Limits
from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.case_file import load_cases
from mergecheck.model.outcome import Rejection

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck

    from mergecheck.model.case import Case

REJECTION = Rejection(
    error_class="DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE", message="never", unchanged=True
)
SIZE = ("--rows", "600", "--files", "8", "--memory-limit", "1GB", "--work", "work")


class Never:
    """Rejects large merges and small cases alike."""

    name = "pyspark"
    version = "0"
    capabilities = Capabilities()
    is_up = True

    def merge(self, _tables: Any, _sql: str) -> Merged:
        if not self.is_up:
            raise EngineDownError("Spark is gone")
        return Merged(rejection=REJECTION)

    def small(self) -> Never:
        return self

    def run(self, _case: Case) -> Rejection:
        return REJECTION

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Never:
    never = Never()
    monkeypatch.setattr(scale, "open_scale_engine", lambda *_args, **_options: never)
    short = ShrinkLimits(max_runs=15, max_seconds=600)
    monkeypatch.setattr(scale, "Limits", functools.partial(Limits, shrink=short))
    return never


def test_a_merge_that_both_reject_ends_well(mergecheck: Mergecheck, engine: Never, folder: Path) -> None:
    ended = mergecheck("lab", "scale", "--shape", "ambiguous", "--seed", "1", *SIZE)
    assert ended.code == 0
    assert ended.out.startswith("BOTH REJECTED  ambiguous  600 + ")
    assert ended.out.endswith("both rejected 1  (seed 1)\n")
    assert "ambiguous-600-1  generate: 600 rows" in ended.err
    assert engine.is_closed
    assert not list((folder / "work").iterdir())


def test_a_mismatch_is_reduced_and_its_spec_runs_again(mergecheck: Mergecheck, engine: Never, folder: Path) -> None:
    """Exit code 1; the finding is an ordinary case, the spec the same large one."""
    ended = mergecheck("lab", "scale", "--shape", "upsert", "--seed", "1", *SIZE, "--json")
    assert ended.code == 1
    (found,) = ended.json["cases"]
    assert [mismatch["kind"] for mismatch in found["mismatches"]] == ["spurious_error"]
    (case,) = load_cases(folder / found["finding"])
    assert case.sql.startswith("MERGE INTO target t USING source s")
    spec = folder / ".mergecheck" / "findings" / "scale" / "upsert-600-1.json"
    again = mergecheck("lab", "scale", str(spec), "--memory-limit", "1GB", "--work", "work", "--json")
    assert again.code == 1
    assert again.json["cases"][0]["spec"] == found["spec"]
    assert engine.is_closed


def test_what_the_reference_cannot_judge_is_inconclusive(mergecheck: Mergecheck, engine: Never, folder: Path) -> None:
    ended = mergecheck("lab", "scale", "--shape", "upsert", "--seed", "1", *SIZE, "--json")
    spec = folder / ".mergecheck" / "findings" / "scale" / "upsert-600-1.json"
    text = spec.read_text(encoding="utf-8").replace("ON t.k = s.k", "ON t.k = s.k AND 1 / t.qty > 0")
    spec.write_text(text, encoding="utf-8")
    ended = mergecheck("lab", "scale", str(spec), "--memory-limit", "1GB", "--work", "work")
    assert ended.code == 4
    assert "not judged: reference: a condition that may fail on some pair of rows" in ended.out
    assert engine.is_closed


def test_an_engine_that_is_down_ends_the_run(mergecheck: Mergecheck, engine: Never, folder: Path) -> None:
    engine.is_up = False
    ended = mergecheck("lab", "scale", "--shape", "upsert", *SIZE)
    assert (ended.code, ended.out) == (3, "")
    assert "error: Spark is gone" in ended.err
    assert not list((folder / "work").iterdir())
