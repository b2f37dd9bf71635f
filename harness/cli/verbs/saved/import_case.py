"""``mergecheck cases import``: a case out of two versions of a real Delta table."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.export.import_versions import Imported, imported
from mergecheck.harness.cli.options import json_option
from mergecheck.harness.cli.output.terminal import emit_json, show
from mergecheck.harness.cli.verbs.saved.one_saved import write_case
from mergecheck.harness.delta.import_table import RealInput, build_case, rows_at, unchanged
from mergecheck.harness.findings.origin import Origin, case_text
from mergecheck.harness.findings.shrink.shrinker import num_rows
from mergecheck.harness.report.json import mismatches_json
from mergecheck.harness.report.render import printable
from mergecheck.harness.verdict import ExitCode, UserInputError
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from mergecheck.model.case import Case

_AT_VERSION = re.compile(r"(.+)@v?(\d{1,18})", re.DOTALL)


@click.command(name="import")
@click.option(
    "--target",
    required=True,
    metavar="DELTA_DIR@VERSION",
    help="The Delta table, and its version before the merge; it is only read.",
)
@click.option(
    "--after", type=click.IntRange(min=0), metavar="VERSION", help="The version after the merge; by default the next."
)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="The rows that were merged: a .parquet or .csv file, or a Delta table.",
)
@click.option("--sql", required=True, metavar="MERGE", help="The statement; it must call the tables target and source.")
@click.option(
    "--keep", multiple=True, metavar="COLUMN", help="Keep the real values of a column; may be repeated. Default: none."
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where to write the case; imported-ID.json in the folder cases if left out.",
)
@json_option
def import_case(
    *, target: str, after: int | None, source: Path, sql: str, keep: tuple[str, ...], output: Path | None, as_json: bool
) -> int:
    """Make a small, anonymous case of a merge that has happened to one of your tables.

    The reference merges the table as it was before, and the result is held against the version after. The case keeps
    the rows that show the difference or, if there is none, a few of every kind. Values become others, equal and
    ordered as they were. Exit code 1 if the table differs from the reference.
    """
    found = _AT_VERSION.fullmatch(target)
    if found is None:
        raise click.UsageError(f"--target {target}: give the version before the merge too, such as {target}@3")
    folder, version = Path(found[1]), int(found[2])
    with unchanged(folder):
        case = build_case(RealInput(target=folder, source=source, sql=sql, version=version))
        _require_columns(keep, case)
        schema, rows = rows_at(folder, version + 1 if after is None else after)
        result = imported(case, schema, rows, keep=frozenset(name.lower() for name in keep))
    path = Path("cases") / f"imported-{result.case.id}.json" if output is None else output
    origin = Origin(
        found_by="import", mergecheck=importlib.metadata.version("mergecheck"), difference=result.difference
    )
    write_case(path, case_text(result.case, origin))
    if as_json:
        emit_json(
            {
                "id": result.case.id,
                "path": str(path),
                "agrees": not result.difference,
                "missing_rows": result.num_missing,
                "extra_rows": result.num_extra,
                "mismatches": mismatches_json(result.difference),
            }
        )
    else:
        show("\n".join(_lines(result, path)))
    return ExitCode.MISMATCH if result.difference else ExitCode.AGREE


def _require_columns(names: tuple[str, ...], case: Case) -> None:
    known = [*case.target.schema.names, *([] if case.source is None else case.source.schema.names)]
    for name in names:
        if name.lower() not in {each.lower() for each in known}:
            columns = ", ".join(dict.fromkeys(known))
            raise UserInputError(f"--keep {name}: there is no such column; the tables have {columns}")


def _lines(result: Imported, path: Path) -> list[str]:
    rows = " + ".join(map(str, num_rows(result.case)))
    lines = ["AGREE  the table became what the reference says"]
    if result.difference:
        missing, extra = counted(result.num_missing, "row"), counted(result.num_extra, "row")
        lines = [f"MISMATCH  missing in the table: {missing}, extra: {extra}"]
        lines += [f"  {printable(line)}" for each in result.difference for line in each.lines]
    lines.append(f"wrote {path}: {rows} rows (target + source), with other values")
    return [*lines, f"check an engine:  mergecheck run {path} --engine NAME"]
