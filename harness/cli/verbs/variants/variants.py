"""``mergecheck variants``: check cases under configurations that must not change their outcome."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from mergecheck.harness.cli.html.rendering import html_option, write_html
from mergecheck.harness.cli.html.variants import variants_page
from mergecheck.harness.cli.options import (
    batch_option,
    deviation_options,
    engine_option,
    findings_option,
    json_option,
    known_deviations,
    max_cases_option,
    max_time_option,
    seed_option,
    trust_option,
    verbose_option,
)
from mergecheck.harness.cli.output.terminal import emit_json, show, show_table
from mergecheck.harness.cli.verbs.variants.runs import (
    chosen_variants,
    exit_code,
    plugin_options,
    run_variants,
    variant_option,
)
from mergecheck.harness.findings.corpus import load_corpus
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.search.session import open_engine
from mergecheck.harness.variants.variant import axes_of
from mergecheck.harness.variants.variants_text import (
    COLUMNS,
    axes_json,
    doubt_lines,
    finding_lines,
    finding_report,
    list_lines,
    rows_of,
    run_document,
    summary_lines,
)
from mergecheck.harness.verdict import ExitCode, UserInputError

if TYPE_CHECKING:
    from mergecheck.harness.variants.variants_run import VariantRun
    from mergecheck.model.case import Case

DEFAULT_MAX_CASES = 50
MOST_LINES, MOST_DOUBTS, MOST_FINDINGS = 12, 3, 4
"""Lines of the end of a run; all only with --verbose."""


@click.command()
@click.argument("paths", nargs=-1, metavar="[CASE]...")
@engine_option
@max_cases_option
@max_time_option
@seed_option
@click.option(
    "--first", type=click.IntRange(min=0), default=0, metavar="N", help="Number of the first case of the seed."
)
@batch_option
@variant_option
@plugin_options
@click.option(
    "--require-plan",
    "required",
    multiple=True,
    metavar="OPERATOR",
    help="End with exit code 4 if no executed plan has this operator, for example BroadcastHashJoin.",
)
@click.option(
    "--require-path",
    "required_paths",
    multiple=True,
    metavar="NAME",
    help="End with exit code 4 if no merge took this path of the engine (Outcome.paths). Repeat it for more.",
)
@click.option(
    "--unset",
    multiple=True,
    metavar="SETTING",
    help="Take this setting out of every case, so that it excludes no variant. Repeat it for more.",
)
@click.option("--max-findings", type=click.IntRange(min=1), metavar="N", help="Stop after N different findings.")
@click.option("--list", "lists", is_flag=True, help="List the axes of the engine with their values; run nothing.")
@findings_option("Where differences are saved, and ids of findings are looked up.")
@deviation_options
@trust_option
@html_option
@verbose_option
@json_option
def variants(
    *,
    paths: tuple[str, ...],
    engine_name: str,
    max_cases: int | None,
    max_seconds: float | None,
    seed: int | None,
    first: int,
    batch_size: int | None,
    names: tuple[str, ...],
    spark_settings: tuple[str, ...],
    proof: tuple[str, ...],
    required: tuple[str, ...],
    required_paths: tuple[str, ...],
    unset: tuple[str, ...],
    max_findings: int | None,
    lists: bool,
    findings_directory: Path,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    trust: bool,
    html_file: Path | None,
    verbose: bool,
    as_json: bool,
) -> int:
    """Check cases under configurations and layouts that must not change their outcome.

    CASE is a case file, a folder of them, or the id of a finding. A saved case runs under every variant; a finding of
    this verb runs under its own. Without CASE, random cases run under eight variants each (50 cases if no budget is
    given).
    """
    if lists:
        with open_engine(engine_name) as engine:
            axes = axes_of(engine)
        if as_json:
            emit_json({"variants": axes_json(axes)})
        else:
            show("\n".join(list_lines(axes)))
        return ExitCode.AGREE
    chosen, plugin = chosen_variants(names, spark_settings, proof)
    given = _given(paths, findings_directory, trust=trust)
    batch_size = batch_size or 1
    if given is not None and batch_size > 1:
        raise UserInputError("--batch is for random cases: leave out either --batch or CASE")
    if seed is None:
        seed = secrets.randbelow(2**31)
    if max_cases is None and max_seconds is None and not paths:
        max_cases = DEFAULT_MAX_CASES
    deviations = known_deviations(deviation_files, none=no_deviations)
    run, interrupted = run_variants(
        engine_name,
        given,
        seed=seed,
        first=first,
        batch_size=batch_size,
        max_cases=max_cases,
        max_seconds=max_seconds,
        max_findings=max_findings,
        unset=frozenset(unset),
        names=chosen,
        plugin=plugin,
        findings=FindingsDirectory(findings_directory),
        deviations=deviations,
    )
    code = exit_code(run, required=required, required_paths=required_paths)
    code = ExitCode.INTERRUPTED if interrupted else code
    flags = "".join(f" --variant {name}" for name in names)
    flags += "".join(f" --spark-conf {shlex.quote(text)}" for text in spark_settings)
    flags += "".join(f" --proof {shlex.quote(operator)}" for operator in proof)
    flags += "".join(f" --unset {shlex.quote(name)}" for name in unset)
    flags += (f" --first {first}" if first else "") + (f" --batch {batch_size}" if batch_size > 1 else "")
    again = (
        f"mergecheck variants --engine {engine_name}{flags} --seed {seed} --max-cases {max(1, run.counts.num_cases)}"
    )
    if as_json:
        document = run_document(run.counts, run.found, required=required, required_paths=required_paths)
        emit_json({"engine": engine_name, "seed": None if paths else seed, **document, "exit_code": int(code)})
    else:
        doubts = doubt_lines(run.counts, required=required, required_paths=required_paths)
        same = "" if paths else f"seed {seed}  same cases again: {again}"
        _show(run, doubts, again=same, verbose=verbose)
    if html_file is not None:
        page = variants_page(
            run.counts,
            run.found,
            engine=engine_name,
            required=required,
            required_paths=required_paths,
            again="" if paths else again,
            code=code,
        )
        write_html(html_file, page)
    return code


def _given(paths: tuple[str, ...], findings: Path, *, trust: bool) -> list[Case] | None:
    if not paths:
        return None
    corpus = load_corpus(paths, trust=trust, findings=FindingsDirectory(findings))
    if corpus.unreadable:
        raise UserInputError("\n".join(corpus.unreadable))
    return [saved.case for saved in corpus.cases]


def _show(run: VariantRun, doubts: list[str], *, again: str, verbose: bool) -> None:
    """Print the reports of the findings, and an end of at most 12 lines, the findings last."""
    for finding in run.found:
        show(finding_report(finding, path=finding.path or Path(f"{finding.report.case.id}.json")) + "\n")
    summary = summary_lines(run.counts, verbose=verbose)
    doubts = _first(doubts, MOST_DOUBTS, "doubts", verbose=verbose)
    found = _first(finding_lines(run.found), MOST_FINDINGS, "findings", verbose=verbose)
    lines = [*summary, *doubts, *([again] if again else []), *found]
    rows = rows_of(run.counts)
    if verbose or len(lines) + len(rows) < MOST_LINES:
        table = Table(box=None, pad_edge=False)
        for column in COLUMNS:
            table.add_column(column, justify="left" if column == COLUMNS[0] else "right", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        show_table(table)
    show("\n".join(lines))


def _first(lines: list[str], most: int, what: str, *, verbose: bool) -> list[str]:
    if verbose or len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"and {len(lines) - most + 1} more {what}: --verbose or --html shows them"]
