"""Write the corpus: ``python -m tools.corpus --cases 5000 --seed 1 --out corpus-1.jsonl``."""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections import Counter
from pathlib import Path

from tools.corpus.entries import FEW, VERSION, entries


def main() -> None:
    """Write the file, and count what its cases reach."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(f"corpus-{VERSION}.jsonl"))
    given = parser.parse_args()
    rules, properties, outcomes = Counter[str](), Counter[str](), Counter[str]()
    pairs, sizes = Counter[tuple[str, str]](), Counter[int]()
    with given.out.open("w", encoding="utf-8") as out:
        for entry in entries(given.cases, given.seed, given.jobs):
            out.write(json.dumps(entry, ensure_ascii=False) + "\n")
            rules.update(entry["rules"])
            properties.update(entry["properties"])
            pairs.update(itertools.combinations(entry["properties"], 2))
            outcomes[entry["derived"]["outcome"]] += 1
            sizes[sum(map(len, entry["target"]["files"])) + len((entry.get("source") or {}).get("rows", ()))] += 1
    possible = len(properties) * (len(properties) - 1) // 2
    few = sum(number < FEW for number in pairs.values())
    lines = [
        f"{given.out}: version {VERSION}, {outcomes.total()} cases, {dict(outcomes)}",
        f"rules {len(rules)}, properties {len(properties)}",
        f"pairs of properties: {len(pairs)} of {possible} occur, {few} of them in fewer than {FEW} cases",
        f"rows of both tables: {statistics.median(sizes.elements()):g} in the median case, at most {max(sizes)}",
        *(f"  {number:>6}  {name}" for name, number in sorted({**rules, **properties}.items())),
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
