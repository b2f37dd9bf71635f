"""``mergecheck run`` and ``mergecheck cases show``: output, JSON and exit codes."""

from __future__ import annotations

import importlib
import io
import json
import sys
from importlib import metadata
from typing import TYPE_CHECKING

from cli_cases import DOWN, ECHO, FAULTY, SQL, case_document, write_case

from mergecheck.harness.cli.verbs import doctor

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from cli_cases import Mergecheck
    from syrupy.assertion import SnapshotAssertion


def test_an_agreeing_case_is_explained(mergecheck: Mergecheck, case_file: str, snapshot: SnapshotAssertion) -> None:
    """Tables, statement, outcome and reference stand on stdout, nothing on stderr."""
    ended = mergecheck("run", case_file, "--engine", ECHO)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == snapshot


def test_a_mismatch_is_explained(mergecheck: Mergecheck, case_file: str, snapshot: SnapshotAssertion) -> None:
    """A mismatch ends with exit code 1 and shows its differences."""
    ended = mergecheck("run", case_file, "--engine", FAULTY)
    assert ended.code == 1
    assert ended.out == snapshot


def test_json_of_an_agreeing_case(mergecheck: Mergecheck, case_file: str) -> None:
    """One document with outcome and reference in the case file's own values."""
    ended = mergecheck("run", case_file, "--engine", ECHO, "--json")
    document = ended.json
    assert ended.code == 0
    assert (document["id"], document["engine"], document["verdict"]) == ("upsert", "echo", "agree")
    rows = [[1, "x"], [3, "c"], [9, "y"], [None, "n"]]
    assert sorted(document["outcome"]["rows"], key=str) == rows == sorted(document["reference"]["rows"], key=str)
    assert document["outcome"]["schema"] == "id BIGINT, v STRING"
    assert document["outcome"]["metrics"]["numTargetRowsInserted"] == 1
    assert document["outcome"]["cdf"] is None
    assert document["mismatches"] == []


def test_json_of_a_mismatch(mergecheck: Mergecheck, case_file: str) -> None:
    """Every mismatch names its observable, its kind and the lines for a person."""
    ended = mergecheck("run", case_file, "--engine", FAULTY, "--json")
    assert (ended.code, ended.json["verdict"]) == (1, "mismatch")
    first = ended.json["mismatches"][0]
    assert (first["check"], first["against"], first["kind"]) == ("rows", "reference", "missing_rows")
    assert first["lines"]


def test_only_some_observables_are_compared(mergecheck: Mergecheck, case_file: str) -> None:
    """Checks that --check leaves out count as not checked, and the line that repeats a mismatch names the others."""
    metrics = mergecheck("run", case_file, "--engine", FAULTY, "--check", "metrics", "--json").json
    assert {mismatch["check"] for mismatch in metrics["mismatches"]} == {"metrics"}
    assert metrics["unsupported_reasons"]["rows"] == "left out by --check"
    ended = mergecheck("run", case_file, "--engine", FAULTY, "--check", "schema", "--check", "commit", "--json")
    assert (ended.code, ended.json["verdict"], ended.json["mismatches"]) == (0, "agree", [])
    assert {"rows", "metrics"} <= set(ended.json["unsupported_checks"])
    told = mergecheck("replay", case_file, "--engine", FAULTY, "--check", "rows").out
    assert f"mergecheck replay --engine {FAULTY} --check rows {case_file}" in told
    assert "metrics  " not in told


def test_json_of_a_rejected_case(mergecheck: Mergecheck, folder: Path) -> None:
    """A statement that both reject agrees, and its error has a class."""
    name = write_case(folder / "bad.json", sql=SQL.replace("t.id = s.id", "t.id = s.nothing"))
    ended = mergecheck("run", name, "--engine", ECHO, "--json")
    assert (ended.code, ended.json["verdict"]) == (0, "both_rejected")
    assert ended.json["outcome"]["error"]["class"] == "DELTA_MERGE_UNRESOLVED_EXPRESSION"


def test_a_case_from_standard_input(mergecheck: Mergecheck, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash reads one case from standard input."""
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(case_document(), indent=1)))
    assert mergecheck("run", "-", "--engine", ECHO, "--json").json["id"] == "upsert"


def test_one_case_of_several(mergecheck: Mergecheck, folder: Path) -> None:
    """A file of several cases needs the id of one; the message shows how to give it."""
    lines = (json.dumps(case_document(id=name)) for name in ("first", "second"))
    (folder / "two.jsonl").write_text("\n".join(lines))
    refused = mergecheck("run", "two.jsonl", "--engine", ECHO)
    assert refused.code == 2
    assert "two.jsonl holds 2 cases" in refused.err
    assert mergecheck("run", "two.jsonl", "--id", "second", "--engine", ECHO, "--json").json["id"] == "second"


def test_an_engine_that_is_down(mergecheck: Mergecheck, case_file: str) -> None:
    """A lost engine proves nothing about the merge: exit code 3 and the reason."""
    ended = mergecheck("run", case_file, "--engine", DOWN, "--json")
    assert (ended.code, ended.json["verdict"], ended.json["outcome"]) == (3, "engine_error", None)
    assert "does not answer" in ended.json["reason"]


def test_a_bug_is_no_mismatch(mergecheck: Mergecheck, case_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unforeseen exception shows its traceback and ends with 3, never with the 1 of a mismatch."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("surprise")

    monkeypatch.setattr(importlib.import_module("mergecheck.harness.cli.verbs.run"), "explain_lines", broken)
    ended = mergecheck("run", case_file, "--engine", ECHO)
    assert ended.code == 3
    assert "ZeroDivisionError: surprise" in ended.err
    assert "please report it" in ended.err


def test_an_interrupt(mergecheck: Mergecheck, case_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl+C ends with 130."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib.import_module("mergecheck.harness.cli.verbs.run"), "explain_lines", interrupted)
    assert mergecheck("run", case_file, "--engine", ECHO).code == 130


def test_a_case_is_shown(mergecheck: Mergecheck, case_file: str, snapshot: SnapshotAssertion) -> None:
    """``cases show`` prints tables and statement."""
    assert mergecheck("cases", "show", case_file).out == snapshot


def test_a_case_is_shown_as_sql(mergecheck: Mergecheck, case_file: str, snapshot: SnapshotAssertion) -> None:
    """``--sql`` gives a script."""
    assert mergecheck("cases", "show", case_file, "--sql").out == snapshot


def test_a_case_is_shown_as_json(mergecheck: Mergecheck, case_file: str) -> None:
    """``--json`` gives the case file back."""
    assert mergecheck("cases", "show", case_file, "--json").json == case_document(
        target=case_document()["target"] | {"partition_by": []}
    )


def test_help_and_version(mergecheck: Mergecheck, snapshot: SnapshotAssertion) -> None:
    """The help of every verb; the version."""
    texts = [
        mergecheck(*verb, "--help").out
        for verb in (
            (),
            ("run",),
            ("fuzz",),
            ("replay",),
            ("cases",),
            ("engine",),
            ("config",),
            ("lab",),
            ("lab", "matrix"),
            ("engine", "conform"),
            ("engine", "new"),
            ("lab", "rules"),
            ("cases", "show"),
            ("doctor",),
        )
    ]
    assert "\n".join(texts) == snapshot
    assert mergecheck("--version").out == "mergecheck VERSION\n"


def test_doctor(mergecheck: Mergecheck) -> None:
    """Every line is ok, or names the fix; the JSON has the same."""
    ended = mergecheck("doctor", "--json")
    names = {check["name"] for check in ended.json["checks"]}
    assert {"java", "python", "duckdb", "engines", "work folder"} <= names
    assert {"pyspark", "deltalake", "delta-spark"} <= {extra["name"] for extra in ended.json["optional"]}
    usable = {engine["name"]: engine for engine in ended.json["engines"]}
    assert usable["duckdb"]["ok"]
    assert usable["delta-rs"]["ok"]
    assert all(bool(engine["install"]) != engine["ok"] for engine in usable.values())
    assert ended.code == (0 if ended.json["ok"] else 3)
    assert all(bool(check["fix"]) != check["ok"] for check in ended.json["checks"])


def test_doctor_without_java(mergecheck: Mergecheck, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing Java is reported with the way to get it; engines on Spark cannot be used, the others can."""
    monkeypatch.setenv("JAVA_HOME", str(folder / "nothing"))
    usable = {engine["name"]: engine["ok"] for engine in mergecheck("doctor", "--json").json["engines"]}
    assert (usable["duckdb"], usable["pyspark"], usable["delta-spark"]) == (True, False, False)
    ended = mergecheck("doctor")
    assert ended.code == 3
    assert "FIX  java" in ended.out
    assert "install Java 17 or later" in ended.out


def test_doctor_names_what_it_could_not_get(
    mergecheck: Mergecheck, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as a failure of the engine, which has not been started then."""
    java = folder / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "17.0.1"\'\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(folder / "home"))
    monkeypatch.setenv("MERGECHECK_CACHE", str(folder / "cache"))
    ended = mergecheck("doctor", "--engine", "pyspark", "--get", "--json")
    fixes = {check["name"]: check["fix"] for check in ended.json["checks"]}
    assert (ended.code, set(fixes)) == (3, {"java", "class archive"})
    assert fixes["class archive"].startswith("the class archive of Spark was not written")


def test_doctor_imports_and_knows_the_versions_that_were_tried(
    mergecheck: Mergecheck, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package that is there and broken, or too old, is no package."""
    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.setattr(doctor, "version", lambda name: "1.0.0" if name == "duckdb" else metadata.version(name))
    found = mergecheck("doctor", "--json").json
    lines = {line["name"]: line for line in (*found["checks"], *found["optional"])}
    assert lines["deltalake"]["found"].startswith(f"{metadata.version('deltalake')} cannot be imported: ")
    assert lines["duckdb"]["found"] == "1.0.0 was not tried with this release, which is for <3,>=2.0"
    assert not found["ok"]
