"""``mergecheck cases export``: its scripts run by themselves, and return the reference's rows."""

from __future__ import annotations

import ast
import datetime as dt
import json
import runpy
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from cli_cases import SQL, case_document, write_case

from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Prediction
from mergecheck.reference.merge_reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cli_cases import Mergecheck
    from syrupy.assertion import SnapshotAssertion

HOSTILE_TEXTS = ["it's", '"; DROP TABLE x; --', "\\", "$$ {0} %s \x1b[2J", "né😀", "NULL", "{name}"]
HOSTILE_NAMES = "id BIGINT, `a 'b\" c` STRING, `select` STRING"
CASES: dict[str, dict[str, Any]] = {
    "upsert": {},
    "hostile-names-and-values": {
        "id": 'x"""\\\x1b[2J\n--',
        "target": {"schema": HOSTILE_NAMES, "rows": [[i, text, None] for i, text in enumerate(HOSTILE_TEXTS)]},
        "source": {"schema": HOSTILE_NAMES, "rows": [[1, "'", "y"], [9, HOSTILE_TEXTS[1], HOSTILE_TEXTS[2]]]},
    },
    "hostile-lines": {
        "id": "x\\",
        "target": {"schema": "id BIGINT, v STRING", "rows": [[1, "a"], [2, "\\'; -- \n.shell touch x"]]},
        "source": {"schema": "id BIGINT, v STRING", "rows": [[2, "/* it's; \" --"]]},
        "sql": "MERGE INTO target t -- it's; \\\n!x;\n USING source s ON t.id = s.id "
        "AND r'\\' <> ';\n!touch x;\n.shell'\n"
        "WHEN MATCHED AND \"it's\n::set-output name=x::1\\\\\" <> '${env:HOME}' THEN UPDATE SET *",
    },
    "types": {
        "target": {
            "schema": "id BIGINT, b BOOLEAN, f DOUBLE, d DECIMAL(5,2), day DATE, at TIMESTAMP, raw BINARY",
            "rows": [
                [1, True, "NaN", "1.50", "2026-01-31", "2026-01-31T23:59:59.123456Z", "AP8="],
                [2, None, "-Infinity", None, None, None, None],
            ],
        },
        "source": {
            "schema": "id BIGINT, b BOOLEAN, f DOUBLE, d DECIMAL(5,2), day DATE, at TIMESTAMP, raw BINARY",
            "rows": [[2, False, 0.1, "-3.25", "0001-01-01", "1969-12-31T23:59:59Z", ""]],
        },
    },
    "nested": {
        "target": {
            "schema": "id BIGINT, s STRUCT<`o'k`: INT, xs: ARRAY<STRING>>, m MAP<STRING, INT>",
            "rows": [[1, {"o'k": 1, "xs": ["a", None]}, [["k", 1]]], [2, None, None]],
        },
        "source": {
            "schema": "id BIGINT, s STRUCT<`o'k`: INT, xs: ARRAY<STRING>>, m MAP<STRING, INT>",
            "rows": [[2, {"o'k": None, "xs": []}, []]],
        },
    },
}


def predicted(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    answer = MergeReference().evaluate(case_from_json(document, where="test")).answer
    assert isinstance(answer, Prediction)
    return list(answer.rows)


def same_texts(rows: list[tuple[Any, ...]]) -> list[str]:
    """Write rows so that NaN equals itself, and maps and structs have one form."""
    return sorted(repr(tuple(map(plain, row))) for row in rows)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(map(plain, value.values()))
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC)
    return tuple(map(plain, value)) if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("name", CASES)
def test_duckdb(mergecheck: Mergecheck, folder: Path, name: str) -> None:
    """The script runs in DuckDB, and its last statement gives the rows."""
    file = write_case(folder / "case.json", **CASES[name])
    ended = mergecheck("cases", "export", file, "--format", "duckdb", "-o", "case.sql")
    assert (ended.code, ended.out) == (0, "wrote case.sql\n")
    with duckdb.connect() as connection:
        merge, query = (folder / "case.sql").read_text().rstrip().rsplit("\n", 1)
        connection.execute(merge).fetchall()
        table = connection.sql(query).to_arrow_table()
    found = [tuple(row.values()) for row in table.to_pylist()]
    assert same_texts(found) == same_texts(predicted(case_document(**CASES[name])))


@pytest.mark.parametrize("name", CASES)
def test_delta_rs(mergecheck: Mergecheck, folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The script runs with deltalake and pyarrow alone."""
    file = write_case(folder / "case.json", **CASES[name])
    assert mergecheck("cases", "export", file, "--format", "delta-rs", "-o", "case.py").code == 0
    text = (folder / "case.py").read_text()
    assert "mergecheck" not in text
    found = [tuple(row.values()) for row in runpy.run_path("case.py")["rows"]]
    capsys.readouterr()
    assert same_texts(found) == same_texts(predicted(case_document(**CASES[name])))


@pytest.mark.parametrize("name", CASES)
def test_delta_rs_test(mergecheck: Mergecheck, folder: Path, name: str) -> None:
    """The module's test holds with deltalake and pyarrow alone, and fails without the merge."""
    file = write_case(folder / "case.json", **CASES[name])
    assert mergecheck("cases", "export", file, "--format", "delta-rs-test", "-o", "test_case.py").code == 0
    text = (folder / "test_case.py").read_text()
    assert "import mergecheck" not in text
    runpy.run_path("test_case.py")["test_merge"](folder / "table")
    (folder / "test_case.py").write_text(text.replace("merger.execute()", "pass"))
    with pytest.raises(AssertionError):
        runpy.run_path("test_case.py")["test_merge"](folder / "other")


def test_delta_rs_test_of_a_rejection(mergecheck: Mergecheck, folder: Path) -> None:
    """The merge must fail, and the table keeps its rows."""
    source = {"schema": "id BIGINT, v STRING", "rows": [[1, "x"], [1, "y"]]}
    ambiguous = write_case(folder / "case.json", source=source)
    ended = mergecheck("cases", "export", ambiguous, "--format", "delta-rs-test", "-o", "test_case.py")
    assert ended.code == 0
    runpy.run_path("test_case.py")["test_merge"](folder / "table")
    assert "pytest.raises(Exception)" in (folder / "test_case.py").read_text()


@pytest.mark.parametrize("name", [name for name in CASES if name != "hostile-names-and-values"])
def test_sqllogictest(mergecheck: Mergecheck, folder: Path, name: str) -> None:
    """The test holds in DuckDB, and fails if a row is lost."""
    file = write_case(folder / "case.json", **CASES[name])
    assert mergecheck("cases", "export", file, "--format", "sqllogictest", "-o", "case.test").code == 0
    text = (folder / "case.test").read_text()
    assert list(failures(text)) == []
    assert len(list(failures(text.replace("query ", 'statement ok\nDELETE FROM "target" WHERE id = 2\n\nquery ')))) == (
        name in ("hostile-lines", "types", "nested")
    )


def test_sqllogictest_of_a_rejection(mergecheck: Mergecheck, folder: Path) -> None:
    """The merge must fail."""
    source = {"schema": "id BIGINT, v STRING", "rows": [[1, "x"], [1, "y"]]}
    ambiguous = write_case(folder / "case.json", source=source)
    ended = mergecheck("cases", "export", ambiguous, "--format", "sqllogictest")
    assert ended.code == 0
    assert "statement error\nMERGE" in ended.out


def failures(text: str) -> Iterator[str]:
    """Run a sqllogictest on DuckDB; yield what does not hold."""
    with duckdb.connect() as connection:
        for record in text.strip().split("\n\n"):
            kind, _, body = record.partition("\n")
            if kind.startswith("#"):
                continue
            if kind.startswith("statement"):
                try:
                    connection.execute(body)
                except duckdb.Error as error:
                    if kind == "statement ok":
                        yield f"{body}: {error}"
                else:
                    if kind == "statement error":
                        yield f"{body}: no error"
                continue
            query, _, wanted = body.partition("\n----\n")
            found = sorted(
                tuple("NULL" if cell is None else cell or "(empty)" for cell in row)
                for row in connection.execute(query).fetchall()
            )
            if [cell for row in found for cell in row] != wanted.split("\n"):
                yield query


def test_no_text_of_a_case_begins_a_line(mergecheck: Mergecheck, folder: Path) -> None:
    """Shells and services read the beginning of a line as a command; stdout gets the same text as a file."""
    file = write_case(folder / "case.json", **CASES["hostile-lines"])
    for format_name in ("delta-sql", "pyspark", "delta-rs", "delta-rs-test", "duckdb", "pytest", "feature", "comet"):
        ended = mergecheck("cases", "export", file, "--format", format_name)
        lines = ended.out.split("\n")
        assert (ended.code, ended.err) == (0, "")
        assert all(line.isprintable() for line in lines), format_name
        assert not [line for line in lines if line.lstrip().startswith(("!", ".shell", "::", "/*"))], format_name


def test_spark_scripts(mergecheck: Mergecheck, folder: Path, snapshot: SnapshotAssertion) -> None:
    """Both hold the same statements; the Python is sound, whatever the names."""
    file = write_case(folder / "case.json", **CASES["hostile-names-and-values"])
    sql = mergecheck("cases", "export", file, "--format", "delta-sql")
    assert sql.code == 0
    assert sql.out == snapshot
    python = mergecheck("cases", "export", file, "--format", "pyspark", "--json").json["text"]
    compile(python, "case.py", "exec")
    strings = [node.value for node in ast.walk(ast.parse(python)) if isinstance(node, ast.Constant)]
    assert case_document(**CASES["hostile-names-and-values"])["sql"] in strings


@pytest.mark.parametrize(
    ("format_name", "changes", "reason"),
    [
        ("duckdb", {"target": {"schema": "id BIGINT, v STRING", "partition_by": ["v"], "rows": []}}, "partitions"),
        ("delta-rs", {"target": {"schema": "id BIGINT DEFAULT 1, v STRING", "rows": []}}, "column defaults"),
        ("delta-rs", {"sql": SQL.replace("s.id", "s.nothing")}, "does not resolve"),
        ("sqllogictest", {"source": {"schema": "id BIGINT, v STRING", "rows": [[1, "a\nb"]]}}, "line"),
        ("sqllogictest", {"source": {"schema": "id BIGINT, v STRING", "rows": [[1, "::stop"]]}}, "like a command"),
        ("sqllogictest", {"source": {"schema": "id BIGINT, v STRING", "rows": [[1, "a\x1b"]]}}, "control"),
        ("delta-sql", {"sql": "!touch x"}, "PARSE_SYNTAX_ERROR"),
        ("pyspark", {"conf": {"mergecheck.variant": "x"}}, "variant"),
        ("duckdb", {"sql": "MERGE INTO"}, ""),
    ],
)
def test_what_a_format_cannot_express(
    mergecheck: Mergecheck, folder: Path, format_name: str, changes: dict[str, Any], reason: str
) -> None:
    """One message, exit code 2, and no file."""
    file = write_case(folder / "case.json", **changes)
    ended = mergecheck("cases", "export", file, "--format", format_name, "-o", "out", "--trust")
    assert (ended.code, ended.out) == (2, "")
    assert f"{format_name} cannot express case upsert" in ended.err
    assert reason in ended.err
    assert not (folder / "out").exists()


def test_a_file_is_not_overwritten(mergecheck: Mergecheck, folder: Path, case_file: str) -> None:
    """Nor does a case that may touch more than its tables become a script."""
    (folder / "out.sql").write_text("mine")
    assert mergecheck("cases", "export", case_file, "--format", "duckdb", "-o", "out.sql").code == 2
    assert (folder / "out.sql").read_text() == "mine"
    harmful = write_case(folder / "harm.json", sql=SQL.replace("source s", "parquet.`/etc/passwd` s"))
    assert mergecheck("cases", "export", harmful, "--format", "delta-sql").code == 2
    assert json.loads((folder / "harm.json").read_text())["id"] == "upsert"


def test_a_dash_is_stdout(mergecheck: Mergecheck, folder: Path, case_file: str) -> None:
    """As everywhere, and not a file of that name."""
    shown = mergecheck("cases", "export", case_file, "--format", "delta-sql", "-o", "-")
    assert shown.out == mergecheck("cases", "export", case_file, "--format", "delta-sql").out
    assert not (folder / "-").exists()
