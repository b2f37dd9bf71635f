"""Record engines' answers to a few plain cases, which tests of the comparator then change without any engine.

``python -m tools.benchmarks.record_answers ENGINE ...`` writes ``tests/meta/recorded/ENGINE.json`` anew, with the
answers that agree with the reference; run it in the repository's folder after an observable was added.
"""

from __future__ import annotations

from pathlib import Path

import click

from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.search.session import open_engine
from mergecheck.harness.verdict import Verdict
from mergecheck.model.case_file import load_cases
from mergecheck.model.outcome import Outcome, Rejection
from tools.output_mutations.answers import answers_to_json

FOLDER = Path("tests/meta/recorded")


@click.command()
@click.argument("engines", nargs=-1, required=True, metavar="ENGINE...")
def main(engines: tuple[str, ...]) -> None:
    """Ask each engine for its answers to the cases in the folder."""
    cases = load_cases(FOLDER / "cases.jsonl")
    for name in engines:
        with open_engine(name) as engine:
            reports = [check_case(case, engine) for case in cases]
            answers: dict[str, Outcome | Rejection] = {
                report.case.id: report.result
                for report in reports
                if report.verdict is Verdict.AGREE and isinstance(report.result, Outcome)
            }
            for report in reports:
                lines = [line for mismatch in report.mismatches for line in mismatch.lines]
                click.echo("  ".join([name, report.case.id, report.verdict.value, report.reason, *lines]))
            (FOLDER / f"{engine.name}.json").write_text(answers_to_json(engine, answers), encoding="utf-8")


if __name__ == "__main__":
    main()
