"""A newcomer's first engine: cases that it takes, a fault found at once, reasons where nothing is judged."""

from __future__ import annotations

import itertools
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from mergecheck import Unsupported, Verdict, cases, check
from mergecheck.harness.lab.conformance.new_engine import write_new_engine
from mergecheck.harness.search.session import stream_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest_plugins = ["pytester"]
FEW_REFUSALS = 0.25
FAULT = {  # NULL keys match each other
    "[row for row in case.source.rows if row[key] is not None]": "list(case.source.rows)",
    "found = None if row[key] is None else by_key.get(row[key])": "found = by_key.get(row[key])",
    "{row[key] for row in case.target.rows if row[key] is not None}": "{row[key] for row in case.target.rows}",
    "if row[key] is not None)": ")",
}


@pytest.fixture
def template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_new_engine("my-engine", tmp_path / "my-engine")
    monkeypatch.syspath_prepend(tmp_path / "my-engine")
    yield tmp_path / "my-engine" / "my_engine_engine.py"
    sys.modules.pop("my_engine_engine", None)


def engine_in(file: Path) -> Any:
    return import_module(file.stem).MyEngineEngine()


def test_the_template_takes_what_is_drawn_for_it(template: Path) -> None:
    """Its share of verified cases is far above the floor of a run."""
    engine = engine_in(template)
    answers = [engine.run(case) for case in itertools.islice(stream_for(engine, 1), 150)]
    assert sum(isinstance(answer, Unsupported) for answer in answers) <= FEW_REFUSALS * len(answers)


def test_a_fault_is_found_within_twenty_examples(template: Path) -> None:
    """NULL = NULL, by Hypothesis' own loop."""
    text = template.read_text(encoding="utf-8")
    for right, wrong in FAULT.items():
        assert right in text
        text = text.replace(right, wrong)
    template.write_text(text, encoding="utf-8")
    engine = engine_in(template)

    @settings(
        max_examples=20,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(engine))
    def agrees(case: Any) -> None:
        assert check(case, engine).verdict is not Verdict.MISMATCH

    with pytest.raises(AssertionError, match="mismatch"):
        agrees()


TEST = """
from hypothesis import HealthCheck, given, settings
from mergecheck import Unsupported, cases
from my_engine_engine import MyEngineEngine


class RefusesAll(MyEngineEngine):
    def run(self, case):
        return Unsupported("that table")


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(case=cases(MyEngineEngine))
def test_taken(mergecheck_check_case, case):
    mergecheck_check_case(case, ENGINE)


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(case=cases(MyEngineEngine))
def test_refused(mergecheck_check_case, case):
    mergecheck_check_case(case, REFUSES)


ENGINE, REFUSES = MyEngineEngine(), RefusesAll()
"""


def test_the_summary_has_the_denominator(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of cases that are judged, and a reason in place of Hypothesis' Unsatisfiable."""
    write_new_engine("my-engine", pytester.path / "my-engine")
    pytester.makepyfile(test_drawn=TEST)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path / "my-engine"))
    result = pytester.runpytest_subprocess("-q", "test_drawn.py")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*none of 60 drawn cases could be judged: my-engine: that table 60*"])
    result.stdout.fnmatch_lines(["mergecheck: test_taken: 10 of * drawn cases were judged*"])
    assert "Unsatisfi" not in result.stdout.str()
