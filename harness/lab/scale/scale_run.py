"""One scale case from its spec to a report: generate, merge, judge, and reduce if they differ."""

from __future__ import annotations

import shutil
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.lab.scale.judge_process import judge_apart
from mergecheck.harness.lab.scale.reduce import SHRINK_LIMITS, reduce_mismatch
from mergecheck.harness.lab.scale.tables.generate import write_tables
from mergecheck.harness.processes import output_files
from mergecheck.harness.processes.interrupts import interrupts_kept
from mergecheck.harness.processes.temp_dirs import owned_prefix
from mergecheck.harness.verdict import UserInputError, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mergecheck.harness.findings.shrink.shrinker import ShrinkLimits
    from mergecheck.harness.lab.scale.engines import ScaleEngine
    from mergecheck.harness.lab.scale.judge_process import Judged
    from mergecheck.harness.lab.scale.reduce import Reduction
    from mergecheck.harness.lab.scale.tables.generate import Tables
    from mergecheck.harness.lab.scale.tables.spec import ScaleSpec

    Listener = Callable[[str, int | None], None]

DEFAULT_MEMORY = 8 * 2**30
SPECS = "scale"
"""The folder of the specs of cases that disagreed, inside the findings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where a run may work, and with how much memory.

    Attributes:
        memory_bytes: of the process with the reference and the comparison.
        work: the folder for tables and for DuckDB's spilled data; the run removes its files at the end.
        findings: where mismatches are kept.
        shrink: how long a mismatch is shrunk.
    """

    memory_bytes: int = DEFAULT_MEMORY
    work: Path = field(default_factory=lambda: Path(tempfile.gettempdir()))
    findings: Path
    shrink: ShrinkLimits = SHRINK_LIMITS


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleReport:
    """Everything known of one scale case.

    Attributes:
        seconds: by phase, in order.
        disk_bytes: of all files after the merge, those that it replaced included.
        spec_path: the spec on disk, if the case disagrees.
    """

    spec: ScaleSpec
    engine: str
    engine_version: str
    tables: Tables
    judged: Judged
    seconds: Mapping[str, float]
    disk_bytes: int
    memory_bytes: int
    spec_path: Path | None = None
    reduction: Reduction | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict of the judgement."""
        return self.judged.judgement.verdict


def run_scale(
    spec: ScaleSpec, engine: ScaleEngine, limits: Limits, *, listener: Listener = lambda _phase, _rows: None
) -> ScaleReport:
    """Run one scale case.

    Args:
        spec: what to generate and to merge.
        engine: the engine that merges.
        limits: where, and with how much memory.
        listener: receives each phase as it begins, and its number of rows.

    Raises:
        EngineDownError: if Spark is gone.
        UserInputError: if disk or memory do not suffice.
    """
    clock = _Clock(listener)
    with _folder(limits.work, spec) as folder:
        with clock.phase("generate", spec.rows):
            tables = write_tables(spec, folder)
        paths = {"target": tables.target, "source": tables.source}
        with clock.phase("merge", tables.target_rows + tables.source_rows), interrupts_kept():
            merged = engine.merge(paths, spec.statement)
        judged = judge_apart(
            spec, paths, merged, memory_bytes=limits.memory_bytes, spill=folder / "spill", on_step=listener
        )
        clock.seconds.update(judged.seconds)
        disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        spec_path, reduction = None, None
        if judged.judgement.verdict is Verdict.MISMATCH:
            spec_path = _save_spec(spec, limits.findings)
            with clock.phase("reduce", None):
                reduction = reduce_mismatch(
                    spec, paths, judged.judgement.keys, engine.small(), limits.findings, limits=limits.shrink
                )
    return ScaleReport(
        spec=spec,
        engine=engine.name,
        engine_version=engine.version,
        tables=tables,
        judged=judged,
        seconds=clock.seconds,
        disk_bytes=disk,
        memory_bytes=limits.memory_bytes,
        spec_path=spec_path,
        reduction=reduction,
    )


def _save_spec(spec: ScaleSpec, findings: Path) -> Path:
    path = findings / SPECS / f"{spec.name}.json"
    try:
        output_files.write_text(path, spec.to_json(), parents=True)
    except OSError as error:
        raise UserInputError(f"cannot write {path}: {error}. Choose another folder with --findings DIR.") from error
    return path


@contextmanager
def _folder(work: Path, spec: ScaleSpec) -> Iterator[Path]:
    try:
        output_files.make_folder(work)
        folder = Path(tempfile.mkdtemp(prefix=f"{owned_prefix()}{spec.shape}-", dir=work))
    except OSError as error:
        raise UserInputError(f"cannot work in {work}: {error}. Choose another folder with --work DIR.") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class _Clock:
    listener: Listener
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str, rows: int | None) -> Iterator[None]:
        self.listener(name, rows)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(time.perf_counter() - start, 2)
