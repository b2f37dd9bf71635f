"""Which values of the dimensions of a case occur together in random cases: pairs and triples, by the reference alone.

    python -m tools.benchmarks.generators.nway DIRECTORY [--seed 1] [--cases 20000] [--start 0] [--markdown]

Cases are drawn in portions, and each portion is a file in DIRECTORY. Run it again to go on after an interruption, or
run it twice at the same time with different ``--start``; portions that are there are not drawn again. The dimensions
and their values are data (``tools/nway/dimensions.py``), and so are the combinations that cannot be, with
their reasons (``impossible.py``).

The exit code is 1 if a possible pair occurs less than 20 times, if a possible three never occurs, or if a combination
occurs that is called impossible. ``--show N`` prints the N rarest combinations of each sort, ``--markdown`` the tables
of docs/generators.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.reference import MergeReference
from mergecheck.strategies import FULL_PROFILE, Stream, drawn_cases
from tools.nway.case_values import values_of
from tools.nway.counting import pairs_together, triples_together
from tools.nway.dimensions import DIMENSIONS, grouped
from tools.nway.impossible import PAIRS, TRIPLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.nway.counting import Together, Values

_PORTION = 100
_LEAST_PAIRS, _LEAST_TRIPLES = 20, 1


def main() -> int:
    """Draw missing cases, count, and print rare values."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="where the portions are")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=20_000, help="how many cases to count")
    parser.add_argument("--start", type=int, default=0, help="the first case to draw")
    parser.add_argument("--show", type=int, default=20, help="how many rare combinations to print")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/generators.md")
    given = parser.parse_args()
    _draw(given.directory, given.seed, start=given.start, end=given.cases)
    cases = [values for values in _drawn(given.directory, given.seed, given.cases) if values is not None]
    pairs = pairs_together(
        [grouped(case, coarse=False) for case in cases], [each.pairs() for each in DIMENSIONS], PAIRS
    )
    triples = triples_together(
        [grouped(case, coarse=True) for case in cases], [each.triples() for each in DIMENSIONS], (*PAIRS, *TRIPLES)
    )
    print(f"{len(cases)} cases of seed {given.seed} that the reference judges")
    if given.markdown:
        _print_dimensions(cases)
    return max(
        _report("pairs", pairs, least=_LEAST_PAIRS, show=given.show),
        _report("triples", triples, least=_LEAST_TRIPLES, show=given.show),
    )


def _draw(directory: Path, seed: int, *, start: int, end: int) -> None:
    """Draw the portions from a case on that are missing."""
    directory.mkdir(parents=True, exist_ok=True)
    stream = Stream(drawn_cases(profile=FULL_PROFILE))
    reference = MergeReference()
    for first in range(start - start % _PORTION, end, _PORTION):
        file = _file(directory, seed, first)
        if file.exists():
            continue
        found = [values_of(stream.draw(seed, index).case, reference) for index in range(first, first + _PORTION)]
        text = json.dumps([None if values is None else sorted(values) for values in found])
        part = file.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(file)
        print(f"drawn: cases {first} to {first + _PORTION - 1}", file=sys.stderr, flush=True)


def _drawn(directory: Path, seed: int, end: int) -> Iterator[frozenset[str] | None]:
    for first in range(0, end, _PORTION):
        file = _file(directory, seed, first)
        if file.exists():
            for values in json.loads(file.read_text(encoding="utf-8")):
                yield None if values is None else frozenset(values)


def _file(directory: Path, seed: int, first: int) -> Path:
    return directory / f"seed-{seed}-from-{first:06}.json"


def _report(what: str, found: Together, *, least: int, show: int) -> int:
    """Print the counts of one sort of combinations; return 1 if something is missing or contradicted."""
    few, wrong = found.below(least), found.contradicted
    print(
        f"{what}: {len(found.possible)} possible, {len(found.impossible)} impossible; "
        f"{len(few)} of the possible ones occur less than {least} times"
    )
    if wrong:
        print(f"called impossible, but they occur: {len(wrong)}")
        _print_some(wrong, show)
    rarest = sorted(found.possible.items(), key=lambda each: each[1])[:show]
    _print_some(dict(rarest), show)
    return int(bool(few or wrong))


def _print_some(counts: Mapping[Values, int], show: int) -> None:
    for values, number in list(counts.items())[:show]:
        print(f"  {number:>6}  {'  '.join(values)}")


def _print_dimensions(cases: list[frozenset[str]]) -> None:
    """Print each dimension with the share of the cases that have its values."""
    seen = [grouped(case, coarse=False) for case in cases]
    print("\n| Dimension | Values, percent of the cases | Coarse values |\n|---|---|---|")
    for each in DIMENSIONS:
        shares = ", ".join(
            f"{value} {sum(f'{each.name}={value}' in case for case in seen) / len(seen):.0%}" for value in each.values
        )
        coarse = ", ".join(each.coarse) or "left out"
        print(f"| {each.name} | {shares} | {coarse} |")
    print()


if __name__ == "__main__":
    raise SystemExit(main())
