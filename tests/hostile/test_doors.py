"""Each way by which files of strangers come in: all their texts are looked at before anything runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake

from mergecheck.harness.cli.command_line import main
from mergecheck.harness.delta.write import write_target
from mergecheck.model.case import Target
from mergecheck.model.types.ddl import parse_schema

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "reflect('java.lang.System', 'getenv', 'HOME') = 'x'"
SQL = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = user"


def ended(*arguments: str) -> tuple[int, str]:
    with CliRunner().isolation() as (out, err, _):
        code = main(arguments)
        return code, (out.getvalue() + err.getvalue()).decode()


@pytest.mark.parametrize(
    ("schema", "properties", "said"),
    [
        (f"id INT INVARIANT ({HOSTILE}), v STRING", {}, "the invariant of"),
        (f"id INT, v STRING DEFAULT {HOSTILE}", {}, "the default of"),
        (f"id INT, v STRING GENERATED ALWAYS AS (CAST({HOSTILE} AS STRING))", {}, "the generation expression of"),
        ("id INT, v STRING", {"delta.constraints.c": HOSTILE}, "the constraint"),
        ("id INT, v STRING", {"delta.redirectReaderWriter-preview": "{}"}, "its table property"),
    ],
)
def test_the_log_of_a_table(schema: str, properties: dict[str, str], said: str, tmp_path: Path) -> None:
    """``run --target``: the statement is the user's own, the table may be a stranger's."""
    write_target(Target(schema=parse_schema(schema), properties=properties), tmp_path / "table")
    (tmp_path / "source.csv").write_text("id,v\n1,x\n")
    given = ("--target", str(tmp_path / "table"), "--source", str(tmp_path / "source.csv"), "--sql", SQL)
    code, output = ended("run", "--engine", "duckdb", *given)
    assert code == 2
    assert said in output
    assert "--trust" in output


@pytest.mark.parametrize("how", ["absolute", "relative"])
def test_a_table_has_no_file_of_another_folder(how: str, tmp_path: Path) -> None:
    """A log may name any Parquet file that the user can read."""
    write_deltalake(tmp_path / "private", pa.table({"id": [1], "v": ["secret"]}))
    write_deltalake(tmp_path / "table", pa.table({"id": [2], "v": ["own"]}))
    (private,) = (tmp_path / "private").glob("*.parquet")
    (log,) = (tmp_path / "table" / "_delta_log").glob("*.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            named = str(private) if how == "absolute" else f"../private/{private.name}"
            action["add"] |= {"path": named, "size": private.stat().st_size}
    log.write_text("\n".join(map(json.dumps, actions)))
    assert DeltaTable(tmp_path / "table").version() == 0
    (tmp_path / "source.csv").write_text("id,v\n1,x\n")
    for target, source in (("table", "source.csv"), ("private", "table")):
        given = ("--target", str(tmp_path / target), "--source", str(tmp_path / source), "--sql", SQL)
        code, output = ended("run", "--engine", "duckdb", *given)
        assert code == 2
        assert "has files in another folder" in output
        assert "secret" not in output


@pytest.mark.parametrize(
    ("schema", "step"),
    [
        (f"id INT, v STRING INVARIANT ({HOSTILE})", {"append": [[1, "x"]]}),
        (f"id INT, v STRING DEFAULT {HOSTILE}", {"purge": True}),
        ("id INT, v STRING", {"add_column": f"w STRING DEFAULT {HOSTILE}"}),
        ("id INT, v STRING", {"merge": {"source": {"schema": "id INT", "rows": []}, "sql": SQL}}),
        ("id INT, v STRING", {"add_column": "user STRING"}),
    ],
)
def test_a_sequence_with_or_without_merges(schema: str, step: dict[str, object], tmp_path: Path) -> None:
    """Whoever appends rows evaluates conditions, too; and a column that is added is not there all the time."""
    merge = {"merge": {"source": {"schema": "id INT", "rows": []}, "sql": SQL}}
    steps = [merge, step] if step == {"add_column": "user STRING"} else [step]
    document = {"format_version": 1, "id": "one", "target": {"schema": schema, "files": []}, "steps": steps}
    (tmp_path / "sequence.json").write_text(json.dumps(document))
    code, output = ended("lab", "sequences", "--engine", "delta-rs", str(tmp_path / "sequence.json"))
    assert code == 2
    assert "calls" in output
