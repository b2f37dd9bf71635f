"""The explanation of a case as lines for a person: rows, files, path, and explanations of the engine's result."""

from __future__ import annotations

import itertools
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.explanation.condition import Conditions
from mergecheck.harness.explanation.row_stories import RowOutcome, concerned_by, num_stories, row_stories
from mergecheck.harness.specification.citations import with_titles
from mergecheck.model.formatting import counted, shown_row
from mergecheck.model.outcome import MergePath, Prediction, Rejection
from mergecheck.reference.dialects import MULTI_MATCH, Counted
from mergecheck.reference.syntax.statement import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mergecheck.harness.explanation.condition import EvaluatedClause
    from mergecheck.harness.explanation.row_stories import RowStory, Unit
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import Outcome
    from mergecheck.model.types.data_types import Schema
    from mergecheck.reference.answer import Reference
    from mergecheck.reference.dialects import Dialect
    from mergecheck.reference.trace import Matches, Trace

MAX_ROWS = 20
MAX_PAIRS = 100
MAX_HYPOTHESES = 3
MOST_EVALUATED_PAIRS = 10_000

# A column and its value stay on one line.
_EQUALS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
_OUTCOMES = {
    RowOutcome.UPDATED: "updated to",
    RowOutcome.DELETED: "deleted",
    RowOutcome.INSERTED: "inserted as",
    RowOutcome.COPIED: "copied as it is, with its file",
    RowOutcome.LEFT: "left as it is",
    RowOutcome.NOT_INSERTED: "not inserted",
    RowOutcome.UNKNOWN: "the merge is refused",
}
_PATHS = {
    MergePath.A: "A: insert clauses only, one anti-join of the source against the target",
    MergePath.B: "B: no file is touched, inserts are appended",
    MergePath.C: "C: no file is touched and there is no insert clause, so nothing is written",
    MergePath.D: "D: the touched files are rewritten",
    MergePath.E: "E: changed rows are marked in deletion vectors",
}


def why_lines(
    case: Case,
    reference: Reference,
    *,
    width: int,
    max_rows: int = MAX_ROWS,
    result: Outcome | None = None,
    with_files: bool = True,
) -> list[str]:
    """Explain how the reference derives its answer.

    Args:
        case: the case.
        reference: its evaluation; if the trace has the value of ON for every pair, NULLs of ON are listed too.
        width: columns of a line.
        max_rows: how many rows are listed.
        result: an engine's other answer: only the rows in which it differs are explained, if that can be known.
        with_files: also explain which files and which path the merge takes, and cite rules.
    """
    trace = reference.trace
    concerned = None if result is None else concerned_by(case, reference, result)
    stories = (one for one in row_stories(case, reference) if concerned is None or (one.table, one.number) in concerned)
    number = num_stories(reference) if concerned is None else len(concerned)
    lines: list[str] = []
    shown = list(itertools.islice(stories, max_rows))
    for alike in _alike(shown) if result is not None else [[one] for one in shown]:
        numbers = listed([one.number for one in alike])
        lines += _story_lines(case, reference, alike[0], numbers, width=width, with_files=with_files)
    num_more = number - max_rows
    if num_more > 0:
        lines.append(f"... {counted(num_more, 'more row')}")
        if trace.matches is not None and _refused(reference) == MULTI_MATCH:
            lines += [line for text in _ambiguous(trace.matches) for line in _wrapped(text, width, 4)]
    lines += _end_lines(reference, width, with_files=with_files, has_rows=bool(lines))
    return lines


def pair_lines(case: Case, trace: Trace, *, width: int, max_pairs: int = MAX_PAIRS) -> list[str]:
    """Show the value of ON for every pair of rows; nothing if the trace does not have them."""
    values = None if trace.matches is None else trace.matches.on_values
    if values is None:
        return []
    lines, conditions = [], Conditions(case, trace)
    for (sid, rid), value in sorted(values.items(), key=lambda item: (item[0][1], item[0][0]))[:max_pairs]:
        columns = ", ".join(f"{name}{_EQUALS}{text}" for name, text in conditions.on_columns(sid, rid))
        lines += _wrapped(f"target {rid + 1}, source {sid + 1}: {_truth(value)}   {columns}".rstrip(), width, 2)
    return lines + ([f"... {counted(len(values) - max_pairs, 'more pair')}"] if len(values) > max_pairs else [])


def hypothesis_lines(hypotheses: Sequence[str], *, width: int) -> list[str]:
    """List the explanations of the engine's result; of several the first few."""
    lines = [line for one in hypotheses[:MAX_HYPOTHESES] for line in _wrapped(one, width, 2)]
    num_more = len(hypotheses) - MAX_HYPOTHESES
    return lines + ([f"... {counted(num_more, 'more hypothesis', 'more hypotheses')}"] if num_more > 0 else [])


def _refused(reference: Reference) -> str:
    """Give the error class of a merge that is refused; empty for any other."""
    return reference.answer.error_class if isinstance(reference.answer, Rejection) else ""


def _alike(stories: Sequence[RowStory]) -> list[list[RowStory]]:
    """Join the stories of equal rows that differ in nothing but the number of the row."""
    groups: dict[str, list[RowStory]] = {}
    for story in stories:
        groups.setdefault(repr(replace(story, number=0)), []).append(story)
    return list(groups.values())


def _story_lines(
    case: Case, reference: Reference, story: RowStory, numbers: str, *, width: int, with_files: bool
) -> list[str]:
    trace, refused = reference.trace, _refused(reference)
    schema = case.target.schema if story.table == "target" or trace.source is None else trace.source.schema
    lines = _wrapped(f"{story.table} {numbers} {shown_row(story.row, schema)} {_matched(story)}", width, 4)
    for unit in story.units:
        if len(story.units) > 1:
            lines.append(f"  with source {unit.partner}:")
        lead = "    " if len(story.units) > 1 else "  "
        lines += [part for line in _unit_lines(unit) for part in _wrapped(lead + line, width, len(lead) + 4)]
    if refused == MULTI_MATCH:
        return lines + _wrapped(f"  -> {_ambiguity(story, trace.dialect)}", width, 6)
    outcome = RowOutcome.LEFT if story.outcome is RowOutcome.COPIED and not with_files else story.outcome
    return lines + _wrapped(f"  {_outcome(replace(story, outcome=outcome), _final_schema(trace, schema))}", width, 6)


def _ambiguity(story: RowStory, dialect: Dialect) -> str:
    if dialect.counts is Counted.MATCHES and story.table == "target" and len(story.partners) > 1:
        return "several source rows match it, so the merge is refused, whatever clauses would do (R-320)"
    if dialect.counts is Counted.ACTS and sum(unit.applied is not None for unit in story.units) > 1:
        return f"clauses apply with several source rows, so the merge is refused ({dialect.name})"
    return "nothing happens to it: the merge is refused for another row"


def _matched(story: RowStory) -> str:
    if story.partners:
        return f"is matched by source {listed(story.partners)}"
    other = "source" if story.table == "target" else "target"
    null = f"; ON is NULL with {other} {listed(story.null_partners)}" if story.null_partners else ""
    return f"has no match{null}"


def _unit_lines(unit: Unit) -> Iterator[str]:
    yield from (_tried(tried) for tried in unit.tried)
    if not unit.tried:
        yield "no clause is for it"
    elif unit.applied is None:
        yield "no clause applies"


def _tried(tried: EvaluatedClause) -> str:
    if tried.condition is None:
        return f"clause {tried.clause} applies: it has no condition"
    columns = ", ".join(f"{name}{_EQUALS}{value}" for name, value in tried.columns)
    verb = "applies" if tried.value else "does not apply"
    given = f" ({columns})" if columns else ""
    return f"clause {tried.clause} {verb}: {' '.join(tried.condition.split())} is {_truth(tried.value)}{given}"


def _outcome(story: RowStory, schema: Schema) -> str:
    after = "" if story.after is None else f" {shown_row(story.after, schema)}"
    return f"-> {_OUTCOMES[story.outcome]}{after}"


def _final_schema(trace: Trace, default: Schema) -> Schema:
    return default if trace.merge is None else trace.merge.final_schema


def _end_lines(reference: Reference, width: int, *, with_files: bool, has_rows: bool) -> list[str]:
    answer = reference.answer
    if isinstance(answer, Rejection):
        when = "before rows are read" if reference.trace.matches is None else "on these rows"
        return _wrapped(f"refused {when}: {answer.error_class}", width, 2)
    if not isinstance(answer, Prediction):
        return _wrapped(f"not evaluated: {answer.reason}", width, 2)
    if not with_files:
        no_rows = not has_rows and reference.trace.matches is not None
        return ["there is no row on which a clause could be tried"] if no_rows else []
    lines = [part for line in _file_lines(reference) for part in _wrapped(line, width, 2)]
    commit = "a table version is created" if answer.committed else "no table version is created"
    return [*lines, *_wrapped(f"path {_PATHS[answer.path]} (R-402); {commit}", width, 2)]


def _ambiguous(matches: Matches) -> Iterator[str]:
    """Name the target rows that several source rows match, the first few."""
    partners: dict[int, list[int]] = {}
    for sid, rid in sorted(matches.pairs):
        partners.setdefault(rid, []).append(sid + 1)
    ambiguous = [(rid + 1, sids) for rid, sids in sorted(partners.items()) if len(sids) > 1]
    for number, sids in ambiguous[:MAX_HYPOTHESES]:
        yield f"  target {number} is matched by source {listed(sids)}"
    if len(ambiguous) > MAX_HYPOTHESES:
        yield f"  ... {counted(len(ambiguous) - MAX_HYPOTHESES, 'more target row')}"


def _file_lines(reference: Reference) -> Iterator[str]:
    """List which files are touched, and by which part of R-410."""
    trace, answer = reference.trace, reference.answer
    numbers = sorted(set(trace.files))
    if not numbers or trace.touched is None or not isinstance(answer, Prediction):
        return
    if answer.path is MergePath.A:
        yield "no file is touched: an insert-only merge adds files only (R-410)"
        return
    touched = [number for number in numbers if number in trace.touched]
    others = [number for number in numbers if number not in trace.touched]
    because, because_not = _why_touched(trace)
    if touched:
        yield f"file {listed([number + 1 for number in touched])} touched: {because} (R-410)"
    if others:
        yield f"file {listed([number + 1 for number in others])} not touched: {because_not} (R-410)"


def _why_touched(trace: Trace) -> tuple[str, str]:
    """Explain why a file is touched, and why another one is not."""
    kinds = set() if trace.merge is None else {clause.kind for clause in trace.merge.clauses}
    if Kind.NOT_MATCHED_BY_SOURCE in kinds:
        return "a by-source clause touches every file", ""
    if Kind.NOT_MATCHED in kinds:
        return "it holds a row with a match", "none of its rows has a match"
    return "it holds a row to which a clause applies", "no clause applies to any of its rows"


def _truth(value: bool | None) -> str:  # noqa: FBT001 - a value of SQL
    return "NULL" if value is None else "TRUE" if value else "FALSE"


def listed(numbers: Sequence[int]) -> str:
    """Write the first few of some numbers."""
    most = 8
    shown = ", ".join(map(str, numbers[:most]))
    return shown if len(numbers) <= most else f"{shown}, ... {len(numbers) - most} more"


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    lead = len(text) - len(text.lstrip())
    lines = textwrap.wrap(
        with_titles(text.strip()),
        width,
        initial_indent=" " * lead,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )
    return [line.replace(_EQUALS, " = ") for line in lines]
