"""The fuzz runs of a version and their results."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What runs on a version, as shares of its time.
PARTS = {"all": 0.5, "learned": 0.3, "large": 0.2}
# How many rows a batch of the engine has.
BATCH_ROWS = {"delta-rs": 8192, "duckdb": 2048}


@dataclass(frozen=True, slots=True)
class Part:
    """What ``fuzz --json`` wrote about a part of a version's time, and where its findings are."""

    document: dict[str, Any]
    findings: Path


def run_version(engine: str, *, folder: Path, seed: int, max_time: int) -> list[Part]:
    """Fuzz one version in parts; a part whose answer is in the folder already is not run again.

    Returns:
        The parts that came to an end. A part without a result is reported on stderr, and runs again the next time.
    """
    home = folder / engine
    home.mkdir(parents=True, exist_ok=True)
    capabilities = home / "capabilities.json"
    if not capabilities.exists():
        _mergecheck("learn", engine, "--output", str(capabilities))
    own = {
        "all": [],
        "learned": ["--capabilities", str(capabilities)],
        "large": ["--boundary", str(BATCH_ROWS[engine.partition("@")[0]])],
    }
    parts = []
    for number, (name, share) in enumerate(PARTS.items()):
        answer, found = home / f"{name}.json", home / name
        if not answer.exists():
            options = ["--engine", engine, "--seed", str(seed + number), "--max-time", str(round(share * max_time))]
            options += ["--max-cases", "1000000", "--floor", "0", "--no-deviations", "--findings", str(found), "--json"]
            told = _mergecheck("fuzz", *options, *own[name])
            if b'"num_cases"' not in told:  # nothing at all, or an error instead of a result
                print(f"{engine}: {name} ended without a result", file=sys.stderr)
                continue
            answer.write_bytes(told)
        parts.append(Part(json.loads(answer.read_text(encoding="utf-8")), found))
    return parts


def _mergecheck(*arguments: str) -> bytes:
    program = Path(sys.executable).with_name("mergecheck")
    command = [str(program), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout  # noqa: S603 - our own words
