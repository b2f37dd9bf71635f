"""The page: causes that are known, and how many of them were found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tools.benchmarks.rediscovery.known import KINDS, KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tools.benchmarks.rediscovery.findings import Seen
    from tools.benchmarks.rediscovery.runs import Part

HEAD = """\
# Rediscovery

```
{command} --work DIR --markdown docs/rediscovery.md
```

This fuzzes released versions that are known to be wrong, {seconds} s each, and compares what was found with what is
known. The figures are of {date}, of version {version}.

Known deviations count as findings. The time of a version has three parts:

| Part | Share | Cases |
|---|---|---|
| `all` | {all:.0%} | everything that the adapter takes: most cases meet an error of an old release first |
| `learned` | {learned:.0%} | nothing that the release refuses by `mergecheck engine conform` (`--capabilities`) |
| `large` | {large:.0%} | tables about as large as a batch of the engine (`--boundary`): {boundaries} rows |

*known* is the number of known causes of wrong behaviour. The columns after it say, for each kind: known causes /
causes found, at least and at most. One cause can show in several kinds. A run cannot tell where one cause ends, so
the number found is a range:

- At least: findings of one kind that count as different causes. The minimal case of every finding runs on every
  version; two findings count as different if a version shows one of them, and the other not. A version tells nothing
  about a finding if another fault hides it. A cause that a version mended in part can count twice.
- At most: the same among those alike, added up. Findings are alike if they have the engine's error, or observable, kind
  of difference, schema evolution and partitioning.

Of all {known} known causes in all kinds and versions at least {least} and at most {most} were found, if what is found
beyond the known ones of a kind does not count.
"""


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
            least = num_causes(seen)
            alike = ([one for one in seen if one.observed == observed] for observed in {one.observed for one in seen})
            most = max(least, sum(num_causes(group) for group in alike))
            counted.setdefault(known.engine, []).append(Cell(wanted, least, most))
    return counted


def num_causes(seen: Iterable[Seen]) -> int:
    """Count findings of which any two have different causes; there may be more than it picks."""
    picked: list[Seen] = []
    for one in sorted(seen, key=lambda one: (-len(one.shown), one.path)):
        if all(one.is_another_than(other) for other in picked):
            picked.append(one)
    return len(picked)


def shares(counted: dict[str, list[Cell]]) -> dict[str, str]:
    """State the number of known causes, and the shares of them that were found at least and at most."""
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
