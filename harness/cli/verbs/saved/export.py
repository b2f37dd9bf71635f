"""``mergecheck cases export``: write a case as a script for another system."""

from __future__ import annotations

from pathlib import Path

import click

from mergecheck.harness.cli.export.formats import Format, exported
from mergecheck.harness.cli.options import case_id_option, findings_option, json_option, trust_option
from mergecheck.harness.cli.output.terminal import emit_json, emit_text, show
from mergecheck.harness.cli.verbs.saved.one_saved import one_saved, write_case
from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.findings.store import FindingsDirectory
from mergecheck.harness.verdict import ExitCode

_STDOUT = Path("-")


@click.command()
@click.argument("case", metavar="CASE")
@case_id_option
@click.option(
    "--format",
    "format_name",
    type=click.Choice([each.value for each in Format]),
    required=True,
    help="What to write. Each runs by itself: a script of SQL or Python, a test module, or a sqllogictest.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write it; stdout if left out or -. A file with other content is not overwritten.",
)
@findings_option("Where ids of findings are looked up.")
@trust_option
@json_option
def export(
    *,
    case: str,
    case_id: str | None,
    format_name: str,
    output: Path | None,
    findings_directory: Path,
    trust: bool,
    as_json: bool,
) -> int:
    """Write a case as a script that needs no mergecheck, or as a test.

    CASE is the id of a finding or a case file. If the format cannot express the case, the exit code is 2. How the
    tables are stored (layout) is left out.
    """
    saved = one_saved(case, case_id, findings=FindingsDirectory(findings_directory), verb="export")
    if not trust:
        require_harmless(saved.case, str(saved.path))
    text = exported(saved, Format(format_name))
    output = None if output == _STDOUT else output
    if output is not None:
        write_case(output, text)
    if as_json:
        place = {"text": text} if output is None else {"path": str(output)}
        emit_json({"id": saved.case.id, "format": format_name} | place)
    elif output is None:
        emit_text(text)
    else:
        show(f"wrote {output}")
    return ExitCode.AGREE
