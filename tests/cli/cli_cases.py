"""Cases, engines and endings that the tests of the command line share."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pathlib import Path

ECHO = "echo_engine:Echo"
FAULTY = "echo_engine:LosesNullKeys"
DOWN = "echo_engine:Down"
SQL = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
TINY = """
extends = "core"
summary = "one row a table"
target_rows = 1
source_rows = 1
kinds = [["matched"]]
on = [["=", "t.k", "s.k"]]
[conditions]
matched = ["true", ["is null", "s.v"]]
[actions]
matched = [{ v = "s.v" }]
"""
"""A small scope of two statements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended; texts with times and the folder replaced."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Mergecheck: TypeAlias = Callable[..., Ended]


def case_document(**changes: Any) -> dict[str, Any]:
    document = {
        "format_version": 1,
        "id": "upsert",
        "target": {"schema": "id BIGINT, v STRING", "files": [[[1, "a"], [None, "n"]], [[3, "c"]]]},
        "source": {"schema": "id BIGINT, v STRING", "rows": [[1, "x"], [9, "y"]]},
        "sql": SQL,
    }
    return document | changes


def write_case(path: Path, **changes: Any) -> str:
    path.write_text(json.dumps(case_document(**changes)))
    return path.name
