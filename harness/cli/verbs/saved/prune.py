"""``mergecheck cases prune``: remove findings that are of no more use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mergecheck.harness.checker import Checker
from mergecheck.harness.cli.command_engine import engine_of_command
from mergecheck.harness.cli.options import findings_option, json_option, spark_options, trust_option
from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.findings.corpus import load_corpus
from mergecheck.harness.findings.finding_status import FindingStatus, compare
from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.processes.output_files import remove
from mergecheck.harness.report.render import printable
from mergecheck.harness.search.session import reference_for
from mergecheck.harness.variants.saved import check_saved
from mergecheck.harness.verdict import ExitCode, UserInputError

if TYPE_CHECKING:
    from pathlib import Path

    from mergecheck.harness.findings.corpus import SavedCase
    from mergecheck.harness.findings.fingerprint import Fingerprint

_SET_ASIDE = ("crashed", "engine_error", "flaky", "harness_bug")
_REPORT = ".report.txt"


@click.command(name="prune")
@click.option("--duplicates", is_flag=True, help="Of findings with one fingerprint, keep the one with fewest rows.")
@click.option("--set-aside", is_flag=True, help=f"Remove cases that are no findings ({', '.join(_SET_ASIDE)}).")
@click.option("--fixed", "engine_name", metavar="ENGINE", help="Remove findings that are fixed on this engine.")
@click.option("--yes", "is_sure", is_flag=True, help="Remove them; without it, they are only listed.")
@findings_option("The folder of findings.")
@spark_options
@trust_option
@json_option
def prune_cases(
    *,
    duplicates: bool,
    set_aside: bool,
    engine_name: str | None,
    is_sure: bool,
    findings_directory: Path,
    trust: bool,
    as_json: bool,
) -> int:
    """Remove findings that are of no more use, with their reports; reviewed cases elsewhere are not touched."""
    if not duplicates and not set_aside and engine_name is None:
        raise click.UsageError("say what to remove: --duplicates, --set-aside, --fixed ENGINE")
    reasons: dict[Path, str] = {}
    if set_aside:
        for kind in _SET_ASIDE:
            reasons |= {path: kind.replace("_", " ") for path in sorted((findings_directory / kind).glob("*.json"))}
    findings = _findings(findings_directory, trust=trust)
    if engine_name is not None:
        reasons |= {saved.path: f"fixed on {engine_name}" for saved in _fixed(findings, engine_name)}
    if duplicates:
        left = [saved for saved in findings if saved.path not in reasons]
        reasons |= {saved.path: f"a duplicate of {kept.case.id}" for saved, kept in _duplicates(left)}
    if is_sure:
        _remove(reasons)
    if as_json:
        entries = [{"path": str(path), "reason": reason} for path, reason in reasons.items()]
        emit_json({"removed" if is_sure else "would_remove": entries})
        return ExitCode.AGREE
    word = "removed" if is_sure else "would remove"
    show("\n".join(printable(f"{word}  {path}  {reason}") for path, reason in reasons.items()) or "nothing to remove")
    if reasons and not is_sure:
        show("remove them: the same command with --yes")
    return ExitCode.AGREE


def _findings(folder: Path, *, trust: bool) -> list[SavedCase]:
    """Load the findings themselves, one case a file; an unreadable file is reported and stays."""
    paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not paths:
        return []
    corpus = load_corpus(map(str, paths), trust=trust)
    for message in corpus.unreadable:
        notice(f"not read, stays: {message}")
    return list(corpus.cases)


def _fixed(findings: list[SavedCase], engine_name: str) -> list[SavedCase]:
    fixed: list[SavedCase] = []
    engine = engine_of_command(engine_name)
    checker = Checker(engine=engine, reference=reference_for(engine).evaluate)
    for saved in findings:
        if saved.origin is None or not saved.origin.difference:
            continue
        if compare(check_saved(saved.case, checker), saved.origin).status is FindingStatus.FIXED:
            fixed.append(saved)
    return fixed


def _duplicates(findings: list[SavedCase]) -> list[tuple[SavedCase, SavedCase]]:
    """Pair each finding with the smaller kept one with the same fingerprint."""
    kept: dict[Fingerprint, SavedCase] = {}
    pairs: list[tuple[SavedCase, SavedCase]] = []
    for saved in sorted(findings, key=lambda one: (sum(num_rows(one.case)), len(one.case.sql), str(one.path))):
        found = None if saved.origin is None else saved.origin.fingerprint
        if found is None:
            continue
        first = kept.setdefault(found, saved)
        if first is not saved:
            pairs.append((saved, first))
    return pairs


def _remove(paths: dict[Path, str]) -> None:
    for path in paths:
        try:
            remove(path)
            remove(path.with_name(path.stem + _REPORT), missing_ok=True)
        except OSError as error:
            raise UserInputError(f"cannot remove {path}: {error}. Those before it are removed.") from error
