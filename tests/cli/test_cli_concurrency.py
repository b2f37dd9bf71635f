"""``mergecheck lab concurrency``: the list of scenarios, races of delta-rs, and refusals, all without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.lab.concurrency.scenarios import scenarios

if TYPE_CHECKING:
    from cli_cases import Mergecheck


def test_the_scenarios_can_be_listed(mergecheck: Mergecheck) -> None:
    ended = mergecheck("lab", "concurrency", "--list")
    assert ended.code == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == [one.name for one in scenarios()]
    (one,) = mergecheck("lab", "concurrency", "--list", "--scenario", "counter", "--json").json["scenarios"]
    assert one == {"name": "counter", "summary": "Two merges count up the rows that they read."}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scenario", "nosuch"], "no scenario is called nosuch. Choose from update-update,"),
        (["--engine", "duckdb"], "duckdb cannot be stopped at points"),
        (["--engine", "delta-rs", "--isolation", "Snapshot"], "Delta tables have no such level"),
        (["--steps", "3", "--table", "row-tracking"], "--table row-tracking goes with scenarios, not with a race"),
        (["--scenario", "append", "--table", "row-tracking"], "append: a writer of it is delta-rs, which cannot write"),
        (["--table", "nosuch"], "'nosuch' is not one of 'plain', 'deletion-vectors', 'row-tracking', 'change-feed'"),
        (["--steps", "3", "--scenario", "append"], "goes with no scenario but counter"),
        (["--steps", "3", "--isolation", "WriteSerializable"], "only random races of delta-rs have this level"),
        (["--steps", "3", "--engine", "duckdb"], "duckdb has no races"),
    ],
)
def test_bad_options_are_usage_errors(mergecheck: Mergecheck, arguments: list[str], said: str) -> None:
    """One message with the allowed values."""
    ended = mergecheck("lab", "concurrency", *arguments)
    assert ended.code == 2
    assert said in " ".join(ended.err.split())


def test_counters_of_delta_rs_lose_no_update(mergecheck: Mergecheck) -> None:
    """Whatever the threads' order, the counter is the number of commits."""
    ended = mergecheck(
        "lab",
        "concurrency",
        "--engine",
        "delta-rs",
        "--scenario",
        "counter",
        "--writers",
        "2",
        "--steps",
        "6",
        "--json",
    )
    assert ended.code == 0
    found = ended.json
    assert found["merges"] == 6
    assert found["final_value"] == found["commits"] > 0


def test_a_race_of_delta_rs_with_kills_equals_serial_orders(mergecheck: Mergecheck) -> None:
    """In each of two rounds one process is killed, at any time."""
    ended = mergecheck(
        *("concurrency", "--engine", "delta-rs", "--writers", "2", "--steps", "4", "--kills", "100", "--seed", "1"),
        "--json",
    )
    assert ended.code == 0, ended.out
    found = ended.json
    assert (found["rounds"], found["kills"], found["findings"]) == (2, 2, [])
    assert sum(found["endings"].values()) == 4
