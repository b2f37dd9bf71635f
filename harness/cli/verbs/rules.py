"""``mergecheck lab rules``: the page of a rule, or which rules of the specification some cases reach."""

from __future__ import annotations

import itertools
import secrets
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from mergecheck.harness.cli.options import findings_option, json_option
from mergecheck.harness.cli.output.rule_pages import is_rule_number, print_pages
from mergecheck.harness.cli.output.terminal import emit_json, notice, notice_unreadable, show, stdout
from mergecheck.harness.findings.corpus import load_corpus
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.properties.facts import facts_of
from mergecheck.harness.properties.rule_counts import RuleState, known_rules, rule_counts, rules_line, tally
from mergecheck.harness.specification.rules import load_rules
from mergecheck.harness.verdict import ExitCode, UserInputError
from mergecheck.reference import MergeReference
from mergecheck.strategies import samples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mergecheck.harness.properties.rule_counts import RuleCount, Tally
    from mergecheck.model.case import Case

DEFAULT_MAX_CASES = 500


@click.command()
@click.argument("arguments", nargs=-1, metavar="[PATH... | RULE...]")
@click.option("--max-cases", type=click.IntRange(min=1), metavar="N", help="Random cases to draw.  [default: 500]")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="The same seed gives the same cases. Drawn and printed if left out.",
)
@click.option(
    "--require-all", is_flag=True, help="End with exit code 4 if a rule that a case can reach was not reached."
)
@findings_option("Where ids of findings are looked up.")
@json_option
def rules(
    *,
    arguments: tuple[str, ...],
    max_cases: int | None,
    seed: int | None,
    require_all: bool,
    findings_directory: Path,
    as_json: bool,
) -> int:
    """Count the cases that reach each rule of the specification; no engine is started.

    PATH is a case file, a folder of them, or the id of a finding. Without PATH, random cases are drawn.

    RULE is the number of a rule, such as R-320 or P-12. Its page is printed: text, minimal case and random cases.
    """
    numbers = [argument.upper() for argument in arguments if is_rule_number(argument)]
    if numbers:
        if len(numbers) < len(arguments) or max_cases is not None or seed is not None or require_all:
            raise click.UsageError("give either numbers of rules or cases to count; a number takes --json only")
        return print_pages(numbers, as_json=as_json)
    paths = arguments
    if paths and (max_cases is not None or seed is not None):
        raise click.UsageError("--max-cases and --seed choose random cases; leave them out if PATH is given")
    if paths:
        counted, unreadable = _tally_saved(paths, FindingsDirectory(findings_directory))
        again = ""
    else:
        seed = secrets.randbelow(2**31) if seed is None else seed
        max_cases = max_cases or DEFAULT_MAX_CASES
        notice(f"evaluating {max_cases} random cases, seed {seed} ...")
        counted, unreadable = _tally(_random_cases(seed, max_cases)), ()
        again = f"seed {seed}  same cases again: mergecheck lab rules --seed {seed} --max-cases {max_cases}"
    counts = rule_counts(known_rules(), counted.rules)
    code = exit_code(counts, require_all=require_all, num_unreadable=len(unreadable))
    if as_json:
        emit_json(_document(counts, counted, seed=seed, unreadable=unreadable, code=code))
    else:
        _print_result(counts, counted, again)
    return code


def exit_code(counts: Sequence[RuleCount], *, require_all: bool, num_unreadable: int) -> ExitCode:
    """Return the exit code of a count; a run with unreadable cases never ends with 0."""
    if num_unreadable:
        return ExitCode.USAGE
    if require_all and any(count.state is RuleState.NOT_REACHED for count in counts):
        return ExitCode.INCONCLUSIVE
    return ExitCode.AGREE


def _tally_saved(paths: tuple[str, ...], findings: FindingsDirectory) -> tuple[Tally, tuple[str, ...]]:
    corpus = load_corpus(paths, trust=True, findings=findings)  # no engine runs them
    notice_unreadable(corpus.unreadable)
    if not corpus.cases:
        raise UserInputError("no case could be read; the messages above say why")
    return _tally(saved.case for saved in corpus.cases), corpus.unreadable


def _random_cases(seed: int, number: int) -> Iterator[Case]:
    return (drawn.case for drawn in itertools.islice(samples(seed), number))


def _tally(cases: Iterator[Case]) -> Tally:
    evaluate = MergeReference().evaluate
    evaluated = ((case, evaluate(case)) for case in cases)
    return tally((reference, facts_of(case, reference)) for case, reference in evaluated)


def _document(
    counts: Sequence[RuleCount], counted: Tally, *, seed: int | None, unreadable: Sequence[str], code: ExitCode
) -> dict[str, Any]:
    texts = load_rules()
    states = [count.state for count in counts]
    return {
        "seed": seed,
        "num_cases": counted.num_cases,
        "unsupported": dict(counted.unsupported),
        "reached": states.count(RuleState.REACHED),
        "not_reached": states.count(RuleState.NOT_REACHED),
        "out_of_reach": states.count(RuleState.OUT_OF_REACH),
        "rules": {
            count.rule.number: {
                "title": texts[count.rule.number].title,
                "num_cases": count.num_cases,
                "out_of_reach": count.rule.out_of_reach,
            }
            for count in counts
        },
        "unreadable": list(unreadable),
        "exit_code": int(code),
    }


def _print_result(counts: Sequence[RuleCount], counted: Tally, again: str) -> None:
    console = stdout()
    if console.is_terminal:
        console.print(_table(counts))
    else:
        show("\n".join(_lines(counts)), console=console)
    num_out_of_reach = sum(count.state is RuleState.OUT_OF_REACH for count in counts)
    num_unsupported = counted.unsupported.total()
    left_out = f", {num_unsupported} not supported by the reference:" if num_unsupported else ""
    show(f"{rules_line(counts)}; {num_out_of_reach} out of reach; {counted.num_cases} cases{left_out}", console=console)
    for reason, number in counted.unsupported.most_common():
        show(f"    {number:>4}  {reason}", console=console)
    if again:
        show(again, console=console)


def _table(counts: Sequence[RuleCount]) -> Table:
    table = Table("rule", "title", box=None, pad_edge=False)
    table.add_column("cases", justify="right")
    table.add_column("")
    texts = load_rules()
    for count in counts:
        style = "bold yellow" if count.state is RuleState.NOT_REACHED else None
        table.add_row(count.rule.number, texts[count.rule.number].title, _number(count), _remark(count), style=style)
    return table


def _lines(counts: Sequence[RuleCount]) -> list[str]:
    texts = load_rules()
    cells = [("rule", "title", "cases", "")]
    cells += [(count.rule.number, texts[count.rule.number].title, _number(count), _remark(count)) for count in counts]
    width = max(len(title) for _, title, _, _ in cells)
    return [f"{rule:<6} {title:<{width}} {number:>6}  {remark}".rstrip() for rule, title, number, remark in cells]


def _number(count: RuleCount) -> str:
    return "-" if count.state is RuleState.OUT_OF_REACH else str(count.num_cases)


def _remark(count: RuleCount) -> str:
    if count.state is RuleState.OUT_OF_REACH:
        return f"{count.state.value}: {count.rule.out_of_reach}"
    return count.state.value if count.state is RuleState.NOT_REACHED else ""
