"""Ctrl+C ends a run within seconds, whatever it is doing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

MERGECHECK = str(Path(sys.executable).with_name("mergecheck"))
MAX_SECONDS = 20.0  # a busy machine; on an idle one it takes one to five


def table(num_rows: int, text: str) -> dict[str, Any]:
    return {"schema": "id BIGINT, v STRING", "rows": [[number, text * 60] for number in range(num_rows)]}


UPDATE = "WHEN MATCHED THEN UPDATE SET v = s.v"
STAGES = {
    "read": (table(1, "a"), f"USING source s ON {' AND '.join(['s.id = t.id'] * 600)} {UPDATE}"),
    "evaluate": (table(30_000, "a"), f"USING source s ON s.id * t.id < 0 AND t.v <> s.v {UPDATE}"),
    "engine": (
        table(1, "a"),
        (
            "USING (SELECT count(*) AS id, 'a' AS v FROM range(100000000000000) WHERE id % 7 = rand()) s "
            f"ON s.id = t.id {UPDATE}"
        ),
    ),
}


@pytest.mark.parametrize(
    ("stage", "engine", "seconds"),
    [
        ("read", "duckdb", 4.0),
        ("evaluate", "duckdb", 8.0),
        *(pytest.param("engine", name, 40.0, marks=pytest.mark.spark) for name in ("pyspark", "delta-spark")),
    ],
)
def test_ctrl_c_ends_a_run(stage: str, engine: str, seconds: float, tmp_path: Path) -> None:
    """While the statement is read, the reference evaluates in DuckDB, or Spark runs a job that has no end."""
    tables, merge = STAGES[stage]
    case = {"format_version": 1, "id": stage, "target": tables, "source": table(len(tables["rows"]), "b")}
    case |= {"sql": f"MERGE INTO target t {merge}", "expect": {"rows": [[0, "a"]]}}
    copies = 200 if stage == "read" else 1  # no statement within the limits is read for long
    (tmp_path / "case.jsonl").write_text("".join(json.dumps(case | {"id": f"{n}"}) + "\n" for n in range(copies)))
    command = [MERGECHECK, "run" if copies == 1 else "replay", "--engine", engine, "case.jsonl"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:  # noqa: S603 - ours
        time.sleep(seconds)
        assert run.poll() is None, "it ended by itself"
        begin = time.monotonic()
        run.send_signal(signal.SIGINT)
        try:
            output, _ = run.communicate(timeout=MAX_SECONDS)
        finally:
            run.kill()
    assert run.returncode == 130
    assert time.monotonic() - begin < MAX_SECONDS
    assert "Traceback" not in output


ENGINE = """
from echo_engine import Echo


class Interrupted(Echo):
    runs = 0

    def run(self, case):
        Interrupted.runs += 1
        if Interrupted.runs > 2:
            raise KeyboardInterrupt
        return super().run(case)
"""


@pytest.mark.parametrize("verb", ["replay", "fuzz"])
def test_a_result_that_was_cut_off_is_marked(verb: str, tmp_path: Path) -> None:
    """Whoever reads the document alone must not take it for a whole run's; nor does the report for CI."""
    (tmp_path / "breaks_off.py").write_text(ENGINE)
    case = {"format_version": 1, "target": table(1, "a"), "source": table(1, "b")}
    case["sql"] = f"MERGE INTO target t USING source s ON s.id = t.id {UPDATE}"
    (tmp_path / "cases").mkdir()
    for number in range(4):
        (tmp_path / "cases" / f"{number}.json").write_text(json.dumps({**case, "id": f"case-{number}"}))
    given = ("cases",) if verb == "replay" else ("--max-cases", "5", "--seed", "1", "--floor", "0")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "cli")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # noqa: S603 - our own command
            [MERGECHECK, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    ended = run(verb, *given, "--engine", "breaks_off:Interrupted", "--json")
    document = json.loads(ended.stdout)
    assert ended.returncode == 130
    assert document["complete"] is False
    if verb == "replay":
        assert (len(document["cases"]), document["num_left"]) == (2, 2)
    else:
        assert document["stop"] == "interrupted"
    (tmp_path / "result.json").write_text(ended.stdout)
    assert "the run was cut off before its end" in run("config", "ci", "report", "result.json", "--github").stdout
    whole = json.loads(run("replay", "cases", "--engine", "echo_engine:Echo", "--json").stdout)
    assert (whole["complete"], whole["num_left"]) == (True, 0)
