"""Bad input of every kind ends in an answer or in one message: the quick form of ``tools.benchmarks.bad_input``."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from mergecheck.harness.cli.command_line import main
from mergecheck.harness.cli.output.terminal import error_line, show
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.lab.scale.tables.spec import make_spec
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import parse_cases
from mergecheck.model.error_pattern import BadPatternError, matches, require_pattern
from mergecheck.model.errors import CaseFormatError, shortened
from tools.benchmarks.bad_input.inputs import BadInput, bad_inputs
from tools.benchmarks.bad_input.trials import MAX_MESSAGE_BYTES, Outcome, input_folder, try_here

if TYPE_CHECKING:
    from collections.abc import Sequence

MERGECHECK = str(Path(sys.executable).with_name("mergecheck"))
NUM_INPUTS = 90  # five turns of all kinds
SEED = 7
CONTROLS = "\x1b[31m\x07\r\u202e"
CASE = {
    "format_version": 1,
    "id": f"case {CONTROLS}",
    "target": {
        "schema": f"id INT, `v{CONTROLS}` STRING",
        "rows": [[1, f"a{CONTROLS}"]],
        "properties": {f"mine.{CONTROLS}": CONTROLS},
        "transactions": {CONTROLS: 1},
    },
    "source": {"schema": "id INT", "rows": [[1]]},
    "sql": f"MERGE INTO target t USING source s ON t.id = s.id AND '{CONTROLS}' = 'x' WHEN MATCHED THEN DELETE",
    "conf": {f"duckdb.{CONTROLS}": CONTROLS},
}


def outcome_of(arguments: Sequence[str], **files: str) -> tuple[Outcome, str]:
    """Give ``mergecheck`` files, which arguments name by ``{folder}``."""
    content = {name.replace("_", "."): text.encode() for name, text in files.items()}
    given = BadInput(kind="test", arguments=arguments, files=content)
    with input_folder(given) as folder:
        trial = try_here(given, folder)
    return trial.outcome, trial.output


def test_no_bad_input_ends_in_a_traceback_or_a_hang() -> None:
    """A few inputs of each kind; the long form has found no others."""
    faults = []
    for number, given in enumerate(itertools.islice(bad_inputs(SEED), NUM_INPUTS)):
        with input_folder(given) as folder:
            trial = try_here(given, folder)
        if trial.outcome.is_fault:
            faults.append((number, given.kind, trial.outcome.value, trial.output[-300:]))
    assert faults == []


def test_the_trial_sees_faults() -> None:
    """Each kind of fault is distinguished from the right text."""
    assert outcome_of(["run"])[0] is Outcome.REFUSED
    assert outcome_of(["cases", "show", "{folder}/case.json"], case_json=json.dumps(CASE))[0] is Outcome.RAN
    with CliRunner().isolation() as (_, err, _runner):
        error_line(f"x{CONTROLS}" * 2_000)
        assert len(err.getvalue()) < MAX_MESSAGE_BYTES
        assert err.getvalue().decode().rstrip("\n").isprintable()


@pytest.mark.parametrize(
    "arguments",
    [
        ("cases", "show", "{folder}/case.json"),
        ("cases", "show", "--sql", "{folder}/case.json"),
        ("run", "--engine", "duckdb", "--trust", "{folder}/case.json"),
        ("replay", "--engine", "duckdb", "--trust", "{folder}/case.json"),
        ("replay", "--engine", "duckdb", "{folder}/case.json"),
        ("cases", "show", "--json", "{folder}/case.json"),
    ],
)
def test_no_control_character_of_a_case_reaches_the_terminal(arguments: Sequence[str]) -> None:
    """Neither of its id, names, values, properties and settings, nor of its statement."""
    _, output = outcome_of(arguments, case_json=json.dumps(CASE))
    assert output
    assert all(line.isprintable() for line in output.split("\n"))


def test_results_keep_ends_of_lines_and_the_width_of_tabs() -> None:
    with CliRunner().isolation() as (out, _, _runner):
        show("a\tb\r\nc\x1b")
        assert out.getvalue().decode() == "a       b\nc\\u001B\n"


@pytest.mark.parametrize("pattern", ["[", "(a", "a{99999}", "(?=a)", "\\1", "\ud800"])
def test_what_is_no_pattern_is_refused_when_the_case_is_read(pattern: str) -> None:
    with pytest.raises(BadPatternError):
        require_pattern(pattern)
    document = {**CASE, "expect": {"error": pattern}}
    with pytest.raises(CaseFormatError, match=r"is no regular expression of RE2|lone surrogates"):
        parse_cases(json.dumps(document), name="case", lines=False)


def test_no_pattern_runs_for_ever() -> None:
    """These take time beyond all bounds if they are matched by backtracking."""
    text = "a" * 5_000 + "b"
    assert not matches("^(a+)+$", text)
    assert not matches("(.*)*(.*)*(.*)*x", text)
    assert matches(r"DATATYPE_MISMATCH\.CAST|b$", text)
    assert not matches("a", "\ud800")


def test_a_setting_that_names_no_variant_is_bad_input() -> None:
    """Alone it is refused; among others it does not keep them from being run. Other engines may have other axes."""
    bad = {**CASE, "conf": {"mergecheck.variant": "vectors=../../etc/passwd"}}
    assert outcome_of(["run", "--engine", "duckdb", "{folder}/a.json"], a_json=json.dumps(bad))[0] is Outcome.REFUSED
    good = {**CASE, "conf": {}, "id": "good"}
    outcome, output = outcome_of(
        ["replay", "--engine", "duckdb", "{folder}/a.json", "{folder}/b.json"],
        a_json=json.dumps(bad),
        b_json=json.dumps(good),
    )
    assert outcome is Outcome.REFUSED
    assert "not run: " in output
    assert "not run            1" in output


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", "1e999"])
def test_only_finite_times_are_times(value: str) -> None:
    assert outcome_of(["fuzz", "--engine", "duckdb", "--max-time", value])[0] is Outcome.REFUSED


def test_a_size_of_many_digits_is_bad_input() -> None:
    assert outcome_of(["lab", "scale", "--memory-limit", "9" * 400 + "GB"])[0] is Outcome.REFUSED


def test_the_statement_of_a_scale_spec_may_read_its_own_tables_only() -> None:
    """A saved spec comes from anywhere."""
    spec = json.loads(make_spec(shape="upsert", rows=10, files=None, seed=1).to_json())
    spec["statement"] = spec["statement"].replace("USING source", "USING text.`/etc/passwd`")
    outcome, output = outcome_of(["lab", "scale", "{folder}/spec.json"], spec_json=json.dumps(spec))
    assert outcome is Outcome.REFUSED
    assert "which is no table of the case" in output


@pytest.mark.parametrize("pattern", ["(", "a{9999999999}", "(" * 3_000])
def test_a_deviations_file_with_a_bad_pattern(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "deviations.toml"
    path.write_text(f"[[deviation]]\nid = 'a'\nwhen = {{ on = '{pattern}' }}\n")
    with pytest.raises(UserInputError):
        load_deviations([path], packaged=False)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    """Nobody writes into it, so reading it would never end."""
    pipe = str(tmp_path / "case.json")
    os.mkfifo(pipe)
    for arguments in (
        ("run", "--engine", "duckdb", pipe),
        ("replay", "--engine", "duckdb", pipe),
        ("cases", "show", pipe),
        ("lab", "sequences", "--engine", "delta-rs", pipe),
        ("lab", "scale", pipe),
        ("variants", "--engine", "duckdb", pipe),
    ):
        with CliRunner().isolation():
            assert main(arguments) == 2, arguments


@pytest.mark.parametrize("output", ["/dev/full", None])
def test_output_that_nobody_takes(output: str | None, tmp_path: Path) -> None:
    """A full device is the user's mistake; a reader that is gone ends the command quietly, as it ends others."""
    (tmp_path / "case.json").write_text(json.dumps(CASE))
    reading, writing = os.pipe()
    os.close(reading)
    target = writing if output is None else os.open(output, os.O_WRONLY)
    command = [MERGECHECK, "cases", "show", "case.json"]
    ended = subprocess.run(command, cwd=tmp_path, stdout=target, stderr=subprocess.PIPE, check=False)  # noqa: S603 - ours
    if output is None:
        assert (ended.returncode, ended.stderr) == (141, b"")
    else:
        assert ended.returncode == 2
        assert ended.stderr.startswith(b"error: cannot read or write: ")
        assert ended.stderr.count(b"\n") == 1


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&- <&-", "2>/dev/full"])
def test_streams_that_are_closed(closed: str, tmp_path: Path) -> None:
    """The verdict is the exit code, and the output goes nowhere."""
    case = {**CASE, "id": "x", "sql": CASE["sql"].replace("AND", "OR")}
    (tmp_path / "case.json").write_text(json.dumps(case))
    command = f"exec {MERGECHECK} run case.json --engine duckdb --trust {closed}"
    ended = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, check=False)  # noqa: S603 - ours
    assert ended.returncode in (0, 4)
    assert b"Traceback" not in ended.stdout + ended.stderr


def test_the_middle_of_a_long_message_is_left_out() -> None:
    assert shortened("abc", 3) == "abc"
    assert shortened("é" * 1_000 + "end", 100).encode()[-3:] == b"end"
    assert len(shortened("é" * 1_000 + "end", 100).encode()) <= 100
