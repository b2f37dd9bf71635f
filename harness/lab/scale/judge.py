"""Judge a merge of large tables: the reference over the files as they were, the engine's table by its log."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from mergecheck.harness.compare.answers.comparison import REFERENCE
from mergecheck.harness.compare.answers.rejections import check_unchanged, compare_rejection, no_error, spurious_error
from mergecheck.harness.compare.metrics import metric_mismatches
from mergecheck.harness.compare.rows import difference, row_mismatches
from mergecheck.harness.compare.schema import schema_mismatches
from mergecheck.harness.engine import Capabilities
from mergecheck.harness.lab.scale.evaluator import Forecast, Relations, evaluate_relations
from mergecheck.harness.lab.scale.invariants import Invariants
from mergecheck.harness.lab.scale.multisets import compare_multisets, num_passes
from mergecheck.harness.lab.scale.observed import observe_table
from mergecheck.harness.verdict import Check, Mismatch, Verdict
from mergecheck.model.case_file import change_schema
from mergecheck.model.formatting import fit
from mergecheck.model.outcome import MergePath, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mergecheck.harness.lab.scale.multisets import MultisetDiff
    from mergecheck.harness.lab.scale.observed import Observed
    from mergecheck.harness.lab.scale.relations import Files
    from mergecheck.harness.lab.scale.tables.spec import ScaleSpec
    from mergecheck.model.types.data_types import Schema

_CAPABILITIES = Capabilities(exact_metric_names=True)
_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """An engine's answer to a merge.

    Attributes:
        rejection: how it failed; None if it succeeded.
        metrics: the command's own metrics.
        path: the execution path by its letter, None if the engine does not report it.
    """

    rejection: Rejection | None = None
    metrics: Mapping[str, int] | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The result of comparing a merge with the reference.

    Attributes:
        reason: why the verdict is ``unsupported``.
        keys: keys of the first rows that differ, for a small case.
        checked: how many rows each comparison saw on the reference's side, by its name; 0 for comparisons not made.
        counts: the reference's counts: rows matched, changed, files rewritten.
        path: the execution path of the reference; None if it has none.
        reported: the metrics of the engine.
        unchecked: checks that were not made, with the reason.
    """

    verdict: Verdict
    mismatches: tuple[Mismatch, ...] = ()
    reason: str = ""
    keys: tuple[Any, ...] = ()
    checked: Mapping[str, int] | None = None
    counts: Mapping[str, int] | None = None
    path: str | None = None
    reported: Mapping[str, int] | None = None
    unchecked: Mapping[str, str] | None = None


def judge(
    spec: ScaleSpec,
    tables: Mapping[str, Path],
    merged: Merged,
    connection: duckdb.DuckDBPyConnection,
    *,
    on_step: Callable[[str, int | None], None] = lambda _name, _rows: None,
) -> Judgement:
    """Judge one merge.

    Args:
        spec: the case.
        tables: the folders of ``target``, after the merge, and ``source``.
        merged: the engine's answer.
        connection: a DuckDB of its own, its limits and its time zone set.
        on_step: receives the next step and its number of rows.
    """
    taken = None if merged.path is None else MergePath(merged.path)
    try:
        observed = observe_table(tables["target"], metrics=merged.metrics or {}, taken=taken)
    except (ValueError, LookupError, OSError) as error:
        return _unreadable(error)
    source = observe_table(tables["source"], metrics={}, taken=None).after
    relations = Relations(
        target=observed.before.numbered("t", number="rid", file="file"),
        source=source.numbered("s", number="sid", file=None),
    )
    num_rows = observed.before.num_records(connection)
    answer = evaluate_relations(
        spec.case(), relations, connection, on_step=lambda name: on_step(f"reference: {name}", num_rows)
    )
    if isinstance(answer, Unsupported):
        return Judgement(verdict=Verdict.UNSUPPORTED, reason=f"reference: {answer.reason}")
    if isinstance(answer, Rejection) or merged.rejection is not None:
        return _judge_errors(answer, merged.rejection, observed)
    try:
        return _Comparison(connection, observed, answer, on_step).judge()
    except (duckdb.IOException, duckdb.InvalidInputException, OSError) as error:
        return _unreadable(error)


def _unreadable(error: Exception) -> Judgement:
    """Report that the merge left an unreadable table."""
    text = f"the merge succeeded, but its table cannot be read: {type(error).__name__}: {error}"
    lines = (fit(text.split("\n", maxsplit=1)[0]),)
    mismatch = Mismatch(check=Check.ERROR, against=REFERENCE, kind="unreadable_table", lines=lines)
    unchecked = dict.fromkeys(("rows", "changes", "metrics", "invariants"), "the table cannot be read")
    return Judgement(verdict=Verdict.MISMATCH, mismatches=(mismatch,), unchecked=unchecked)


def _judge_errors(answer: Forecast | Rejection, found: Rejection | None, observed: Observed) -> Judgement:
    if found is None:
        wanted = answer.error_class if isinstance(answer, Rejection) else ""
        return Judgement(verdict=Verdict.MISMATCH, mismatches=(no_error(wanted, against=REFERENCE),))
    found = Rejection(error_class=found.error_class, message=found.message, unchanged=not observed.committed)
    if isinstance(answer, Rejection):
        compared = compare_rejection(answer, found, capabilities=_CAPABILITIES).mismatches
        return Judgement(verdict=Verdict.MISMATCH if compared else Verdict.BOTH_REJECTED, mismatches=compared)
    unchanged = check_unchanged(found, against=REFERENCE).mismatches
    return Judgement(verdict=Verdict.MISMATCH, mismatches=(spurious_error(found, against=REFERENCE), *unchanged))


class _Comparison:
    """The comparison of a merge that succeeds on both sides."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        observed: Observed,
        forecast: Forecast,
        on_step: Callable[[str, int | None], None],
    ) -> None:
        self._connection, self._observed, self._forecast, self._step = connection, observed, forecast, on_step
        self._mismatches: list[Mismatch] = []
        self._keys: dict[Any, None] = {}
        self._checked: dict[str, int] = {}

    def judge(self) -> Judgement:
        seen, forecast = self._observed, self._forecast
        self._add(*schema_mismatches(forecast.schema, seen.schema, against=REFERENCE, complete=True))
        if self._mismatches:
            unchecked = dict.fromkeys(("rows", "changes", "metrics", "invariants"), "the schemas differ")
            return self._judgement(unchecked=unchecked)
        if faults := self._type_faults():
            self._add(Mismatch(check=Check.SCHEMA, against=REFERENCE, kind="file_types", lines=faults[:_SHOWN]))
            why = "new files do not store the table's types"
            return self._judgement(unchecked=dict.fromkeys(("rows", "changes", "metrics", "invariants"), why))
        counts = forecast.counts
        num_before = seen.before.num_records(self._connection)
        num_rows, num_changes = num_before + counts.inserted - counts.deleted, counts.changes
        self._step("rows compared", num_rows)
        self._multisets(Check.ROWS, forecast.rows, seen.after_rows, forecast.schema, num_rows)
        if forecast.changes is not None:
            self._step("changes compared", num_changes)
            feed = change_schema(forecast.schema)
            self._multisets(Check.CDF, _feed(forecast.changes, feed), _feed(seen.changes, feed), feed, num_changes)
        self._step("metrics and invariants", num_rows)
        self._numbers()
        self._add(*Invariants(connection=self._connection, observed=seen, present=forecast.clauses).broken())
        return self._judgement()

    def _type_faults(self) -> tuple[str, ...]:
        """List the columns whose files do not store the table's types; reading them would hide it."""
        files: tuple[Files, ...] = (self._observed.added, self._observed.change_files)
        return tuple(fit(fault) for one in files for fault in one.type_faults(self._connection))

    def _multisets(self, check: Check, wanted: str, found: str, schema: Schema, num_rows: int) -> None:
        passes = num_passes(2 * num_rows)
        compared = compare_multisets(self._connection, wanted, found, schema, passes=passes)
        self._checked[check.value] = num_rows
        if compared:
            self._keys.update(dict.fromkeys(compared.keys))
            self._add(*_row_mismatches(compared, check, schema))

    def _numbers(self) -> None:
        """Compare metrics, commit and path (R-501, R-732, R-402)."""
        seen, forecast = self._observed, self._forecast
        self._checked["metrics"] = len(forecast.metrics)
        if seen.metrics or seen.committed:
            self._add(*metric_mismatches(forecast.metrics, seen.metrics, against=REFERENCE, exact_names=True))
        if seen.committed != forecast.committed:
            kind = "spurious_commit" if seen.committed else "no_commit"
            text = f"reference: {_version(made=forecast.committed)} (R-732), engine: {_version(made=seen.committed)}"
            self._add(Mismatch(check=Check.COMMIT, against=REFERENCE, kind=kind, lines=(text,)))
        if seen.path is not None and seen.path is not forecast.path:
            text = f"reference: path {forecast.path.value} (R-402), engine: path {seen.path.value}"
            self._add(Mismatch(check=Check.PATH, against=REFERENCE, kind="path", lines=(text,)))

    def _add(self, *mismatches: Mismatch) -> None:
        self._mismatches.extend(mismatches)

    def _judgement(self, unchecked: Mapping[str, str] | None = None) -> Judgement:
        forecast = self._forecast
        no_path = {} if self._observed.path else {"path": "the engine does not report which path a merge took"}
        return Judgement(
            verdict=Verdict.MISMATCH if self._mismatches else Verdict.AGREE,
            mismatches=tuple(self._mismatches),
            keys=tuple(self._keys),
            checked=self._checked,
            counts=asdict(forecast.counts),
            path=forecast.path.value,
            reported=self._observed.metrics,
            unchecked={**no_path, **(unchecked or {})},
        )


def _version(*, made: bool) -> str:
    return "a table version" if made else "none"


def _feed(changes: str, schema: Schema) -> str:
    """Name the type of the change as the column behind the table's."""
    last = len(schema.columns) - 1
    columns = ", ".join(f"c{i}" for i in range(last))
    return f"SELECT {columns}, change AS c{last} FROM ({changes})"


def _row_mismatches(compared: MultisetDiff, check: Check, schema: Schema) -> tuple[Mismatch, ...]:
    """Report the number of differing rows and the first ones."""
    tied = len(schema.columns) - 1 if check is Check.CDF else None
    first = difference(compared.missing, compared.extra, wanted_schema=schema, found_schema=schema, tied=tied)
    shown = row_mismatches(first, check=check, against=REFERENCE, wanted_schema=schema, found_schema=schema)
    what = "change rows" if check is Check.CDF else "rows"
    kinds = [name for name, n in (("missing", compared.num_missing), ("extra", compared.num_extra)) if n]
    headline = f"{compared.num_missing} {what} of the reference are missing, {compared.num_extra} are not in it"
    lines = [line for one in shown for line in one.lines[1:] if not line.startswith("  and ")]
    kind = "changed_rows" if len(kinds) > 1 else f"{kinds[0]}_rows"
    return (Mismatch(check=check, against=REFERENCE, kind=kind, lines=(headline, *lines[:_SHOWN])),)
