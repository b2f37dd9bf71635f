"""From a mismatch among millions of rows to an ordinary case of a few, kept as a finding.

First the rows of the keys that differ, then small tables of the same shape, if the rows do not differ.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from mergecheck.harness.checker import NONE_KNOWN, Checker
from mergecheck.harness.engines.registry import engine_name
from mergecheck.harness.findings.origin import origin_of
from mergecheck.harness.findings.shrink.shrinker import Attempts, ShrinkLimits, num_rows, shrink
from mergecheck.harness.findings.store import Finding, FindingsDirectory
from mergecheck.harness.lab.scale.observed import observe_table
from mergecheck.harness.lab.scale.tables.generate import write_tables
from mergecheck.harness.lab.scale.tables.spec import KEY, SCHEMA
from mergecheck.harness.processes.temp_dirs import owned_prefix, spill_path
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.mismatch import mismatch_report
from mergecheck.harness.search.session import rerun_on
from mergecheck.harness.verdict import Verdict
from mergecheck.model.arrow import table_to_rows
from mergecheck.model.case_id import with_content_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.lab.scale.tables.spec import ScaleSpec
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case

_FEW, _MANY = 3, 40
_MAX_ROWS = 300  # of one table of a case that is tried
_SMALL_TABLES = ((40, 4), (400, 8), (2000, 8))
_WIDTH = len(SCHEMA.columns)
SHRINK_LIMITS = ShrinkLimits(max_seconds=120, max_runs=300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """What became of a mismatch.

    Attributes:
        path: the finding; None if no small case shows a mismatch.
        report: the check of the minimal case.
        from_rows: target and source rows of the case that first showed it.
        num_tried: small cases that were checked before, the one that showed it included.
    """

    path: Path | None
    report: CaseReport | None
    from_rows: tuple[int, int]
    num_tried: int


def reduce_mismatch(
    spec: ScaleSpec,
    tables: Mapping[str, Path],
    keys: Sequence[Any],
    engine: Engine,
    findings: Path,
    *,
    limits: ShrinkLimits = SHRINK_LIMITS,
) -> Reduction:
    """Look for a small case that shows a mismatch, and shrink it.

    Args:
        spec: the case.
        tables: the folders of its tables; the target's first version is read.
        keys: keys of rows that differ; empty if rows and change rows agree.
        engine: the same engine for small cases.
        findings: where findings are kept.
        limits: how long the case is shrunk.
    """
    checker, tried = Checker(engine=engine, rerun=rerun_on(engine_name(engine), deviations=NONE_KNOWN)), 0
    for case in _candidates(spec, tables, keys):
        tried += 1
        report = checker.check_case(with_content_id(case))
        if report.verdict is Verdict.MISMATCH:
            return _keep(spec, report, checker, findings, limits=limits, num_tried=tried)
    return Reduction(path=None, report=None, from_rows=(0, 0), num_tried=tried)


def _keep(
    spec: ScaleSpec, report: CaseReport, checker: Checker, findings: Path, *, limits: ShrinkLimits, num_tried: int
) -> Reduction:
    attempts = Attempts(report, check=checker.check_case, limits=limits)
    best = shrink(attempts)
    finding = Finding(
        fingerprint=attempts.fingerprint,
        report=replace(best, case=with_content_id(best.case)),
        original=attempts.original,
        seed=spec.seed,
        num_cases=1,
        num_runs=attempts.num_runs,
        seconds=attempts.seconds,
        cut_short=attempts.is_cut_short,
        hypotheses=checker.hypotheses(best),
    )
    folder = FindingsDirectory(findings)
    text = mismatch_report(case_document(finding.report, finding=finding, where=folder.path_of(finding.id)))
    origin = origin_of(finding.report, found_by="scale", engine=engine_name(checker.engine), seed=spec.seed)
    path = folder.save(finding.report.case, text, origin)
    return Reduction(path=path, report=finding.report, from_rows=num_rows(attempts.original), num_tried=num_tried)


def _candidates(spec: ScaleSpec, tables: Mapping[str, Path], keys: Sequence[Any]) -> Iterator[Case]:
    for number in sorted({min(_FEW, len(keys)), min(_MANY, len(keys))} - {0}):
        yield small_case(spec, tables, keys[:number])
    for rows, files in _SMALL_TABLES:
        if rows >= spec.rows:
            return
        smaller = replace(spec, rows=rows, files=min(files, spec.files))
        with tempfile.TemporaryDirectory(prefix=owned_prefix()) as folder:
            made = write_tables(smaller, Path(folder))
            yield small_case(smaller, {"target": made.target, "source": made.source}, None, max_rows=rows)


def small_case(
    spec: ScaleSpec, tables: Mapping[str, Path], keys: Sequence[Any] | None, *, max_rows: int = _MAX_ROWS
) -> Case:
    """Build an ordinary case of some rows of large tables, as they were before the merge.

    Args:
        spec: gives statement and partitioning.
        tables: the folders of ``target`` and ``source``.
        keys: the keys whose rows are taken, on both sides; None for all rows.
        max_rows: most rows of a table that are taken.
    """
    place = SCHEMA.names.index(KEY)
    target = observe_table(tables["target"], metrics={}, taken=None).before
    source = observe_table(tables["source"], metrics={}, taken=None).after
    listed = ", ".join(str(key) for key in keys or () if key is not None)
    with duckdb.connect(config={"temp_directory": str(spill_path())}) as connection:

        def rows(query: str, prefix: str, order: str) -> Any:  # noqa: ANN401 - an Arrow table
            key = f"{prefix}{place}"
            wanted = [f"{key} IN ({listed})"] * bool(listed) + [f"{key} IS NULL"] * (None in (keys or ()))
            where = "TRUE" if keys is None else " OR ".join(wanted)
            return connection.sql(
                f"SELECT * FROM ({query}) WHERE {where} ORDER BY {order} LIMIT {max_rows}"
            ).to_arrow_table()

        before = rows(target.numbered("t", number="rid", file="file"), "t", "rid")
        given = rows(source.numbered("s", number="sid", file=None), "s", "sid")
    columns = [f"t{i}" for i in range(_WIDTH)]
    files: dict[int, list[Any]] = {}
    for number, row in zip(
        before.column("file").to_pylist(), table_to_rows(before.select(columns), SCHEMA), strict=True
    ):
        files.setdefault(number, []).append(row)
    case = spec.case()
    if case.source is None:
        raise ValueError(f"the case {case.id} has no source")
    source_rows = table_to_rows(given.select([f"s{i}" for i in range(_WIDTH)]), SCHEMA)
    return replace(
        case,
        target=replace(case.target, files=tuple(tuple(file) for file in files.values())),
        source=replace(case.source, rows=source_rows),
    )
