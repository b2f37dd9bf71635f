"""``mergecheck cases import``: a small, anonymous case of a merge that has happened to a real table."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli_cases import ECHO
from deltalake import DeltaTable, write_deltalake

from mergecheck.model.case_file import load_cases

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck
    from syrupy.assertion import SnapshotAssertion

SECRETS = ("Alice", "Bob", "carol@example", "Mallory", "4711", "4712", "999983", "1987", "1990", "Q\"'secret")
SQL = (
    "MERGE INTO target t USING source s ON t.id = s.id "
    "WHEN MATCHED AND t.name <> 'Mallory' THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * -- Alice asked for it"
)
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("born", pa.date32()), ("pay", pa.decimal128(10, 2))])


def table(*rows: tuple[Any, ...]) -> pa.Table:

    full = [(i, name, dt.date(born, 5, 17), Decimal(pay)) for i, name, born, pay in rows]
    return pa.Table.from_arrays(
        [pa.array(c, f.type) for c, f in zip(zip(*full, strict=True), SCHEMA, strict=True)], schema=SCHEMA
    )


@pytest.fixture
def merged(folder: Path) -> Path:
    """A table that delta-rs has merged into: versions 0 and 1."""
    others = [(100000 + i, f"person {i}", 1990, "1.00") for i in range(300)]
    before = table((4711, "Alice", 1987, "999983.25"), (4712, "Mallory", 1990, "2.00"), *others)
    source = table(
        (4711, "Bob", 1987, "999983.25"), (4712, "Q\"'secret", 1990, "3.00"), (4713, "carol@example", 1990, "4.00")
    )
    write_deltalake(folder / "people", before, configuration={"delta.enableChangeDataFeed": "true"})
    pq.write_table(source, folder / "source.parquet")
    merger = DeltaTable(folder / "people").merge(source, "t.id = s.id", source_alias="s", target_alias="t")
    merger.when_matched_update_all("t.name <> 'Mallory'").when_not_matched_insert_all().execute()
    return folder


OPTIONS = ("cases", "import", "--target", "people@v0", "--source", "source.parquet", "--sql", SQL, "-o", "case.json")


def test_a_merge_that_agrees(mergecheck: Mergecheck, merged: Path, snapshot: SnapshotAssertion) -> None:
    """It warns, and keeps a case of a few rows of every kind, whose keys still match."""
    ended = mergecheck(*OPTIONS)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("AGREE")
    text = (merged / "case.json").read_text()
    assert text == snapshot
    assert [secret for secret in (*SECRETS, "person") if secret in text] == []
    (case,) = load_cases(merged / "case.json")
    assert case.source is not None
    assert len(case.target.rows) + len(case.source.rows) <= 10
    assert {row[0] for row in case.target.rows} & {row[0] for row in case.source.rows}
    assert mergecheck("replay", "case.json", "--engine", ECHO).code == 0


@pytest.mark.parametrize("columns", ["80", "120"])
def test_a_merge_that_differs(
    mergecheck: Mergecheck, merged: Path, columns: str, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    """The case has the rows that show the difference and no others, and describes the differences of the table."""
    monkeypatch.setenv("COLUMNS", columns)
    DeltaTable(merged / "people").update(
        updates={"name": "'Alice'"}, predicate="id = 4711"
    )  # as if the update had been lost
    ended = mergecheck(*OPTIONS, "--after", "2")
    assert ended.code == 1
    assert ended.out == snapshot
    text = (merged / "case.json").read_text()
    assert [secret for secret in (*SECRETS, "person") if secret in text + ended.out] == []
    (case,) = load_cases(merged / "case.json")
    assert case.source is not None
    assert (len(case.target.rows), len(case.source.rows)) == (1, 1)
    assert json.loads(text)["origin"]["difference"][0]["check"] == "rows"
    assert mergecheck("replay", "case.json", "--engine", ECHO).out.startswith("FIXED")


def test_an_update_that_computes(mergecheck: Mergecheck, merged: Path) -> None:
    """If the merge does another thing with other values, it is refused, unless the values may stay."""
    computing = SQL.replace("t.name <> 'Mallory'", "length(t.name) = 5")
    options = (*OPTIONS[:7], computing, *OPTIONS[8:])
    refused = mergecheck(*options)
    assert (refused.code, refused.out) == (2, "")
    assert "--keep COLUMN" in refused.err
    unknown = mergecheck(*options, "--keep", "nobody")
    assert unknown.code == 2
    assert "--keep nobody" in unknown.err
    assert mergecheck(*options, "--keep", "name").code in (0, 1)
    assert "4711" not in (merged / "case.json").read_text()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"people@v0": "people"}, "give the version before the merge"),
        ({"people@v0": "people@v7"}, "at version 7 cannot be read"),
        ({"people@v0": "nobody@v0"}, "is no folder"),
        ({"source.parquet": "nothing.csv"}, "is not there"),
        ({SQL: "MERGE INTO nothing"}, "reference"),
    ],
)
def test_what_cannot_be_imported(mergecheck: Mergecheck, merged: Path, changes: dict[str, str], said: str) -> None:
    """One message, exit code 2, and no file."""
    ended = mergecheck(*(changes.get(option, option) for option in OPTIONS))
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert not (merged / "case.json").exists()
