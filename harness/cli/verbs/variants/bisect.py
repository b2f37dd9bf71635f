"""``mergecheck lab bisect``: find the axes of a variant that change the outcome of a case."""

from __future__ import annotations

import click

from mergecheck.harness.cli.options import engine_option, json_option, known_deviations, trust_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.cli.verbs.variants.runs import exit_code, run_variants, variant_option
from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.findings.corpus import find_case_file
from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
from mergecheck.harness.variants.variant import VARIANT_SETTING
from mergecheck.harness.variants.variants_text import run_document
from mergecheck.harness.verdict import ExitCode, UserInputError
from mergecheck.model.case_file import load_cases


@click.command()
@click.argument("case", metavar="CASE")
@engine_option
@variant_option
@trust_option
@json_option
def bisect(*, case: str, engine_name: str, names: tuple[str, ...], trust: bool, as_json: bool) -> int:
    """Name the smallest set of axes that changes the outcome of a case.

    CASE is a case file or the id of a finding. A finding of the verb variants names its variant. For any other case,
    give the variant with --variant.
    """
    loaded = load_cases(find_case_file(case))
    if len(loaded) != 1:
        raise UserInputError(f"{case} holds {len(loaded)} cases, bisect takes one")
    if not trust:
        require_harmless(loaded[0], case)
    if not names and VARIANT_SETTING not in loaded[0].conf:
        raise UserInputError(f"{case} names no variant: give one with --variant, or run mergecheck variants {case}")
    run, interrupted = run_variants(
        engine_name,
        list(loaded),
        names=names,
        deviations=known_deviations((), none=False),
        limits=ShrinkLimits(max_seconds=0, max_runs=0),
    )
    code = ExitCode.INTERRUPTED if interrupted else exit_code(run, required=())
    if as_json:
        emit_json({"engine": engine_name, **run_document(run.counts, run.found, required=()), "exit_code": int(code)})
        return code
    for finding in run.found:
        lines = (
            finding.variant.lines()
            if finding.variant
            else ("the base differs from the reference, without any variant",)
        )
        show("\n".join([f"MISMATCH  {finding.fingerprint}", *(f"  {line}" for line in lines)]))
    if not run.found:
        show("no variant changes the outcome" if run.counts.num_variants else "no variant applies to the case")
    return code
