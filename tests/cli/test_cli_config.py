"""The configuration: where it is found, who wins, what is refused, and that its schema is that of the options."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import pytest
from cli_cases import ECHO

from mergecheck.harness.cli.command_line import cli
from mergecheck.harness.cli.configuration_schema import schema_text
from mergecheck.harness.cli.configured.options import configured_options, verbs_with_options
from mergecheck.harness.configuration import load_configuration
from mergecheck.harness.configuration.schema import load_schema

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
