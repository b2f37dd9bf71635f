"""The configuration: where it is found, who wins, refusals, and that its schema has the options."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click
import pytest
from cli_cases import ECHO

from mergecheck.harness.cli.command_line import cli
from mergecheck.harness.cli.configuration_schema import schema_text
from mergecheck.harness.cli.configured.options import configured_options, verbs_with_options
from mergecheck.harness.configuration import load_configuration
from mergecheck.harness.configuration.bounds import POWERS, Power
from mergecheck.harness.configuration.schema import load_schema
from mergecheck.harness.configuration.trusted import user_settings_folder

if TYPE_CHECKING:
    from pathlib import Path

    from cli_cases import Mergecheck

BASE = f"""
engine = "{ECHO}"
floor = 0.2
deviations = "mine.toml"

[fuzz]
max-cases = 2

[profiles.ci]
floor = 0.3
no-deviations = true

[profiles.ci.fuzz]
seed = 5
"""


def test_the_shipped_schema_is_that_of_the_options() -> None:
    """If this fails: python -m mergecheck.harness.cli.configuration_schema."""
    assert json.dumps(load_schema(), indent=1) + "\n" == schema_text()


def test_every_value_of_the_schema_reaches_its_option() -> None:
    """Keys and options are the same, verb by verb."""
    definitions = load_schema()["$defs"]
    for verb, command in verbs_with_options(cli, click.Context(cli)):
        assert set(definitions[verb.replace(" ", "-")]["properties"]) == set(configured_options(command))


def test_flags_win_over_the_profile_and_that_over_the_rest(mergecheck: Mergecheck, folder: Path) -> None:
    (folder / "mergecheck.toml").write_text(BASE)
    assert mergecheck("config", "trust", ".").code == 0
    shown = mergecheck("config", "show", "fuzz", "--profile", "ci", "--json").json["verbs"]["fuzz"]
    assert shown["engine"] == {"value": ECHO, "origin": "mergecheck.toml"}
    assert shown["floor"] == {"value": 0.3, "origin": "mergecheck.toml, profile ci"}
    assert shown["max-cases"] == {"value": 300, "origin": "built-in profile ci"}
    assert shown["seed"] == {"value": 5, "origin": "mergecheck.toml, profile ci"}
    assert shown["oracle"] == {"value": "reference", "origin": "default"}
    assert shown["deviations"]["origin"] == "default"  # the profile has no-deviations, which excludes it
    ended = mergecheck("fuzz", "--profile", "ci", "--max-cases", "3", "--json")
    assert (ended.json["num_cases"], ended.json["seed"]) == (3, 5)
    assert "configuration FOLDER/mergecheck.toml, profile ci" in ended.err


def test_an_option_takes_the_place_of_what_it_excludes(mergecheck: Mergecheck, folder: Path) -> None:
    """The file of deviations does not even exist."""
    (folder / "mergecheck.toml").write_text(BASE)
    assert mergecheck("config", "trust", ".").code == 0
    assert mergecheck("fuzz", "--seed", "1").code == 2
    assert mergecheck("fuzz", "--seed", "1", "--no-deviations", "--floor", "0").code == 0


def test_the_environment_wins_over_the_file(
    mergecheck: Mergecheck, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "mergecheck.toml").write_text('master = "local[3]"\n')
    monkeypatch.setenv("MERGECHECK_SPARK_REMOTE", "sc://here:15002")
    shown = mergecheck("config", "show", "fuzz", "--json").json["verbs"]["fuzz"]
    assert shown["master"]["value"] is None
    assert shown["remote"] == {"value": "sc://here:15002", "origin": "$MERGECHECK_SPARK_REMOTE"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flor = 0.5", "unknown key flor. Did you mean 'floor'?"),
        ("max_cases = 5", "unknown key max_cases. Did you mean 'max-cases'"),
        ("trust = true", "unknown key trust."),
        ('[fuzz]\nmax-cases = "many"', 'fuzz.max-cases = "many". Allowed: a whole number, at least 1.'),
        ("[profiles.ci]\nfloor = 7", "profiles.ci.floor = 7. Allowed: a number, at least 0, at most 1."),
        ('oracle = "referense"', 'oracle = "referense". Allowed: "reference", "metamorphic", "both".'),
        ("quiet = 1", "quiet = 1. Allowed: true or false."),
        ("floor = nan", "floor = NaN. Allowed: a number"),
        ("fuzz = 3", "fuzz = 3 must be a table: [fuzz]"),
        ("floor = ", "is no TOML"),
    ],
)
def test_a_mistake_is_told(mergecheck: Mergecheck, folder: Path, text: str, message: str) -> None:
    (folder / "mergecheck.toml").write_text(text)
    ended = mergecheck("fuzz", "--max-cases", "1")
    assert ended.code == 2
    assert message in " ".join(ended.err.split())
    assert "mergecheck.toml" in ended.err


def test_an_unknown_profile_is_told(mergecheck: Mergecheck) -> None:
    ended = mergecheck("fuzz", "--profile", "nightli")
    assert ended.code == 2
    assert "unknown profile 'nightli'" in ended.err
    assert "Did you mean 'nightly'?" in ended.err


def test_a_project_file_is_found_upwards_and_its_paths_start_there(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (below / "pyproject.toml").write_text("[project]\nname = 'x'\n")  # says nothing of mergecheck
    (tmp_path / "pyproject.toml").write_text('[tool.mergecheck]\nfindings = "kept"\n')
    found = load_configuration(below, environment={"HOME": "/nowhere"})
    assert found.settings("fuzz")["findings"].value == str(tmp_path / "kept")
    (tmp_path / "mergecheck.toml").write_text("floor = 0.5\n")
    assert load_configuration(below, environment={}).settings("fuzz").keys() == {"floor"}


def test_a_file_outside_is_not_used_and_said(mergecheck: Mergecheck, folder: Path) -> None:
    (folder / "mergecheck.toml").write_text("floor = 0.5\n")
    inner = folder / "inner"
    (inner / ".git").mkdir(parents=True)
    found = load_configuration(inner, environment={"HOME": str(folder)})
    assert found.file is None
    assert found.outside == folder / "mergecheck.toml"
    named = load_configuration(inner, environment={}, config=folder / "mergecheck.toml")
    assert named.settings("fuzz")["floor"].value == 0.5
    assert mergecheck("config", "show", "--config", "nosuch.toml").code == 2


def test_what_is_set_is_shown(mergecheck: Mergecheck, folder: Path) -> None:
    assert "nothing is set" in mergecheck("config", "show").out
    (folder / "mergecheck.toml").write_text(BASE)
    lines = [" ".join(line.split()) for line in mergecheck("config", "show").out.split("\n")]
    assert f'engine ["{ECHO}"] mergecheck.toml run, matrix' in lines
    assert mergecheck("config", "schema").json == load_schema()


NEEDING = {
    "engine": ('"echo_engine:Echo"', "imports code"),
    "fuzz.events": ('"../events.jsonl"', "leads out of its folder"),
    "fuzz.observations": ('"/tmp/o.jsonl"', "leads out of its folder"),
    "fuzz.html": ('".git/hooks/x.html"', "leads to a hidden file or folder"),
    "html": ('"setup.py"', "writes a file that does not end in .html or .htm"),
    "findings": ('"linked/findings"', "leads out of its folder"),
    "deviations": ('["a.toml", "/etc/passwd"]', "leads out of its folder"),
    "capabilities": ('"~/known.toml"', "leads out of its folder"),
    "remote": ('"sc://127.0.0.1:9"', "connects to a server"),
    "master": ('"spark://127.0.0.1:9"', "connects to a cluster"),
    "table-root": ('"s3a://bucket/x"', "connects to an object store"),
    "fuzz.table-root": ('"/tmp"', "leads out of its folder"),
    "fuzz.focus-changed": ('"main"', "starts git"),
    "profiles.ci.fuzz.engine": ('"duckdb@1.3.0"', "installs another release"),
}


def as_table(name: str, value: str, prefix: str = "") -> str:
    *tables, key = name.split(".")
    table = ".".join([*([prefix] if prefix else []), *tables])
    return (f"[{table}]\n" if table else "") + f"{key} = {value}\n"


def test_every_setting_is_classified() -> None:
    """A new option must be put into a power, and a path into a bounded one."""
    verbs = {verb: part for verb, part in load_schema()["$defs"].items() if verb != "profile"}
    parts = [(key, part) for verb in verbs.values() for key, part in verb["properties"].items()]
    assert {key for key, _ in parts} == set(POWERS)
    is_path = {key: part.get("anyOf", [part])[0].get("format") == "path" for key, part in parts}
    bounded = {key for key, power in POWERS.items() if power is Power.READS or power.name.startswith("WRITES")}
    assert {key for key, value in is_path.items() if value} == bounded


@pytest.mark.parametrize("file", ["mergecheck.toml", "pyproject.toml"])
@pytest.mark.parametrize("name", NEEDING)
def test_what_was_found_by_searching_is_bounded(mergecheck: Mergecheck, folder: Path, name: str, file: str) -> None:
    """Nothing is imported, written or connected to; the message names setting, file and command."""
    value, reason = NEEDING[name]
    (folder / "linked").symlink_to(folder.parent)
    prefix = "tool.mergecheck" if file == "pyproject.toml" else ""
    (folder / file).write_text(as_table(name, value, prefix))
    before = sorted(folder.parent.rglob("*"))
    profile = ("--profile", "ci") if name.startswith("profiles") else ()
    engine = () if name.endswith("engine") else ("--engine", ECHO)
    ended = mergecheck("fuzz", "--max-cases", "1", *engine, *profile)
    message = " ".join(ended.err.split())
    assert ended.code == 2
    assert name.rpartition(".")[2] in message
    assert reason in message
    assert f"FOLDER/{file}" in message
    assert "mergecheck config trust FOLDER" in message
    assert sorted(folder.parent.rglob("*")) == before
    assert "is not trusted" in mergecheck("config", "show").err


def test_harmless_settings_need_no_trust(mergecheck: Mergecheck, folder: Path) -> None:
    (folder / "mergecheck.toml").write_text(
        'master = "local[3]"\nfindings = ".mergecheck/m"\n[fuzz]\nevents = "events.jsonl"\nmax-cases = 1\nfloor = 0\n'
    )
    assert mergecheck("fuzz", "--engine", ECHO).code == 0
    assert (folder / "events.jsonl").is_file()
    assert "sets nothing that needs trust" in mergecheck("config", "trust", ".").out


def test_trust_holds_for_the_settings_that_were_shown(mergecheck: Mergecheck, folder: Path) -> None:
    """Another edit keeps it, another engine ends it, and it can be taken back."""
    file = folder / "mergecheck.toml"
    file.write_text(f'engine = "{ECHO}"\nfloor = 0\n[fuzz]\nmax-cases = 1\n')
    assert mergecheck("fuzz").code == 2
    assert mergecheck("fuzz", "--config", "mergecheck.toml").code == 0
    assert mergecheck("fuzz", "--help").code == 0
    assert f'engine = "{ECHO}", which imports code' in mergecheck("config", "trust", ".").out
    assert mergecheck("fuzz").code == 0
    file.write_text(file.read_text() + "seed = 3\n")
    assert mergecheck("fuzz").code == 0
    file.write_text(file.read_text().replace("Echo", "Down"))
    assert "have changed since you trusted it" in " ".join(mergecheck("fuzz").err.split())
    assert mergecheck("config", "trust", ".", "--json").json["trusted"]
    assert mergecheck("fuzz").code == 3
    assert "trusted no more" in mergecheck("config", "trust", "--remove", ".").out
    assert mergecheck("fuzz").code == 2


def test_a_variable_names_a_file_as_well(mergecheck: Mergecheck, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "mergecheck.toml").write_text(f'engine = "{ECHO}"\n')
    monkeypatch.setenv("MERGECHECK_CONFIG", "mergecheck.toml")
    assert mergecheck("fuzz", "--max-cases", "1", "--floor", "0").code == 0


@pytest.mark.parametrize("text", ["[]", "{", '{"format_version": 2, "files": {}}'])
def test_a_broken_file_of_trust_is_told(mergecheck: Mergecheck, folder: Path, text: str) -> None:
    (folder / "mergecheck.toml").write_text(f'engine = "{ECHO}"\n')
    kept = user_settings_folder(os.environ) / "trusted.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(text)
    ended = mergecheck("fuzz", "--max-cases", "1")
    assert ended.code == 2
    assert "trust your folders again" in " ".join(ended.err.split())


def test_explain_starts_no_engine_whatever_a_file_says(
    mergecheck: Mergecheck, folder: Path, case_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the configuration's engine, be it trusted, nor a Spark for the reference, nor the store of its tables."""
    text = 'engine = "no_such_module:Engine"\nexpressions = "spark"\nmaster = "local[1]"\ntable-root = "s3a://b/x"\n'
    (folder / "mergecheck.toml").write_text(text)
    assert mergecheck("config", "trust", ".").code == 0
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("MERGECHECK_TABLE_ROOT", "s3a://bucket/x")
    ended = mergecheck("explain", case_file)
    assert ended.code == 0, ended.err
    assert ended.out.lstrip().startswith("EXPLAINED")
    assert mergecheck("run", case_file).code == 2  # the same engine is asked for there
    (folder / "mergecheck.toml").write_text('[explain]\nengine = "duckdb"\n')
    assert "unknown key explain.engine" in " ".join(mergecheck("explain", case_file).err.split())
