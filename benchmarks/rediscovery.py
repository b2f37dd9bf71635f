"""Fuzz every released version that is known to be wrong, and hold what was found against what is known.

The known numbers are counts of causes; nobody tells a fuzzer where one cause ends. So two numbers stand beside each:

- at most: observed, which are findings that differ in the engine's error, or in the observable, the sort of difference,
  schema evolution and partitioning;
- at least: lifetimes. The minimal case of every finding runs on every version; findings of one kind that live in
  different sets of versions have different causes.

Run it with

    python -m benchmarks.rediscovery --max-time 600 --work DIR --markdown docs/rediscovery.md

A version whose answer is in the folder already is not run again.
"""

from __future__ import annotations

import argparse
import datetime as dt
import importlib.metadata
import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mergecheck.harness.engines import load_engine
from mergecheck.harness.findings.fingerprint import primary_mismatch
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.verdict import Verdict
from mergecheck.reference.case.case_file import load_cases

HEAD = """\
# Rediscovery

```
{command} --work DIR --markdown docs/rediscovery.md
```

This fuzzes released versions that are known to be wrong, {seconds} s each, and compares what was found with what is
known. The figures are of {date}, of version {version}.

Known deviations count as findings. The time of a version has three parts:

| Part | Share | What it draws |
|---|---|---|
| `all` | {all:.0%} | everything that the adapter takes: most cases meet an error of an old release first |
| `learned` | {learned:.0%} | nothing that the release refuses by `mergecheck learn` (`--capabilities`) |
| `large` | {large:.0%} | tables about as large as a batch of the engine (`--boundary`): {boundaries} rows |

*known* is the number of known causes of wrong behaviour. The columns after it say, for each kind: known causes /
causes found, at least and at most. One cause can show in several kinds. A run cannot tell where one cause ends, so
the number found is a range:

- At most: findings that differ in the engine's error, or in observable, kind of difference, schema evolution and
  partitioning.
- At least: findings of one kind whose minimal cases fail in different sets of versions.

Of all {known} known causes in all kinds and versions at least {least} and at most {most} were found, if what is found
beyond the known ones of a kind does not count.
"""
KINDS = ("rows", "no error", "metrics", "cdf", "error")


@dataclass(frozen=True, slots=True)
class Known:
    """A released version: how many causes are known in it, in all and by kind; one cause can show in several kinds."""

    engine: str
    causes: int
    by_kind: tuple[int, int, int, int, int]


KNOWN = (
    Known("delta-rs@0.12.0", 12, (7, 1, 3, 1, 4)),
    Known("delta-rs@0.15.0", 13, (8, 1, 3, 1, 4)),
    Known("delta-rs@0.16.2", 12, (8, 1, 3, 1, 3)),
    Known("delta-rs@0.18.2", 10, (6, 1, 4, 2, 2)),
    Known("delta-rs@0.19.1", 11, (4, 1, 4, 3, 4)),
    Known("delta-rs@0.20.2", 8, (3, 1, 3, 2, 3)),
    Known("delta-rs@0.23.2", 6, (3, 1, 2, 2, 1)),
    Known("delta-rs@0.25.5", 8, (4, 1, 2, 2, 2)),
    Known("delta-rs@1.2.1", 9, (5, 1, 2, 2, 2)),
    Known("delta-rs@1.5.0", 10, (6, 1, 3, 2, 2)),
    Known("delta-rs@1.6.0", 7, (3, 0, 0, 1, 3)),
    Known("duckdb@1.4.0", 11, (3, 2, 1, 0, 7)),
    Known("duckdb@1.5.1", 8, (3, 2, 1, 0, 4)),
    Known("duckdb@1.5.3", 8, (2, 2, 1, 0, 5)),
    Known("duckdb@1.5.6", 6, (1, 1, 2, 0, 3)),
)

# What runs on a version, as shares of its time.
PARTS = {"all": 0.5, "learned": 0.3, "large": 0.2}
# How many rows a batch of the engine has.
BATCH_ROWS = {"delta-rs": 8192, "duckdb": 2048}

# How checks count as kinds; what is not here (statistics of files, the commit) is counted as metrics.
_KIND_OF_CHECK = {"rows": "rows", "schema": "rows", "cdf": "cdf", "unchanged": "error"}


@dataclass(frozen=True, slots=True)
class Part:
    """What ``fuzz --json`` wrote about a part of a version's time, and where its findings are."""

    document: dict[str, Any]
    findings: Path


def run_version(engine: str, *, folder: Path, seed: int, max_time: int) -> list[Part]:
    """Fuzz one version in parts; a part whose answer is in the folder already is not run again.

    Returns:
        The parts that came to an end. What ended without a result is said on stderr, and runs again the next time.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """A finding in one version.

    Attributes:
        observed: what it looks like.
        path: its minimal case.
        lifetime: the versions in which its minimal case shows the same kind of fault.
    """

    kind: str
    observed: str
    num_cases: int
    path: Path
    lifetime: frozenset[str] = frozenset()


def findings(parts: list[Part]) -> dict[str, Seen]:
    """Read the findings of one version by id; two parts may have come to the same minimal case."""
    found: dict[str, Seen] = {}
    for part in parts:
        for finding in part.document["findings"]:
            text = finding["fingerprint"].split(": ", 1)[1]
            check, sort = text.split(" ")[:2]
            detail = text[text.index("(") :].strip("()") if "(" in text else ""
            path = part.findings / f"{finding['id']}.json"
            observed = detail or sort if check == "error" else " ".join([check, sort, *_traits(path)])
            before = found.get(finding["id"])
            num_cases = finding["num_cases"] + (before.num_cases if before else 0)
            found[finding["id"]] = Seen(kind=_kind(check, sort), observed=observed, num_cases=num_cases, path=path)
    return found


def _kind(check: str, sort: str) -> str:
    if check == "error":
        return "no error" if sort == "no_error" else "error"
    return _KIND_OF_CHECK.get(check, "metrics")


def with_lifetimes(found: dict[str, dict[str, Seen]], jobs: int) -> dict[str, dict[str, Seen]]:
    """Run every minimal case on all versions of its engine, some versions at the same time."""
    with ProcessPoolExecutor(jobs) as pool:
        alive = dict(zip(found, pool.map(partial(_alive_in, found=found), found), strict=True))
    return {
        version: {
            i: replace(one, lifetime=frozenset(v for v, those in alive.items() if (version, i) in those))
            for i, one in seen.items()
        }
        for version, seen in found.items()
    }


def _alive_in(version: str, *, found: dict[str, dict[str, Seen]]) -> set[tuple[str, str]]:
    """Name the findings of all versions whose minimal case shows the same kind of fault in one of them."""
    alive: set[tuple[str, str]] = set()
    engine = load_engine(version)
    for other, seen in found.items():
        if other.partition("@")[0] != version.partition("@")[0]:
            continue
        for finding_id, one in seen.items():
            (case,) = load_cases(one.path)
            report = check_case(case, engine)
            if report.verdict is Verdict.MISMATCH:
                first = primary_mismatch(report)
                if _kind(first.check.value, first.kind) == one.kind:
                    alive.add((other, finding_id))
    engine.close()
    return alive


def _traits(path: Path) -> list[str]:
    case = json.loads(path.read_text(encoding="utf-8"))
    evolves = "SCHEMA EVOLUTION" in case["sql"] or any("autoMerge" in name for name in case.get("conf", {}))
    named = {"with evolution": evolves, "partitioned": bool(case["target"].get("partition_by"))}
    return [name for name, holds in named.items() if holds]


@dataclass(frozen=True, slots=True)
class Cell:
    """The causes of one kind in one version: how many are known, and how many were found, as a range."""

    known: int
    least: int
    most: int


def cells(found: dict[str, dict[str, Seen]]) -> dict[str, list[Cell]]:
    """Count the causes of every version, by kind."""
    counted: dict[str, list[Cell]] = {}
    for known in KNOWN:
        if known.engine not in found:
            continue
        for kind, wanted in zip(KINDS, known.by_kind, strict=True):
            seen = [one for one in found[known.engine].values() if one.kind == kind]
            most = len({one.observed for one in seen})
            least = min(len({one.lifetime for one in seen}), most)
            counted.setdefault(known.engine, []).append(Cell(wanted, least, most))
    return counted


def shares(counted: dict[str, list[Cell]]) -> dict[str, str]:
    """Say how many causes are known in all, and which shares of them were found at least and at most."""
    every = [cell for cells_of_version in counted.values() for cell in cells_of_version]
    known = sum(cell.known for cell in every)
    least = sum(min(cell.known, cell.least) for cell in every) / known
    most = sum(min(cell.known, cell.most) for cell in every) / known
    return {"known": str(known), "least": f"{least:.0%}", "most": f"{most:.0%}"}


def table(counted: dict[str, list[Cell]], runs: dict[str, list[Part]]) -> list[str]:
    """Write the rows of the table: known causes, then the least and the largest number of causes found, by kind."""
    lines = [f"| engine | cases | verified | known | {' | '.join(KINDS)} |", "|---|---|---|---|" + "---|" * len(KINDS)]
    for known in KNOWN:
        if known.engine not in counted:
            continue
        texts = (f"{c.known} / {c.least}-{c.most}" if c.most else f"{c.known} / 0" for c in counted[known.engine])
        documents = [part.document for part in runs[known.engine]]
        num_cases = sum(document["num_cases"] for document in documents)
        share = sum(document["verified"] for document in documents) / max(num_cases, 1)
        lines.append(f"| {known.engine} | {num_cases} | {share:.0%} | {known.causes} | {' | '.join(texts)} |")
    return lines


def details(found: dict[str, dict[str, Seen]]) -> list[str]:
    """List the observed of every version with their numbers of cases."""
    lines: list[str] = []
    for engine, seen in found.items():
        lines += ["", f"## {engine}", ""]
        for kind in KINDS:
            counts: Counter[str] = Counter()
            for one in seen.values():
                counts[one.observed] += one.num_cases if one.kind == kind else 0
            listed = "; ".join(f"`{observed}` {count}" for observed, count in counts.most_common() if count)
            lines += [f"- {kind}: {listed or 'none'}"]
    return lines


def main() -> None:
    """Run what has not run yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-time", type=int, default=600, help="seconds for each version")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="versions that run at the same time")
    parser.add_argument("--work", type=Path, required=True, help="folder for answers and findings")
    parser.add_argument("--markdown", type=Path, help="write the page there, instead of printing it")
    options = parser.parse_args()
    run = partial(run_version, folder=options.work, seed=options.seed, max_time=options.max_time)
    engines = [known.engine for known in KNOWN]
    runs: dict[str, list[Part]] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        for engine, parts in zip(engines, pool.map(run, engines), strict=True):
            if parts:
                runs[engine] = parts
            print(f"{engine}: {', '.join(str(part.document['num_cases']) for part in parts)} cases", file=sys.stderr)
    found = with_lifetimes({engine: findings(parts) for engine, parts in runs.items()}, options.jobs)
    counted = cells(found)
    head = HEAD.format(
        command=f"python -m benchmarks.rediscovery --max-time {options.max_time} --seed {options.seed}",
        seconds=options.max_time,
        date=dt.datetime.now(tz=dt.UTC).date(),
        version=importlib.metadata.version("mergecheck"),
        boundaries=" and ".join(f"{rows} ({engine})" for engine, rows in BATCH_ROWS.items()),
        **PARTS,
        **shares(counted),
    )
    page = "\n".join([head, *table(counted, runs), *details(found), ""])
    if options.markdown is None:
        print(page)
    else:
        options.markdown.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
