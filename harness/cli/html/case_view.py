"""One checked case for an HTML report: what went in, both answers beside each other, why, and how to see it again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.comparison import DIFFERS, Rows, input_tables, one_side, side_by_side
from mergecheck.harness.cli.html.page import CaseView, Cell, Column, Fact, Table, Tone
from mergecheck.harness.report.document import case_document
from mergecheck.harness.report.file_lines import file_texts
from mergecheck.harness.report.render import settings_lines, statement_lines
from mergecheck.harness.verdict import Check, Verdict
from mergecheck.model.case_file import change_schema
from mergecheck.model.formatting import counted
from mergecheck.model.outcome import Bound, Outcome, Prediction, Rejection, Unsupported

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mergecheck.harness.findings.store import Finding
    from mergecheck.harness.report.document import CaseDocument
    from mergecheck.harness.verdict import CaseReport

    Answer = Outcome | Prediction | Rejection | Unsupported | None

TONES = {
    Verdict.AGREE: Tone.GOOD,
    Verdict.BOTH_REJECTED: Tone.GOOD,
    Verdict.MISMATCH: Tone.BAD,
    Verdict.JUDGED_IN_PART: Tone.WARN,
    Verdict.UNSUPPORTED: Tone.WARN,
    Verdict.ENGINE_ERROR: Tone.WARN,
}
_WIDTH = 1_000  # the page breaks lines where it has to


def case_view(
    document: CaseDocument, *, title: str = "", facts: Sequence[Fact] = (), commands: Sequence[Fact] | None = None
) -> CaseView:
    """Show one case.

    Args:
        document: the checked case.
        title: a title; without one, the observables that differ.
        facts: how it was found.
        commands: commands that reproduce it, if not the same as for any saved case.
    """
    report = document.checked
    return CaseView(
        id=document.case.id,
        engine=document.engine,
        tone=Tone.WARN if report.deviations else TONES[report.verdict],
        word=document.verdict,
        title=title or ", ".join(document.checks) or document.reason,
        facts=(*facts, *_discovery(document)),
        differences=document.differences,
        inputs=input_tables(document.case),
        settings=tuple(settings_lines(document.case)),
        statement=tuple(statement_lines(document.case.sql)),
        answers=tuple(_answers(document)),
        hypothesis=document.hypothesis,
        why=document.why(_WIDTH, full=False),
        remarks=tuple(_remarks(document)),
        commands=tuple(
            [Fact(name=one.name, text=one.text, is_code=True) for one in document.commands]
            if commands is None
            else commands
        ),
    )


def finding_view(finding: Finding, *, where: Path, num_cases: int) -> CaseView:
    """Show a finding of a search.

    Args:
        finding: the finding.
        where: its file.
        num_cases: how many cases of the run showed it.
    """
    document = case_document(finding.report, finding=finding, where=where)
    view = case_view(document)
    found, shrunk = view.facts[1:]
    text = f"{found.text}; in {num_cases} of the cases"
    saved = Fact(name="Saved to", text=str(where), is_code=True)
    return replace(view, facts=(view.facts[0], replace(found, text=text), shrunk, saved))


def _discovery(document: CaseDocument) -> Iterator[Fact]:
    found = document.discovery
    if found is None:
        return
    cut = ", cut short by its limit" if found.cut_short else ""
    yield Fact(name="Fingerprint", text=found.fingerprint)
    yield Fact(name="Found", text=f"after {counted(found.num_cases, 'case')} of seed {found.seed}")
    yield Fact(name="Shrunk", text=f"in {counted(found.num_runs, 'run')}, {found.seconds:.0f} s{cut}")


def _remarks(document: CaseDocument) -> Iterator[str]:
    if document.reason:
        yield document.reason
    for one in document.not_checked:
        yield f"not checked: {one.check}" + (f" ({one.reason})" if one.reason else "")
    metrics = [name for one in document.not_checked for name, _ in one.metrics]
    if metrics:
        yield f"metrics not compared: {', '.join(metrics)}"
    if document.unknown_columns:
        yield f"values that nobody can know, judged by their form: {', '.join(document.unknown_columns)}"
    if document.from_spark:
        yield f"values from Spark: {'; '.join(document.from_spark)}"
    if document.reference.alternative is not None:
        yield "the reference allows another answer too; the one shown is the first"


def _answers(document: CaseDocument) -> Iterator[Table]:
    report = document.checked
    wanted, found = report.reference.answer, report.result
    yield from _both("Rows after the merge", _rows(wanted, "Reference"), _rows(found, "Engine"))
    expect = report.case.expect
    if expect is not None and expect.rows is not None and isinstance(found, Outcome):
        side = Rows("Case's expectation", expect.rows, expect.schema or found.schema)
        yield side_by_side(
            "Rows after the merge, as the case expects them", side, Rows("Engine", found.rows, found.schema)
        )
    yield from _both("Change data feed", _feed(wanted, "Reference"), _feed(found, "Engine"))
    yield _outcomes(report)
    if files := file_texts(document):
        names = ("File", "Partition", "Work")
        rows = tuple(tuple(Cell(text=text) for text in texts) for texts in files)
        yield Table(caption="Files of the target", columns=tuple(Column(name=name) for name in names), rows=rows)


def _both(caption: str, wanted: Rows | None, found: Rows | None) -> Iterator[Table]:
    if wanted is not None and found is not None:
        yield side_by_side(caption, wanted, found)
    else:
        for side in (wanted, found):
            if side is not None:
                yield one_side(f"{caption}: {side.owner.lower()} only", side)


def _rows(answer: Answer, owner: str) -> Rows | None:
    return Rows(owner, answer.rows, answer.schema) if isinstance(answer, Outcome | Prediction) else None


def _feed(answer: Answer, owner: str) -> Rows | None:
    if not isinstance(answer, Outcome | Prediction) or answer.cdf is None:
        return None
    return Rows(owner, answer.cdf, change_schema(answer.schema))


def _outcomes(report: CaseReport) -> Table:
    """Pair both sides' answers apart from rows: end, columns, commit, path, metrics."""
    wanted, found = report.reference.answer, report.result
    differing = {mismatch.check for mismatch in report.mismatches}
    num_rows = (_num_rows(wanted), _num_rows(found))
    kinds = {mismatch.kind for mismatch in report.mismatches if mismatch.check is Check.METRICS}
    lines = [
        ("Merge", _end(wanted), _end(found), Check.ERROR in differing),
        ("Rows", *num_rows, num_rows[0] != num_rows[1] and Check.ROWS in differing),
        ("Columns", _schema(wanted), _schema(found), Check.SCHEMA in differing),
        ("Commit", _committed(wanted), _committed(found), Check.COMMIT in differing),
        ("Path", _path(wanted), _path(found), Check.PATH in differing),
        ("Row returned", _returned(wanted), _returned(found), Check.RESULT in differing),
    ]
    names = sorted({*_metrics(wanted), *_metrics(found)})
    num_left_out = num_unreported = 0
    for name in names:
        left, right = _metric(wanted, name), _metric(found, name)
        if name not in kinds and not right:
            num_unreported += 1
        elif name not in kinds and (not left.isdigit() or left == right == "0"):
            num_left_out += 1
        else:
            lines.append((name, left, right, name in kinds))
    return Table(
        caption="Outcome and metrics",
        columns=(Column(name="Observable"), Column(name="Reference"), Column(name="Engine")),
        rows=tuple(
            _line(name, left or _absent(wanted), right or _absent(found), differs)
            for name, left, right, differs in lines
            if left or right
        ),
        is_data=True,
        foot=". ".join(
            [
                *([f"{num_left_out} more metrics are 0 on both sides, or within their bounds"] if num_left_out else []),
                *([f"{num_unreported} metrics are not reported by the engine"] if num_unreported else []),
            ]
        ),
    )


def _line(name: str, left: str, right: str, differs: bool) -> tuple[Cell, ...]:  # noqa: FBT001 - a column of the table
    glyph, note = (DIFFERS, "differs") if differs else ("", "")
    return (
        Cell(text=name),
        *(Cell(text=text, glyph=glyph, note=note, is_marked=differs) for text in (left, right)),
    )


def _absent(answer: Answer) -> str:
    """Return why a side has no value: a merge that succeeds may report it, another one has none."""
    return "not reported" if isinstance(answer, Outcome | Prediction) else "-"


def _end(answer: Answer) -> str:
    if answer is None:
        return "no answer"
    if isinstance(answer, Unsupported):
        return f"unsupported: {answer.reason}"
    if isinstance(answer, Rejection):
        classes = " or ".join([answer.error_class, *sorted(answer.other_classes)])
        return f"rejected: {classes}. {' '.join(answer.message.split())}"
    return "succeeds"


def _num_rows(answer: Answer) -> str:
    return f"{len(answer.rows):,}" if isinstance(answer, Outcome | Prediction) else ""


def _schema(answer: Answer) -> str:
    return answer.schema.ddl() if isinstance(answer, Outcome | Prediction) else ""


def _committed(answer: Answer) -> str:
    if not isinstance(answer, Outcome | Prediction) or answer.committed is None:
        return ""
    return "a new version" if answer.committed else "nothing to commit"


def _path(answer: Answer) -> str:
    return answer.path.value if isinstance(answer, Outcome | Prediction) and answer.path is not None else ""


def _returned(answer: Answer) -> str:
    if not isinstance(answer, Outcome | Prediction) or answer.result_row is None:
        return ""
    return ", ".join(f"{name} {value}" for name, value in answer.result_row.items())


def _metrics(answer: Answer) -> tuple[str, ...]:
    return tuple(answer.metrics) if isinstance(answer, Outcome | Prediction) else ()


def _metric(answer: Answer, name: str) -> str:
    if not isinstance(answer, Outcome | Prediction) or name not in answer.metrics:
        return ""
    value = answer.metrics[name]
    if not isinstance(value, Bound):
        return str(value)
    if value.exact:
        return str(value.low)
    return f"{value.low} or more" if value.high is None else f"{value.low} to {value.high}"
