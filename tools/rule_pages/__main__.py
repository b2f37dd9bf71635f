"""``make specification``: write docs/specification and the data that its pages show."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from mergecheck.harness.lab.rule_pages.held_by import find_tests
from mergecheck.harness.lab.rule_pages.markdown import all_files
from mergecheck.harness.lab.rule_pages.page import load_pages, minimal_case
from mergecheck.harness.properties.rule_counts import known_rules
from mergecheck.model.case_file import dump_case
from tools.rule_pages.minimal_cases import draw, smallest

DATA = Path("harness/specification")
PAGES = Path("docs/specification")


@click.command()
@click.option("--draw", "num_cases", type=click.IntRange(min=1), help="Count rules on this many random cases.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
def main(num_cases: int | None, seed: int) -> None:
    """Write the pages; run it in the repository's folder.

    With ``--draw`` the random cases that reach each rule are counted anew, and rules without a minimal case get one.
    """
    if num_cases is not None:
        _draw(num_cases, seed)
    tests = find_tests(Path())
    _write_json(DATA / "tests.json", tests)
    files = all_files(load_pages(tests=tests))
    PAGES.mkdir(exist_ok=True)
    for stale in {path.name for path in PAGES.glob("*.md")} - files.keys():
        (PAGES / stale).unlink()
    for name, text in files.items():
        (PAGES / name).write_text(text, encoding="utf-8")
    click.echo(f"{PAGES}: {len(files)} files")


def _draw(num_cases: int, seed: int) -> None:
    missing = [r.number for r in known_rules() if r.out_of_reach is None and minimal_case(r.number) is None]
    drawn = draw(num_cases, seed, wanted=missing)
    _write_json(DATA / "reach.json", asdict(drawn.reach))
    for number, cases in drawn.reaching.items():
        case = smallest(number, cases)
        if case is None:
            click.echo(f"{number}: no random case reached it")
        else:
            (DATA / "cases" / f"{number}.json").write_text(dump_case(case) + "\n", encoding="utf-8")


def _write_json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
