"""Engines that repeat the reference's answer, one with a fault; the command line is tested with them."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mergecheck.harness.engine import Capabilities, Recorded
from mergecheck.harness.engines.spark_axes import SPARK_AXES
from mergecheck.harness.processes.temp_dirs import scratch_directory
from mergecheck.harness.properties.merge_text import merge_text
from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.axis import Axis
from mergecheck.model.layout import physical_files
from mergecheck.model.outcome import FileWork, Outcome, Rejection, Unsupported
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import EngineResult


class Echo:
    """Gives the reference's own answer."""

    name = "echo"
    version = "1.0"
    capabilities = Capabilities()

    @cached_property
    def reference(self) -> MergeReference:
        return MergeReference()

    def run(self, case: Case) -> EngineResult:
        answer = self.reference.evaluate(case).answer
        if isinstance(answer, Rejection):
            return replace(answer, unchanged=True)
        if not hasattr(answer, "rows"):
            return answer
        return Outcome(
            schema=answer.schema,
            rows=answer.rows,
            metrics={name: bound.low for name, bound in answer.metrics.items()},
            cdf=answer.cdf,
            committed=answer.committed,
            path=answer.path,
        )

    def close(self) -> None:
        pass


class RewritesAll(Echo):
    """Rewrites every file, and reads it."""

    name = "rewrites-all"

    def run(self, case: Case) -> EngineResult:
        found = super().run(case)
        if not isinstance(found, Outcome):
            return found
        files = range(len(physical_files(case.target)))
        return replace(found, work=FileWork(rewritten=frozenset(files), num_scanned=len(files)))


class Exits(Echo):
    """Ends the process, or tries to."""

    name = "exits"

    def run(self, case: Case) -> EngineResult:
        raise SystemExit(case.id)


class RaisesNoException(Echo):
    """Raises what only Python itself should."""

    name = "raises-no-exception"

    def run(self, case: Case) -> EngineResult:
        raise GeneratorExit(case.id)


class EndsTheProcess(Echo):
    """Ends the process at the fourth case, with the exit code of success."""

    name = "ends-the-process"

    def __init__(self) -> None:
        self.num_runs = 0

    def run(self, case: Case) -> EngineResult:
        self.num_runs += 1
        return super().run(case) if self.num_runs < 4 else os._exit(0)


class HangsOnce(EndsTheProcess):
    """Has no answer to the fourth case."""

    name = "hangs-once"

    def run(self, case: Case) -> EngineResult:
        self.num_runs += 1
        if self.num_runs == 4:
            time.sleep(600)
        return Echo.run(self, case)


class Hangs(Echo):
    """Has an answer to no case but the first one of a run; a file records it."""

    name = "hangs"

    def run(self, case: Case) -> EngineResult:
        if case.id != "warm-up":
            with scratch_directory():
                Path("hangs").touch()
                time.sleep(600)
        return super().run(case)


class ReturnsNothing(Echo):
    """Returns a value of no known type."""

    name = "returns-nothing"

    def run(self, case: Case) -> EngineResult:
        return case.expect  # type: ignore[return-value]


class WrongTypes(Echo):
    """Returns rows that are numbers."""

    name = "wrong-types"

    def run(self, case: Case) -> EngineResult:
        result = super().run(case)
        return replace(result, rows=7) if isinstance(result, Outcome) else result  # type: ignore[arg-type]


class PrintsAndFailsToClose(Echo):
    """Prints to stdout, and raises when it is closed."""

    name = "prints"

    def run(self, case: Case) -> EngineResult:
        print("not a part of the document")  # noqa: T201 - the fault
        return super().run(case)

    def close(self) -> None:
        raise OSError("the connection was lost")


class LosesNullKeys(Echo):
    """Loses the rows whose first cell is NULL."""

    name = "loses-null-keys"

    def run(self, case: Case) -> EngineResult:
        result = super().run(case)
        if not isinstance(result, Outcome):
            return result
        return replace(result, rows=tuple(row for row in result.rows if row[0] is not None))


class Mended(Echo):
    """The next release of ``LosesNullKeys``, which loses none."""

    name = LosesNullKeys.name


class WritesAlike(Echo):
    """Writes something that looks like the right file; the case's id names the form."""

    name = "writes-alike"

    def run(self, case: Case) -> EngineResult:
        result = super().run(case)
        if not isinstance(result, Outcome):
            return result
        rows = result.rows[1:] if case.id == "one-of-two-rows" else tuple((_ALIKE[case.id],) for _ in result.rows)
        return replace(result, rows=rows, metrics={}, path=None)


_ALIKE = {
    "zero-without-sign": 0.0,
    "null-for-nan": None,
    "blank-cut-off": "a",
    "null-for-empty": None,
    "struct-of-nulls": (None,),
    "microsecond-cut-off": datetime(2024, 1, 1, tzinfo=UTC),
}


class Wavers(Echo):
    """Loses a row when it merges a case for the first time."""

    name = "wavers"

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def run(self, case: Case) -> EngineResult:
        result = super().run(case)
        if case.id in self.seen or not isinstance(result, Outcome):
            return result
        self.seen.add(case.id)
        return replace(result, rows=result.rows[1:])


class ReportsInsertsOnly(Echo):
    """Reports one metric."""

    name = "inserts-only"
    capabilities = Capabilities(metric_names=frozenset({"numTargetRowsInserted"}))


class ShowsNoPath(Echo):
    """Does not show how it merged."""

    name = "shows-no-path"

    def run(self, case: Case) -> EngineResult:
        result = super().run(case)
        return replace(result, path=None) if isinstance(result, Outcome) else result


class SeesTheFirstFileOnly(Echo):
    """Merges into the first file of the target, consistently, and copies the others."""

    name = "sees-the-first-file-only"

    def run(self, case: Case) -> EngineResult:
        files = case.target.files
        plain = replace(case.target, files=files[:1], properties={}, partition_by=())
        result = super().run(replace(case, target=plain))
        if not isinstance(result, Outcome):
            return result
        new = (None,) * (len(result.schema.columns) - len(case.target.schema.columns))
        others = tuple((*row, *new) for file in files[1:] for row in file)
        return replace(result, rows=(*result.rows, *others), metrics={}, path=None)


class Down(Echo):
    """Never answers."""

    name = "down"

    def run(self, case: Case) -> EngineResult:  # noqa: ARG002 - the protocol's signature
        raise EngineDownError("the cluster does not answer. Start it, then try again.")


class NoEngine:
    """Lacks what an engine has."""

    name = "half"


class KnowsNothing(Echo):
    """Supports no case."""

    name = "knows-nothing"

    def run(self, case: Case) -> EngineResult:  # noqa: ARG002 - the protocol's signature
        return Unsupported("anything")


class DiesAfterTheFirst(Echo):
    """Answers once."""

    name = "dies"

    def __init__(self) -> None:
        self.num_runs = 0

    def run(self, case: Case) -> EngineResult:
        self.num_runs += 1
        if self.num_runs > 1:
            raise EngineDownError("connection lost")
        return super().run(case)


class InterruptsAtTen(DiesAfterTheFirst):
    """Stands for a user who presses Ctrl+C."""

    name = "interrupts"

    def run(self, case: Case) -> EngineResult:
        self.num_runs += 1
        if self.num_runs > 10:
            raise KeyboardInterrupt
        return Echo.run(self, case)


class InterruptsAtTheThirdMerge(DiesAfterTheFirst):
    """Stands for a user who presses Ctrl+C while several merges are made into one table."""

    name = "interrupts-at-the-third-merge"

    def run_on(self, case: Case, table: Path) -> EngineResult:  # noqa: ARG002 - the protocol's signature
        self.num_runs += 1
        if self.num_runs > 2:
            raise KeyboardInterrupt
        return Echo.run(self, case)


class LosesARowWhenAdaptive(Echo):
    """Takes Spark's settings, and loses a row under adaptive execution."""

    name = "loses-a-row-when-adaptive"
    capabilities = Capabilities(axes=SPARK_AXES)

    def run(self, case: Case) -> EngineResult:
        result = super().run(replace(case, conf={}))
        if isinstance(result, Outcome) and case.conf.get("spark.sql.adaptive.enabled") == "true":
            return replace(result, rows=result.rows[1:])
        return result

    def run_recorded(self, case: Case) -> Recorded:
        operator = (
            "AdaptiveSparkPlan" if case.conf.get("spark.sql.adaptive.enabled") == "true" else "SortMergeJoin Inner"
        )
        return Recorded(result=self.run(case), plans=(f"== Physical Plan ==\n{operator} (1)\n",))


class FetchesInBulk(Echo):
    """Has a switch that does nothing without another one."""

    name = "fetches-in-bulk"
    capabilities = replace(
        Echo.capabilities,
        axes=(
            Axis("acme.bulk", base="off", values=("on",), paths=("bulk",)),
            Axis("acme.fetch", base="off", values=("on",), paths=("fetch",), needs={"acme.bulk": "on"}),
        ),
    )

    def run(self, case: Case) -> EngineResult:
        is_bulk, fetches = (case.conf.get(name) == "on" for name in ("acme.bulk", "acme.fetch"))
        result = super().run(replace(case, conf={}))
        if not isinstance(result, Outcome):
            return result
        return replace(result, paths={"bulk": int(is_bulk), "fetch": int(is_bulk and fetches)})


class LosesARowInBulk(Echo):
    """Has two switches; the first loses a row, the second does nothing."""

    name = "loses-a-row-in-bulk"
    capabilities = Capabilities(
        axes=(
            Axis("acme.bulk", base="off", values=("on",), paths=("bulk",)),
            Axis("acme.idle", base="off", values=("on",), paths=("idle",)),
        )
    )

    def run(self, case: Case) -> EngineResult:
        is_bulk = case.conf.get("acme.bulk") == "on"
        result = super().run(replace(case, conf={}))
        if not isinstance(result, Outcome):
            return result
        return replace(result, rows=result.rows[1:] if is_bulk else result.rows, paths={"bulk": int(is_bulk)})


class FavoursWhatItLacks(Echo):
    """Has a switch that favours cases with a feature that the engine does not take."""

    name = "favours-what-it-lacks"
    capabilities = Capabilities(
        features_off=frozenset({"null-keys"}),
        axes=(Axis("acme.nulls", base="off", values=("on",), favours=("null-keys", "several-files")),),
    )


class TakesNullForTrue(Echo):
    """Lets the first clause act if its condition is NULL."""

    name = "takes-null-for-true"

    def run(self, case: Case) -> EngineResult:
        text = merge_text(case.sql)
        assert text is not None
        first = text.clauses[0]
        if first.condition is not None:
            first = replace(first, condition=f"coalesce({first.condition}, TRUE)")
        return super().run(replace(case, sql=replace(text, clauses=(first, *text.clauses[1:])).sql()))
