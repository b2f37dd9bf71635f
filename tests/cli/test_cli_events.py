"""A run as others follow it: findings when they are found, ``--events``, ``--quiet``, ``--verbose``."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING

import click
import pytest
from cli_cases import ECHO, FAULTY

from mergecheck.harness.report import events
from mergecheck.harness.report.event_json import event_json
from mergecheck.harness.report.event_log import LogFiles
from mergecheck.model.case_file import case_from_json

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck

UNUSED = "known deviations that no case of this run showed"


def test_events_are_lines_of_json(mergecheck: Mergecheck, folder: Path) -> None:
    ended = mergecheck("fuzz", "--engine", FAULTY, "--seed", "1", "--max-findings", "1", "--events", "run.ndjson")
    found = [json.loads(line) for line in (folder / "run.ndjson").read_text(encoding="utf-8").splitlines()]
    kinds = [event["event"] for event in found]
    assert (kinds[0], kinds[-1]) == ("started", "ended")
    assert kinds.index("case") < kinds.index("shrinking") < kinds.index("finding")
    (finding,) = (event for event in found if event["event"] == "finding")
    assert (folder / finding["path"]).is_file()
    assert finding["mismatches"]
    assert f"finding {finding['id']}  acts {finding['hypotheses'][0]}  in 1 case  {finding['path']}" in ended.out
    cases = [event for event in found if event["event"] == "case"]
    assert [case["number"] for case in cases] == list(range(1, len(cases) + 1))
    assert found[-1] == {
        "event": "ended",
        "stop": "enough findings",
        "seconds": found[-1]["seconds"],
        "phase_seconds": found[-1]["phase_seconds"],
        "num_cases": len(cases),
        "findings": {finding["id"]: 1},
    }
    assert all(seconds > 0 for seconds in found[-1]["phase_seconds"].values())


TEST_CASE = {
    "type", "status", "status_reason", "representation", "arguments", "how_generated", "features", "coverage",
    "timing", "metadata", "property", "run_start",
}  # fmt: skip
INFORMATION = {"type", "title", "content", "property", "run_start"}


def test_observations_have_the_form_that_hypothesis_documents(mergecheck: Mergecheck, folder: Path) -> None:
    """Exactly the keys of its JSON schema, one line for each case, and a line for a finding and for the end."""
    before = time.time()
    ended = mergecheck("fuzz", "--engine", FAULTY, "--seed", "1", "--max-findings", "1", "--observations", "seen.jsonl")
    found = [json.loads(line) for line in (folder / "seen.jsonl").read_text(encoding="utf-8").splitlines()]
    cases = [one for one in found if one["type"] == "test_case"]
    assert [one["type"] for one in found] == [*["test_case"] * (len(found) - 2), "alert", "info"]
    assert all(set(one) == (TEST_CASE if one["type"] == "test_case" else INFORMATION) for one in found)
    assert {one["property"] for one in found} == {f"mergecheck fuzz --engine {FAULTY}"}
    assert len({one["run_start"] for one in found}) == 1
    assert before <= found[0]["run_start"] <= time.time()
    assert re.search(rf"^{len(cases)} statements?, [\d,]+ pairs of tables in ", ended.out, re.MULTILINE)
    for one in cases:
        assert one["status"] in {"passed", "failed", "gave_up"}
        assert bool(one["status_reason"]) == (one["status"] != "passed")
        assert "MERGE " in one["representation"]
        assert all(isinstance(value, str | int | bool) for value in one["features"].values())
        assert all(seconds >= 0 for seconds in one["timing"].values())
    failed = next(one for one in cases if one["status"] == "failed")
    assert failed["status_reason"].startswith("loses-null-keys: rows missing_rows")
    assert case_from_json(failed["arguments"]["case"], where="observation").id == failed["metadata"]["id"]
    assert found[-2]["content"]["id"] in found[-2]["title"]


def test_every_event_has_a_form() -> None:
    """A new kind of event must be written, too."""
    (union,) = (kind for name, kind in vars(events).items() if name == "Event")
    assert len(union.__args__) == 8
    step = events.ShrinkingStep(num_target_rows=1, num_source_rows=2, num_runs=3, seconds=0.25)
    assert event_json(step) == {"event": "smaller", "target_rows": 1, "source_rows": 2, "runs": 3, "seconds": 0.25}


def test_a_file_of_events_that_cannot_be_written_is_the_user_s_error(mergecheck: Mergecheck) -> None:
    ended = mergecheck("fuzz", "--engine", ECHO, "--max-cases", "1", "--events", "no/such/folder/run.ndjson")
    assert ended.code == 2
    assert "cannot write no/such/folder/run.ndjson" in ended.err
    assert "Choose another file with --events FILE." in ended.err


def test_a_full_device_is_told_as_such(mergecheck: Mergecheck) -> None:
    ended = mergecheck("fuzz", "--engine", ECHO, "--max-cases", "1", "--events", "/dev/full")
    assert (ended.code, "cannot write /dev/full: [Errno 28]" in ended.err) == (2, True)


def test_an_error_of_something_else_is_not_said_of_the_file(folder: Path) -> None:
    """Whatever fails while the file is open keeps its own message."""
    files = LogFiles(events=folder / "run.ndjson", observations=None)
    with pytest.raises(OSError, match="the network is down"), files.open("a run"):
        raise OSError("the network is down")


def test_a_finding_is_shown_when_it_is_found(mergecheck: Mergecheck) -> None:
    """The report of a finding comes before the summary of the run."""
    printed = click.unstyle(mergecheck("fuzz", "--engine", FAULTY, "--seed", "1", "--max-findings", "1").out)
    assert printed.startswith("MISMATCH  acts as if ")
    assert printed.index("Reproduce:") < printed.index(": verified ") < printed.index("finding ")


def test_quiet_shows_results_only(mergecheck: Mergecheck) -> None:
    ended = mergecheck("fuzz", "--engine", ECHO, "--max-cases", "5", "--seed", "3", "--floor", "0", "--quiet")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1].startswith("seed 3  same cases again")


def test_upkeep_is_told_with_verbose_only(mergecheck: Mergecheck) -> None:
    arguments = ("fuzz", "--engine", "duckdb", "--max-cases", "1", "--seed", "3", "--floor", "0")
    short, long = mergecheck(*arguments), mergecheck(*arguments, "--verbose")
    assert (UNUSED in short.err, "time by phase: draw " in short.out) == (False, False)
    assert (UNUSED in long.err, "time by phase: draw " in long.out) == (True, True)
