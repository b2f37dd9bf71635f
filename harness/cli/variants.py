"""``mergecheck variants`` and ``bisect``: one case under configurations that must not change its outcome."""

from __future__ import annotations

import itertools
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from harness.cli.terminal import (
    batch_option,
    deviation_options,
    emit_json,
    engine_option,
    json_option,
    known_deviations,
    notice,
    show,
    show_table,
)
from harness.corpus import find_case_file, load_corpus
from harness.errors import ExitCode, UserInputError
from harness.findings import FINDINGS_DIRECTORY, FindingsDirectory
from harness.verdict import Verdict
from reference.case_file import load_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.deviations import Deviations
    from harness.drawing import Draws
    from harness.engine import ConfigurableEngine, Engine
    from harness.variants.run import VariantFinding, VariantRun
    from harness.variants.variant import Variant
    from reference.case import Case

DEFAULT_MAX_CASES = 50

_variant_option = click.option(
    "--variant",
    "names",
    multiple=True,
    metavar="NAME",
    help="AXIS=PLACE, or several behind commas as one variant; may be given several times. All where none is given.",
)


@click.command()
@click.argument("paths", nargs=-1, metavar="[CASE]...")
@engine_option()
@click.option("--max-cases", type=click.IntRange(min=1), metavar="N", help="Stop after N cases.")
@click.option("--max-time", "max_seconds", type=click.FloatRange(min=0), metavar="S", help="Stop after S seconds.")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="The same seed gives the same cases.")
@click.option(
    "--first", type=click.IntRange(min=0), default=0, metavar="N", help="Number of the seed's case to begin with."
)
@batch_option
@_variant_option
@click.option(
    "--require-plan",
    "required",
    multiple=True,
    metavar="OPERATOR",
    help="Inconclusive (exit 4) where no plan of the run shows this operator, such as BroadcastHashJoin.",
)
@click.option("--list", "lists", is_flag=True, help="List axes and places, with domains and exceptions; run nothing.")
@click.option(
    "--findings",
    type=click.Path(path_type=Path, file_okay=False),
    default=FINDINGS_DIRECTORY,
    show_default=True,
    metavar="DIR",
    help="Where differences are kept, and ids of findings are looked up.",
)
@deviation_options
@json_option
def variants(
    *,
    paths: tuple[str, ...],
    engine_name: str,
    max_cases: int | None,
    max_seconds: float | None,
    seed: int | None,
    first: int,
    batch_size: int,
    names: tuple[str, ...],
    required: tuple[str, ...],
    lists: bool,
    findings: Path,
    deviation_files: tuple[Path, ...],
    no_deviations: bool,
    as_json: bool,
) -> int:
    """Run cases under configurations and layouts that must not change their outcome.

    CASE is a case file, a folder of them or the id of a finding: saved cases run under every variant, one saved by this
    verb under its own. Without CASE, random cases run under eight variants each (50 cases where no limit is given).
    """
    from harness.variants.text import choices_json, list_lines, run_document  # noqa: PLC0415 - slow imports
    from harness.variants.variant import variant_named  # noqa: PLC0415 - the same

    if lists:
        if as_json:
            emit_json({"variants": choices_json()})
        else:
            show("\n".join(list_lines()))
        return ExitCode.AGREE
    only = tuple(variant_named(name) for name in names)
    given = _given(paths, findings)
    if given is not None and batch_size > 1:
        raise UserInputError("--batch is for random cases: leave it out, or the cases")
    if seed is None:
        seed = secrets.randbelow(2**31)
    if max_cases is None and max_seconds is None and not paths:
        max_cases = DEFAULT_MAX_CASES
    deviations = known_deviations(deviation_files, none=no_deviations)
    run, interrupted = _run(
        engine_name,
        given,
        seed=seed,
        first=first,
        batch_size=batch_size,
        max_cases=max_cases,
        max_seconds=max_seconds,
        only=only,
        findings=FindingsDirectory(findings),
        deviations=deviations,
    )
    code = ExitCode.INTERRUPTED if interrupted else exit_code(run, required=required)
    if as_json:
        document = run_document(run.counts, run.found, required=required)
        emit_json({"engine": engine_name, "seed": None if paths else seed, **document, "exit_code": int(code)})
    else:
        _show(run, required=required)
        if not paths:
            flags = "".join(f" --variant {name}" for name in names)
            flags += (f" --first {first}" if first else "") + (f" --batch {batch_size}" if batch_size > 1 else "")
            show(
                f"seed {seed}  same cases again: mergecheck variants --engine {engine_name}{flags} --seed {seed} "
                f"--max-cases {max(1, run.counts.num_cases)}"
            )
    return code


@click.command()
@click.argument("case", metavar="CASE")
@engine_option()
@_variant_option
@json_option
def bisect(*, case: str, engine_name: str, names: tuple[str, ...], as_json: bool) -> int:
    """Name the axes that flip the outcome of a case.

    CASE is a case file or the id of a finding. A finding of the verb variants names its variant; for any other case,
    --variant says which one to take apart.
    """
    from harness.shrink import ShrinkLimits  # noqa: PLC0415 - slow imports that --help need not wait for
    from harness.variants.text import run_document  # noqa: PLC0415 - the same
    from harness.variants.variant import VARIANT_SETTING, variant_named  # noqa: PLC0415 - the same

    loaded = load_cases(find_case_file(case))
    if len(loaded) != 1:
        raise UserInputError(f"{case} holds {len(loaded)} cases, bisect takes one")
    if not names and VARIANT_SETTING not in loaded[0].conf:
        raise UserInputError(f"{case} names no variant: give one with --variant, or run mergecheck variants {case}")
    run, interrupted = _run(
        engine_name,
        list(loaded),
        only=tuple(variant_named(name) for name in names),
        deviations=known_deviations((), none=False),
        limits=ShrinkLimits(max_seconds=0, max_runs=0),
    )
    code = ExitCode.INTERRUPTED if interrupted else exit_code(run, required=())
    if as_json:
        emit_json({"engine": engine_name, **run_document(run.counts, run.found, required=()), "exit_code": int(code)})
        return code
    for finding in run.found:
        lines = finding.variant.lines() if finding.variant else ("the base itself differs from the reference",)
        show("\n".join([f"MISMATCH  {finding.fingerprint}", *(f"  {line}" for line in lines)]))
    if not run.found:
        show("no variant changes the outcome" if run.counts.num_variants else "the case is in no variant's domain")
    return code


def exit_code(run: VariantRun, *, required: tuple[str, ...]) -> ExitCode:
    """Tell what a run's process ends with; what was to be executed and was not is never green."""
    from harness.variants.judge import Ending  # noqa: PLC0415 - slow import, as above

    counts = run.counts
    if run.found:
        return ExitCode.MISMATCH
    if counts.bases[Verdict.ENGINE_ERROR] or counts.endings[Ending.ENGINE_ERROR]:
        return ExitCode.ENGINE
    judged = counts.endings[Ending.EQUAL] + counts.endings[Ending.EXEMPT] + counts.endings[Ending.KNOWN]
    if not judged or counts.num_flaky or counts.unseen() or counts.missing(required):
        return ExitCode.INCONCLUSIVE
    return ExitCode.AGREE


def _given(paths: tuple[str, ...], findings: Path) -> list[Case] | None:
    if not paths:
        return None
    corpus = load_corpus(paths, findings=FindingsDirectory(findings))
    if corpus.unreadable:
        raise UserInputError("\n".join(corpus.unreadable))
    return [saved.case for saved in corpus.cases]


def _run(
    engine_name: str,
    given: list[Case] | None,
    *,
    only: tuple[Variant, ...],
    deviations: Deviations,
    seed: int = 0,
    first: int = 0,
    batch_size: int = 1,
    max_cases: int | None = None,
    max_seconds: float | None = None,
    findings: FindingsDirectory | None = None,
    limits: object = None,
) -> tuple[VariantRun, bool]:
    from harness.drawing import Draws  # noqa: PLC0415 - slow imports that --help need not wait for
    from harness.interrupts import interrupts_kept  # noqa: PLC0415 - the same
    from harness.session import WARM_UP, Remembered, cases_for, open_engine  # noqa: PLC0415 - the same
    from harness.variants.run import LIMITS, VariantRun  # noqa: PLC0415 - the same
    from reference import evaluate  # noqa: PLC0415 - the same

    with open_engine(engine_name) as engine:
        reference = Remembered(evaluate)
        draws = Draws(cases_for(engine), seed=seed, first=first, reference=reference, batch_size=batch_size)
        run = VariantRun(
            _configurable(engine, engine_name),
            deviations=deviations,
            reference=reference,
            findings=findings,
            only=only,
            batched=draws.batched,
            limits=limits or LIMITS,  # type: ignore[arg-type]  # a name that only slow imports know
            listener=_tell,
        )
        engine.run(WARM_UP)
        cases = _drawn(draws, max_cases) if given is None else iter([(None, c) for c in given][:max_cases])
        try:
            with interrupts_kept():
                run.run(cases, max_seconds=max_seconds)
        except KeyboardInterrupt:
            return run, True
    return run, False


def _drawn(draws: Draws, max_cases: int | None) -> Iterator[tuple[int | None, Case]]:
    from harness.findings import with_content_id  # noqa: PLC0415 - slow imports, as above
    from harness.statistics import Statistics  # noqa: PLC0415 - the same

    for _ in itertools.count() if max_cases is None else range(max_cases):
        index, case = draws.draw(Statistics(seed=draws.seed))
        yield index, with_content_id(case)


def _configurable(engine: Engine, name: str) -> ConfigurableEngine:
    from harness.engine import ConfigurableEngine  # noqa: PLC0415 - slow imports, as above
    from harness.engines import engines_with  # noqa: PLC0415 - the same

    if isinstance(engine, ConfigurableEngine):
        return engine
    raise UserInputError(
        f"engine {name!r} takes no Spark settings, so there are no variants of it. Installed ones that do: "
        f"{', '.join(engines_with('run_recorded')) or 'none'}. One of your own needs run_recorded "
        "(harness.engine.ConfigurableEngine)."
    )


def _tell(finding: VariantFinding) -> None:
    notice(f"difference: {finding.fingerprint}" + ("" if finding.path is None else f"\n  kept in {finding.path}"))


def _show(run: VariantRun, *, required: tuple[str, ...]) -> None:
    from harness.variants.text import COLUMNS, finding_report, rows_of, summary_lines  # noqa: PLC0415 - slow, as above

    for finding in run.found:
        show(finding_report(finding, path=finding.path or Path(f"{finding.report.case.id}.json")) + "\n")
    table = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == COLUMNS[0] else "right", no_wrap=True)
    for row in rows_of(run.counts):
        table.add_row(*row)
    show_table(table)
    show("\n".join(["", *summary_lines(run.counts, required=required)]))
