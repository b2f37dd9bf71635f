"""``mergecheck cases adopt``: make a finding a test of a project."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from mergecheck.harness.cli.export.adoption import adopted, patch, write
from mergecheck.harness.cli.options import case_id_option, findings_option, json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.cli.verbs.saved.one_saved import one_saved
from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.engines.registry import DEFAULT_ENGINE
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.verdict import ExitCode


@click.command()
@click.argument("finding", metavar="FINDING")
@case_id_option
@click.option(
    "--into",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("tests"),
    show_default=True,
    metavar="DIR",
    help="The folder of tests; the case goes into its sub-folder cases.",
)
@click.option("--name", metavar="NAME", help="Name of the case; made of its difference and its id if left out.")
@click.option("--diff", "as_diff", is_flag=True, help="Print the patch for git apply, and write nothing.")
@findings_option("Where ids of findings are looked up.")
@json_option
def adopt(
    *,
    finding: str,
    case_id: str | None,
    folder: Path,
    name: str | None,
    as_diff: bool,
    findings_directory: Path,
    as_json: bool,
) -> int:
    """Make a finding a test of your project: a case file for review, and a pytest module that runs it.

    FINDING is the id of a finding or a case file. Nothing is overwritten; the same finding may be adopted again.
    """
    saved = one_saved(finding, case_id, findings=FindingsDirectory(findings_directory), verb="adopt")
    require_harmless(saved.case, str(saved.path), advice="mergecheck adopts cases that any test run may take.")
    files = adopted(saved, folder, name)
    engine = saved.origin.engine if saved.origin is not None else ""
    chosen = f" --mergecheck-engine {shlex.quote(engine)}" if engine not in ("", DEFAULT_ENGINE) else ""
    command = f"pytest {shlex.quote(str(files[1].path))}{chosen}"
    text = patch(files) if as_diff else ""
    if not as_diff:
        write(files)
    if as_json:
        document = {
            "case": str(files[0].path),
            "test": str(files[1].path),
            "written": [] if as_diff else [str(file.path) for file in files if not file.is_there],
            "run": command,
        }
        emit_json(document | ({"patch": text} if as_diff else {}))
    elif as_diff:
        show(text or "nothing to do: the files are there")
    else:
        show("\n".join(f"{'unchanged' if file.is_there else 'wrote':<11}{file.path}" for file in files))
        show(f"run it:    {command}")
    return ExitCode.AGREE
