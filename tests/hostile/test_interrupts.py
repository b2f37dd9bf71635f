"""Ctrl+C ends a run within seconds, whatever it is doing."""

from __future__ import annotations

import json
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
    "read": (table(1, "a"), f"USING source s ON {' AND '.join(['s.id = t.id'] * 1_800)} {UPDATE}"),
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
    (tmp_path / "case.json").write_text(json.dumps(case))
    command = [MERGECHECK, "run", "--engine", engine, "case.json"]
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
