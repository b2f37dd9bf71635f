"""The engine postgres: translated statements, and merges on a server of its own."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.checker import Checker
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.engines import postgres
from mergecheck.harness.engines.postgres.engine import PostgresEngine
from mergecheck.harness.engines.postgres.statement import translate
from mergecheck.harness.engines.venvs import environment_python
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.processes.temp_dirs import owned_prefix
from mergecheck.harness.search.session import reference_for, stream_for
from mergecheck.harness.verdict import UserInputError, Verdict
from mergecheck.model.case_file import case_from_json
from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.outcome import Outcome, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mergecheck.model.case import Case

WORKER = Path(postgres.__file__).with_name("worker.py")
SCHEMA = (
    "id INT, b TINYINT, s STRING, d DECIMAL(5,2), x DOUBLE, f FLOAT, t BOOLEAN, y BINARY, day DATE, at TIMESTAMP, "
    "local TIMESTAMP_NTZ"
)
ROW = [1, -128, "it's", "1.50", "NaN", 1.5, True, "AP8=", "2020-02-29", "2020-01-01T00:00:00.000001Z"]
ROWS = [[*ROW, "0001-01-01T00:00:00"], [2, *[None] * 10]]


def case_of(sql: str, *, schema: str = "id INT, v STRING", rows: object = None) -> Case:
    return case_from_json(
        {
            "format_version": 1,
            "id": "postgres",
            "target": {
                "schema": schema,
                "rows": rows or [[1, "a"], [2, None]],
                "properties": {"delta.enableChangeDataFeed": "true"},
            },
            "source": {"schema": "id INT, v STRING", "rows": [[1, "x"], [3, "y"]]},
            "sql": sql,
        },
        where="test",
    )


UPSERT = case_of(
    "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED AND s.v <=> 'x' THEN UPDATE SET v = S.V "
    "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE"
)


@pytest.fixture(scope="module")
def engine() -> Iterator[PostgresEngine]:
    engine = PostgresEngine()
    yield engine
    engine.close()


@pytest.mark.packaging
def test_rows_counts_and_change_rows_agree(engine: PostgresEngine) -> None:
    report = check_case(UPSERT, engine)
    assert report.verdict is Verdict.AGREE, report.mismatches
    assert isinstance(report.result, Outcome)
    assert sorted(report.result.cdf or (), key=repr) == [
        *((1, "a", "update_preimage"), (1, "x", "update_postimage")),
        *((2, None, "delete"), (3, "y", "insert")),
    ]


@pytest.mark.packaging
def test_values_of_every_type_come_back(engine: PostgresEngine) -> None:
    case = case_of(
        "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.b = NULL",
        schema=SCHEMA,
        rows=ROWS,
    )
    report = check_case(case, engine)
    assert report.verdict is Verdict.AGREE, report.mismatches


@pytest.mark.packaging
def test_an_error_leaves_the_table_as_it_was(engine: PostgresEngine) -> None:
    twice = replace(UPSERT, source=replace(UPSERT.source, rows=((1, "x"), (1, "x"))))
    assert check_case(twice, engine).verdict is Verdict.BOTH_REJECTED


@pytest.mark.packaging
def test_random_cases_are_explained(engine: PostgresEngine) -> None:
    """No difference by the dialect of the engine, and most cases are judged."""
    checker = Checker(engine=engine, deviations=load_deviations(), reference=reference_for(engine).evaluate)
    stream = stream_for(engine, 1)
    reports = [checker.check_case(next(stream)) for _ in range(20)]
    assert [report.mismatches for report in reports if report.mismatches and not report.deviations] == []
    assert sum(report.verdict is Verdict.UNSUPPORTED for report in reports) < 7


@pytest.mark.packaging
def test_the_server_and_its_directory_go_with_the_engine() -> None:
    engine = PostgresEngine()
    before = directories()
    assert isinstance(engine.run(UPSERT), Outcome)
    (directory,) = directories() - before
    assert servers(directory)
    engine.close()
    wait_until_gone(directory)


@pytest.mark.packaging
@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.0])
def test_a_server_whose_parent_is_killed_as_it_starts(engine: PostgresEngine, seconds: float, tmp_path: Path) -> None:
    """The directory is there, and the server may be."""
    python = environment_python("postgres", engine.version, ())
    command = [str(python), "-I", str(WORKER), str(tmp_path / "server-")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:  # noqa: S603 - ours
        wait_until(lambda: any(tmp_path.iterdir()))
        (directory,) = tmp_path.iterdir()
        time.sleep(seconds)
        process.kill()
    wait_until_gone(directory)


def directories() -> set[Path]:
    """List the directories of this process' servers."""
    return set(Path(tempfile.gettempdir()).glob(f"{owned_prefix()}postgres-*"))


def servers(directory: Path) -> list[str]:
    """List the processes that serve a directory."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().decode(errors="replace").split("\0")
            if str(directory) in words and "-D" in words:
                found.append(path.parent.name)
    return found


def wait_until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.1)


def wait_until_gone(directory: Path) -> None:
    """Wait for the end of a server, and that its directory stays away."""
    wait_until(lambda: not directory.exists() and not servers(directory))
    time.sleep(2)
    assert not directory.exists()
    assert not servers(directory)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("USING source s ON t.id = s.v WHEN MATCHED THEN DELETE", "a comparison of integer and text"),
        ("USING (SELECT * FROM source) s ON t.id = s.id WHEN MATCHED THEN DELETE", "feature source query"),
        ("USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = s.v", "assignment from text to integer"),
        ("USING source s ON soundex(s.v) = 'a' WHEN MATCHED THEN DELETE", "function soundex"),
        ("USING source s ON s.v + 1 = 2 WHEN MATCHED THEN DELETE", "arithmetic of type text"),
    ],
)
def test_what_could_mean_something_else_is_unsupported(sql: str, reason: str) -> None:
    with pytest.raises(UnsupportedByReferenceError) as caught:
        translate(case_of(f"MERGE INTO target t {sql}"))
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("condition", "written"),
    [
        ("t.V = 'it''s'", "(\"t\".\"v\" = 'it''s')"),
        ("t.v <=> 'a\\\\b'", '("t"."v" IS NOT DISTINCT FROM \'a\\b\')'),
        ("t.id DIV 2 IS NOT NULL", '(NOT ((CAST("t"."id" / CAST(2 AS integer) AS bigint)) IS NULL))'),
        ("t.v IS DISTINCT FROM 'a'", '("t"."v" IS DISTINCT FROM \'a\')'),
        ("t.id IN (1, NULL)", '("t"."id" IN (CAST(1 AS integer), NULL))'),
        ("nowhere = 1", '("nowhere" = CAST(1 AS integer))'),
    ],
)
def test_conditions_are_written(condition: str, written: str) -> None:
    """Names are quoted in lower case; what does not resolve is for PostgreSQL to refuse."""
    merge = translate(case_of(f"MERGE INTO target t USING source s ON {condition} WHEN MATCHED THEN DELETE")).merge
    assert f" ON {written} WHEN " in merge


def test_only_known_wheels_run() -> None:
    with pytest.raises(UserInputError, match=r"give one of: 18\.4"):
        PostgresEngine.at_version("9.6")


def test_unsupported_is_said_before_a_run() -> None:
    engine = PostgresEngine.__new__(PostgresEngine)
    case = case_of("MERGE INTO target t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE")
    assert engine.unsupported_reason(case) == Unsupported("feature source query")
