"""Delta tables with a damaged log or damaged files."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from tools.benchmarks.bad_input.documents import damaged, damaged_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random


def damaged_table(sound: Mapping[str, bytes], chance: Random) -> dict[str, bytes]:
    """Return the files of a table with one damaged or missing; ``sound`` are the files of ``sound_table``."""
    files = dict(sound)
    name = chance.choice(sorted(files))
    kind = chance.random()
    if kind < 0.1:
        del files[name]
    elif name.endswith(".json"):
        files[name] = _damaged_log(files[name], chance)
    else:
        files[name] = _damaged_bytes(files[name], chance)
    return files


def sound_table() -> Mapping[str, bytes]:
    """Make a table of two files and three versions, with a checkpoint at the second one."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(3):
            rows = pa.table({"id": pa.array([number, 10 + number], pa.int64()), "v": ["a", None]})
            write_deltalake(folder, rows, mode="append", configuration={"delta.enableChangeDataFeed": "true"})
            if number == 1:
                DeltaTable(folder).create_checkpoint()
        root = Path(folder)
        return {
            f"table/{path.relative_to(root)}": path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()
        }


def _damaged_log(content: bytes, chance: Random) -> bytes:
    lines = content.decode().splitlines()
    at = chance.randrange(len(lines))
    damaged_line = damaged(json.loads(lines[at]), chance)
    before, after = "\n".join(lines[:at]).encode(), "\n".join(lines[at + 1 :]).encode()
    return b"\n".join([*([before] if before else []), damaged_line, *([after] if after else [])])


def _damaged_bytes(content: bytes, chance: Random) -> bytes:
    if chance.random() < 0.3:
        return content[: chance.randrange(len(content))]
    changed = bytearray(content)
    for _ in range(chance.randint(1, 20)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed) if chance.random() < 0.9 else damaged_text("PAR1", chance)
