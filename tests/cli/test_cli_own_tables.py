"""``mergecheck run --target``: a merge of the user's own tables goes the way of any case."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from cli_cases import ECHO, FAULTY, SQL
from deltalake import write_deltalake

from mergecheck.harness.cli.verbs.run import MAX_SAVED_ROWS
from mergecheck.model.case_file import load_cases

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck

OWN = ("run", "--target", "people", "--source", "new.csv", "--sql", SQL)


@pytest.fixture
def tables(folder: Path) -> Path:
    rows = pa.table({"id": pa.array([1, None, 3], pa.int64()), "v": ["a", "n", "c"]})
    write_deltalake(folder / "people", rows, configuration={"delta.enableChangeDataFeed": "true"})
    (folder / "new.csv").write_text("id,v\n1,x\n9,y\n")
    return folder


def test_a_known_deviation_is_no_mismatch(mergecheck: Mergecheck, tables: Path) -> None:
    """With its reason and link; with --no-deviations it is an ordinary mismatch, in JSON too."""
    known = mergecheck(*OWN, "--engine", "delta-rs")
    assert (known.code, known.out.split("  ")[0]) == (0, "DEVIATES")
    assert "DEVIATES delta-rs-files-added: " in known.out
    assert "docs/findings/delta-rs-files-added.md" in known.out
    plain = mergecheck(*OWN, "--engine", "delta-rs", "--no-deviations", "--json")
    assert (plain.code, plain.json["verdict"]) == (1, "mismatch")
    assert "deviation" not in plain.json
    (tables / "none.toml").write_text("")
    assert mergecheck(*OWN, "--engine", "delta-rs", "--deviations", "none.toml", "--json").json["deviation"]


@pytest.mark.usefixtures("tables")
def test_a_mismatch_says_why_and_how_to_see_it_again(mergecheck: Mergecheck) -> None:
    """The explanation of any case, and a command that gives the same verdict from the tables."""
    ended = mergecheck(*OWN, "--engine", FAULTY)
    assert (ended.code, ended.out.split("  ")[0]) == (1, "MISMATCH")
    assert "  why        target 2 (NULL, 'n') has no match\n" in ended.out  # the row that the engine lost
    assert "target  people: 3 rows in 1 file; merged on a copy" in ended.out
    (line,) = (line for line in ended.out.splitlines() if line.startswith("Reproduce:"))
    again = mergecheck(*shlex.split(line.partition("mergecheck ")[2]))
    assert (again.code, again.out) == (1, ended.out)
    assert "--save CASE.json" in ended.out


def test_both_tables_are_kept_as_a_case(mergecheck: Mergecheck, tables: Path) -> None:
    """The case has the same difference, and its file records it."""
    ended = mergecheck(*OWN, "--engine", FAULTY, "--save", "kept/case.json")
    (line,) = (line for line in ended.out.splitlines() if line.startswith("Reproduce:"))
    again = mergecheck(*shlex.split(line.partition("mergecheck ")[2]))
    assert (again.code, again.out.splitlines()[0]) == (1, f"STILL FAILS  {_id(tables)}  kept/case.json")
    assert mergecheck("replay", "kept/case.json", "--engine", ECHO).out.startswith("FIXED")
    refused = mergecheck(*OWN, "--engine", FAULTY, "--save", "kept/case.json")
    assert (refused.code, "the file is there already" in refused.err) == (2, True)


def _id(tables: Path) -> str:
    return load_cases(tables / "kept" / "case.json")[0].id


def test_large_tables_make_no_case_file(mergecheck: Mergecheck, tables: Path) -> None:
    """Before anything runs, a message names the alternative."""
    many = pa.table({"id": pa.array(range(MAX_SAVED_ROWS + 1), pa.int64())})
    write_deltalake(tables / "many", many)
    ended = mergecheck("run", "--target", "many", *OWN[3:], "--engine", ECHO, "--save", "case.json")
    assert ended.code == 2
    assert "the tables have 10,003 rows together, a case file takes 10,000. Leave --save out" in ended.err
    assert not (tables / "case.json").exists()


def test_json_and_html_show_no_whole_table(mergecheck: Mergecheck, tables: Path) -> None:
    """Counts and the first changes stand in for rows; several engines have a document each."""
    engines = ("--engine", ECHO, "--engine", FAULTY)
    ended = mergecheck(*OWN, *engines, "--json", "--html", "page.html")
    ok, faulty = ended.json["engines"]
    assert (ended.code, ok["verdict"], faulty["verdict"]) == (1, "agree", "mismatch")
    assert (faulty["outcome"]["num_rows"], faulty["reference"]["num_rows"]) == (3, 4)
    assert "rows" not in faulty["outcome"]
    assert faulty["reproduce"].startswith(f"mergecheck run --engine {ECHO} --engine {FAULTY} --target people")
    assert json.dumps(faulty["saved"]) == "null"
    assert "mergecheck run --engine" in (tables / "page.html").read_text()
