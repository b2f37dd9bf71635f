"""The results as text: a table in Markdown, the ratios between engines, and a document for programs."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.benchmarks.merge_benchmark.runs import CaseResult
    from tools.benchmarks.merge_benchmark.tables import Tables

BASELINE = "delta-spark"
OURS = "pyspark"


def markdown(results: Sequence[CaseResult], tables: Tables, *, iterations: int, warm_up: int = 1) -> str:
    """Write a table with a line per case and the geometric means of the ratios."""
    engines = list(dict.fromkeys(result.engine for result in results))
    ratios = [engine for engine in engines if engine != OURS and OURS in engines]
    head = ["case", *(f"{engine}, s" for engine in engines), *(f"{engine} : {OURS}" for engine in ratios)]
    head += [*(f"{engine}, CPU s" for engine in engines), *(f"{engine} : {OURS}, CPU" for engine in ratios)]
    head += ["files removed", "files added", "rows copied per row changed"]
    told = (
        f"{tables.num_rows:,} rows of 24 columns in {tables.num_files} files, rows {tables.layout.value} by key, keys "
        f"{tables.keys.value}, seed {tables.seed}{', deletion vectors on' if tables.vectors else ''}; "
        f"{_runs(iterations, warm_up)}."
    )
    lines = [
        told,
        "",
        _line(head),
        _line(["---", *["---:"] * (len(head) - 1)]),
    ]
    lines += [_line(_cells(found, engines, ratios)) for found in _by_case(results)]
    lines += ["", *_means(results, ratios)]
    return "\n".join(lines) + "\n"


def document(results: Sequence[CaseResult], tables: Tables) -> dict[str, Any]:
    """Give everything that was measured."""
    return {
        "rows": tables.num_rows,
        "files": tables.num_files,
        "keys": tables.keys.value,
        "layout": tables.layout.value,
        "seed": tables.seed,
        "vectors": tables.vectors,
        "results": [
            {"case": r.case.name, "engine": r.engine, "seconds": r.seconds, "runs": [asdict(run) for run in r.runs]}
            for r in results
        ],
    }


def ratios_of(results: Sequence[CaseResult], engine: str, *, additions: bool, cpu: bool = False) -> list[float]:
    """Divide an engine's time, or processor time, by ``pyspark``'s, case by case."""
    ratios = (
        _ratio(found, engine, cpu=cpu)
        for found in _by_case(results)
        if engine in found and found[engine].case.is_addition is additions
    )
    return [ratio for ratio in ratios if not math.isnan(ratio)]


def _ratio(found: dict[str, CaseResult], engine: str, *, cpu: bool) -> float:
    if not cpu:
        return found[engine].seconds / found[OURS].seconds
    theirs, ours = found[engine].cpu_seconds, found[OURS].cpu_seconds
    return theirs / ours if theirs and ours else math.nan


def _by_case(results: Sequence[CaseResult]) -> list[dict[str, CaseResult]]:
    found: dict[str, dict[str, CaseResult]] = {}
    for result in results:
        found.setdefault(result.case.name, {})[result.engine] = result
    return list(found.values())


def _cells(found: dict[str, CaseResult], engines: Sequence[str], ratios: Sequence[str]) -> list[str]:
    one = found[OURS] if OURS in found else next(iter(found.values()))
    amplification = one.copied_per_change
    return [
        one.case.name,
        *(f"{found[engine].seconds:.2f}" if engine in found else "-" for engine in engines),
        *(f"{_ratio(found, engine, cpu=False):.2f}" if engine in found else "-" for engine in ratios),
        *(f"{found[engine].cpu_seconds or 0:.1f}" if engine in found else "-" for engine in engines),
        *(f"{_ratio(found, engine, cpu=True):.2f}" if engine in found else "-" for engine in ratios),
        " / ".join(str(found[engine].runs[-1].files_removed) if engine in found else "-" for engine in engines),
        " / ".join(str(found[engine].runs[-1].files_added) if engine in found else "-" for engine in engines),
        "-" if amplification is None else f"{amplification:.2f}",
    ]


def _runs(iterations: int, warm_up: int) -> str:
    before = min(warm_up, iterations - 1)
    if iterations == 1:
        return "one run, without warm-up"
    return f"medians of {iterations - before} after {'one warm-up' if before == 1 else f'{before} rounds of warm-up'}"


def _means(results: Sequence[CaseResult], engines: Sequence[str]) -> list[str]:
    lines = []
    for engine in engines:
        for additions, name in ((False, "Delta Lake's cases"), (True, "additions")):
            for cpu, what in ((False, "time"), (True, "processor time")):
                ratios = ratios_of(results, engine, additions=additions, cpu=cpu)
                if ratios:
                    mean = statistics.geometric_mean(ratios)
                    lines.append(
                        f"{engine} : {OURS}, {what}, {len(ratios)} of {name}: geometric mean {mean:.2f}, "
                        f"least {min(ratios):.2f}, most {max(ratios):.2f}.  "
                    )
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
