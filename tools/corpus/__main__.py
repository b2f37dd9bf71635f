"""Write the corpus: ``python -m tools.corpus --cases 5000 --seed 1 --out corpus-1.jsonl``."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from tools.corpus.entries import VERSION, entries


def main() -> None:
    """Write the file, and count what its cases reach."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(f"corpus-{VERSION}.jsonl"))
    given = parser.parse_args()
    rules, properties, outcomes = Counter[str](), Counter[str](), Counter[str]()
    pairs: set[tuple[str, str]] = set()
    with given.out.open("w", encoding="utf-8") as out:
        for entry in entries(given.cases, given.seed):
            out.write(json.dumps(entry, ensure_ascii=False) + "\n")
            rules.update(entry["rules"])
            properties.update(entry["properties"])
            outcomes[entry["derived"]["outcome"]] += 1
            pairs |= {(one, other) for one in entry["properties"] for other in entry["properties"] if one < other}
    told = [f"{given.out}: version {VERSION}, {outcomes.total()} cases, {dict(outcomes)}"]
    possible = len(properties) * (len(properties) - 1) // 2
    told.append(f"rules {len(rules)}, properties {len(properties)}, pairs of them {len(pairs)} of {possible}")
    told += [f"  {number:>6}  {name}" for name, number in sorted({**rules, **properties}.items())]
    sys.stdout.write("\n".join(told) + "\n")


if __name__ == "__main__":
    main()
