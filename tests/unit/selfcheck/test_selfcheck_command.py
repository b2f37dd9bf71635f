"""``python -m tools.selfcheck``: its output, and its exit codes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.cli.command_line import main
from tools.selfcheck.__main__ import selfcheck as command
from tools.selfcheck.catalogue import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def selfcheck(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    def run(*arguments: str) -> Ended:
        code = main(arguments, command=command, name="selfcheck")
        return Ended(code, *capsys.readouterr())

    return run


def test_the_catalogue_can_be_listed(selfcheck: Callable[..., Ended]) -> None:
    """Without starting Spark."""
    ended = selfcheck("--list")
    assert ended.code == 0
    assert ended.out.splitlines()[-1] == f"{len(load_catalogue())} faults"
    listed = selfcheck("--list", "--json").json["faults"]
    assert [fault["name"] for fault in listed] == [fault.id for fault in load_catalogue()]


def test_a_fault_can_be_shown_as_a_diff(selfcheck: Callable[..., Ended]) -> None:
    """And its changes in JSON."""
    lines = selfcheck("--list", "--fault", "paths-not-encoded").out.splitlines()
    assert lines[0] == "paths-not-encoded  (commit)"
    assert ['  -    return quote(path, safe="/=")', "  +    return path", "1 faults"] == lines[-3:]
    (listed,) = selfcheck("--list", "--fault", "paths-not-encoded", "--json").json["faults"]
    assert listed["changes"] == [
        {
            "function": "merge.table.commit.actions.encoded",
            "replace": 'return quote(path, safe="/=")',
            "by": "return path",
        }
    ]


def test_an_unknown_fault_is_a_usage_error(selfcheck: Callable[..., Ended]) -> None:
    """With the way to the list."""
    ended = selfcheck("--fault", "nosuch")
    assert ended.code == 2
    assert "selfcheck --list" in ended.err
