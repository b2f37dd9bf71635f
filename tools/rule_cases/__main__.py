"""Counts the random cases that reach each rule, and shrinks a minimal case for each rule that lacks one."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from mergecheck.harness.lab.rule_pages.page import minimal_case
from mergecheck.harness.properties.rule_counts import known_rules
from mergecheck.model.case_file import dump_case
from tools.rule_cases.minimal_cases import draw, smallest

DATA = Path("harness/specification")


@click.command()
@click.option("--cases", "num_cases", type=click.IntRange(min=1), default=2000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
def main(num_cases: int, seed: int) -> None:
    """Write reach.json and missing cases to harness/specification; run it in the repository's folder."""
    missing = [r.number for r in known_rules() if r.out_of_reach is None and minimal_case(r.number) is None]
    drawn = draw(num_cases, seed, wanted=missing)
    text = json.dumps(asdict(drawn.reach), indent=1, ensure_ascii=False)
    (DATA / "reach.json").write_text(text + "\n", encoding="utf-8")
    for number, cases in drawn.reaching.items():
        case = smallest(number, cases)
        if case is None:
            click.echo(f"{number}: no random case reached it")
        else:
            (DATA / "cases" / f"{number}.json").write_text(dump_case(case) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
