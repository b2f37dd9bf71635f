"""``mergecheck lab scale``: check merges of large generated tables, out of core."""

from __future__ import annotations

import re
import secrets
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mergecheck.harness.cli.options import findings_option, json_option
from mergecheck.harness.cli.output.status_line import StatusLine
from mergecheck.harness.cli.output.terminal import emit_json, notice, show
from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.lab.scale.engines import open_scale_engine
from mergecheck.harness.lab.scale.scale_run import Limits, run_scale
from mergecheck.harness.lab.scale.scale_text import report_json, report_lines, summary_line
from mergecheck.harness.lab.scale.tables.shapes import SHAPES
from mergecheck.harness.lab.scale.tables.spec import DEFAULT_ROWS, load_spec, make_spec
from mergecheck.harness.verdict import EXIT_CODES, ExitCode, UserInputError

if TYPE_CHECKING:
    from types import TracebackType

    from mergecheck.harness.lab.scale.scale_run import ScaleReport
    from mergecheck.harness.lab.scale.tables.spec import ScaleSpec

_WEIGHTS = (ExitCode.AGREE, ExitCode.INCONCLUSIVE, ExitCode.ENGINE, ExitCode.MISMATCH)
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([KMGT]?)(I?)B?", re.IGNORECASE)
_MIN_MEMORY = 2**29


@click.command()
@click.argument("spec_path", required=False, type=click.Path(path_type=Path, dir_okay=False), metavar="[SPEC]")
@click.option("--rows", type=click.IntRange(min=1), metavar="N", help="Rows of the target.  [default: 100000]")
@click.option(
    "--files", type=click.IntRange(min=1), metavar="N", help="Files of the target.  [default: 16, or one per 250000]"
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="The same seed gives the same tables. Drawn and printed if left out.",
)
@click.option(
    "--engine",
    "engine_name",
    type=click.Choice(["pyspark", "delta-spark"]),
    default="pyspark",
    show_default=True,
    help="The engine to check.",
)
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME",
    help="A shape of merge (docs/scale.md); repeat it for several. All if left out.",
)
@click.option(
    "--memory-limit",
    default="8GB",
    show_default=True,
    metavar="SIZE",
    help="Memory limit of the process that evaluates and compares, in powers of 1024; it spills to disk.",
)
@click.option(
    "--driver-memory", default="4g", show_default=True, metavar="SIZE", help="Heap of Spark's JVM, in Spark's notation."
)
@click.option(
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where tables are created, and removed afterwards.  [default: the system's temporary folder]",
)
@findings_option("Where specs and reduced cases of mismatches are saved.")
@json_option
def scale(
    *,
    spec_path: Path | None,
    rows: int | None,
    files: int | None,
    seed: int | None,
    engine_name: str,
    shapes: tuple[str, ...],
    memory_limit: str,
    driver_memory: str,
    work: Path | None,
    findings_directory: Path,
    as_json: bool,
) -> int:
    """Check merges of large generated tables: rows, change rows, metrics and invariants, against the reference.

    SPEC is the saved file of a merge that disagreed. Without SPEC, shape, size and seed define the merges.
    """
    limits = Limits(
        memory_bytes=parse_size(memory_limit), work=work or Path(tempfile.gettempdir()), findings=findings_directory
    )
    specs = _specs(spec_path, rows=rows, files=files, seed=seed, shapes=shapes)
    reports: list[ScaleReport] = []
    notice(f"starting {engine_name} ...")
    engine = open_scale_engine(engine_name, driver_memory=driver_memory)
    try:
        for spec in specs:
            with _Progress(spec) as progress:
                report = run_scale(spec, engine, limits, listener=progress.begin)
            reports.append(report)
            if not as_json:
                show("\n".join(report_lines(report)))
    finally:
        engine.close()
    if as_json:
        emit_json({"cases": [report_json(report) for report in reports]})
    else:
        show(f"\n{summary_line([report.verdict for report in reports])}  (seed {specs[0].seed})")
    return max((EXIT_CODES[report.verdict] for report in reports), key=_WEIGHTS.index)


def parse_size(text: str) -> int:
    """Parse a size such as ``8GB``, ``6 GiB`` or ``500m`` into bytes; the units are powers of 1024.

    Raises:
        UserInputError: the text is no size, or the size is below 512 MB.
    """
    found = _SIZE.fullmatch(text.strip())
    size = 0 if found is None else int(float(found[1]) * 1024 ** " KMGT".index(found[2].upper() or " "))
    if size < _MIN_MEMORY:
        raise UserInputError(f"--memory-limit {text}: give a size of at least 512MB, for example 8GB")
    return size


def _specs(
    path: Path | None, *, rows: int | None, files: int | None, seed: int | None, shapes: tuple[str, ...]
) -> list[ScaleSpec]:
    if path is not None:
        if any(option is not None for option in (rows, files, seed)) or shapes:
            raise click.UsageError("SPEC defines rows, files, seed and shape: give either SPEC or these options")
        spec = load_spec(path)
        require_harmless(spec.case(), str(path), advice="A spec may merge its own two tables only.")
        return [spec]
    seed = secrets.randbelow(2**31) if seed is None else seed
    names = shapes or tuple(shape.name for shape in SHAPES)
    return [make_spec(shape=name, rows=rows or DEFAULT_ROWS, files=files, seed=seed) for name in names]


class _Progress(StatusLine):
    """Shows the current phase with its number of rows, and how long each phase took."""

    def __init__(self, spec: ScaleSpec) -> None:
        super().__init__()
        self._name = spec.name
        self._doing, self._since = "", time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish()
        super().__exit__(kind, error, trace)

    def begin(self, phase: str, rows: int | None) -> None:
        """Begin a phase; ``rows`` is the number of rows that it processes, if known."""
        self._finish()
        self._doing, self._since = phase if rows is None else f"{phase}: {rows:,} rows", time.monotonic()
        if not self.is_live:
            self.print(f"{self._name}  {self._doing} ...")

    def line(self) -> str:
        return f"{self._name}  {self._doing}  {time.monotonic() - self._since:.0f} s"

    def _finish(self) -> None:
        """Print how long the phase that has ended took."""
        if self._doing:
            self.print(f"{self._name}  {self._doing}  {time.monotonic() - self._since:.1f} s")
        self._doing = ""
