"""The HTML report of ``mergecheck lab matrix``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.case_view import case_view
from mergecheck.harness.cli.html.heat import level_of
from mergecheck.harness.cli.html.page import Cell, Column, Fact, Note, Page, Part, Table, Tone
from mergecheck.harness.cli.html.random_cases.fuzz import throughput
from mergecheck.harness.cli.html.verdicts import NO_FINDINGS, by_count, doubt, ended, known
from mergecheck.harness.lab.scoreboard.features import FEATURES
from mergecheck.harness.lab.scoreboard.majority_vote import odd_lines
from mergecheck.harness.lab.scoreboard.scoreboard_run import Answer
from mergecheck.harness.lab.scoreboard.scoreboard_text import LEGEND
from mergecheck.harness.lab.scoreboard.scoreboard_text import cell_text as counts_text
from mergecheck.harness.report.document import case_document
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.harness.cli.html.page import CaseView
    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.lab.scoreboard.scoreboard_run import Difference, Matrix
    from mergecheck.harness.verdict import ExitCode

_SIGNS = ((Answer.MISMATCH, "✗", "mismatch"), (Answer.ERROR, "!", "engine error"), (Answer.DEVIATES, "≠", "deviates"))


def matrix_page(matrix: Matrix, *, deviations: Deviations, again: str, code: ExitCode) -> Page:
    """Show several engines on the same cases.

    Args:
        matrix: the result.
        deviations: known deviations of the engines.
        again: the command that checks the same cases.
        code: the exit code.
    """
    engines = [f"{column.engine.name} {column.engine.version}" for column in matrix.columns]
    open_ones = [difference for difference in matrix.differences if not difference.deviations]
    explained = [difference for difference in matrix.differences if difference.deviations]
    told = f"{counted(matrix.num_cases, 'random case')} on {counted(len(engines), 'engine')}"
    found = f"{counted(len(open_ones), 'unexplained difference')}" if open_ones else "no unexplained difference"
    seen = {column.name: column.seen for column in matrix.columns}
    deviating = Counter[str]()
    for difference in explained:
        for name in difference.deviations:
            deviating[name] += seen[difference.column][difference.what]
    return Page(
        verb="matrix",
        subject=", ".join(engines),
        verdict=ended(code, f"{told}: {found}."),
        facts=(
            Fact(name="Engines", text=", ".join(engines)),
            Fact(name="Seed", text=str(matrix.seed)),
            Fact(name="Same cases again", text=again, is_code=True),
        ),
        doubts=Part(notes=tuple(_doubts(matrix))),
        findings=Part(empty=NO_FINDINGS, cases=tuple(_views(matrix, open_ones))),
        deviations=known(deviating, deviations, tuple(_views(matrix, explained))),
        coverage=Part(facts=(Fact(name="Cells", text=LEGEND),), tables=(_features(matrix), _work(matrix))),
        time=Part(
            facts=(
                Fact(name="Wall time", text=f"{matrix.seconds:.1f} s"),
                Fact(
                    name="Throughput", text=f"{throughput(matrix.num_cases, matrix.seconds)}, on all engines together"
                ),
            )
        ),
    )


def _doubts(matrix: Matrix) -> Iterator[Note]:
    for column in matrix.columns:
        name = column.engine.name
        if column.down:
            yield Note(tone=Tone.WARN, word="DOWN", text=f"{name} ended before the cases did", lines=(column.down,))
        total = column.totals[Answer.UNSUPPORTED]
        share = f" ({total / matrix.num_cases:.0%})" if matrix.num_cases else ""
        yield doubt(total, f"cases that are not supported on {name}{share}", by_count(column.unsupported))
        reasons = column.engine.capabilities.reasons
        checks = [
            f"{check} in {counted(number, 'case')}" + (f": {reasons[check]}" if check in reasons else "")
            for check, number in column.not_checked.most_common()
        ]
        yield doubt(len(checks), f"kinds of checks not made on {name}, or not in full, in some cases", checks)
        if column.totals[Answer.ERROR]:
            yield doubt(column.totals[Answer.ERROR], f"cases on which {name}, or its adapter, failed")
    never = [
        name for name in FEATURES if not any(column.cells.get(name, Counter()).total() for column in matrix.columns)
    ]
    yield doubt(len(never), "features that no case had", never)


def _views(matrix: Matrix, differences: list[Difference]) -> Iterator[CaseView]:
    seen = {column.name: column.seen for column in matrix.columns}
    for difference in sorted(differences, key=lambda one: (one.column, -seen[one.column][one.what])):
        facts = [
            Fact(name="Seen", text=f"in {counted(seen[difference.column][difference.what], 'case')}; the smallest:")
        ]
        facts += [Fact(name="Parties", text=" ".join(line.split())) for line in odd_lines(difference.votes)]
        yield case_view(
            case_document(
                replace(difference.report, deviations=difference.deviations),  # shrinking took them away
                hypotheses=difference.hypotheses,
                where=difference.path or difference.report.case.id,
            ),
            title=difference.what,
            facts=facts,
        )


def _features(matrix: Matrix) -> Table:
    empty: Counter[Answer] = Counter()
    lines = [(name, [column.cells.get(name, empty) for column in matrix.columns]) for name in FEATURES]
    lines.append(("all cases", [column.totals for column in matrix.columns]))
    most = max((counts[Answer.AGREE] for _, row in lines for counts in row), default=0)
    return Table(
        caption="Features by engines: cases that agree",
        columns=(
            Column(name="Feature"),
            *(Column(name=column.engine.name, detail=column.engine.version) for column in matrix.columns),
        ),
        rows=tuple((Cell(text=name), *(_cell(counts, most) for counts in row)) for name, row in lines),
    )


def _work(matrix: Matrix) -> Table:
    rows = []
    for column in matrix.columns:
        work = column.work.counts
        unknown = ", ".join(by_count(column.work.unknown))
        texts = (f"{work.merges:,}", work.line() if work.merges else "not known", unknown)
        rows.append((Cell(text=f"{column.engine.name} {column.engine.version}"), *(Cell(text=text) for text in texts)))
    names = (Column(name="Engine"), Column(name="Merges", is_number=True), Column(name="In vain"))
    columns = (*names, Column(name="Not known in"))
    return Table(caption="Work that no row needed", columns=columns, rows=tuple(rows))


def _cell(counts: Counter[Answer], most: int) -> Cell:
    if not counts.total():
        return Cell(text="-", note="no case")
    signs = [(glyph, word) for answer, glyph, word in _SIGNS if counts[answer]]
    glyph, _ = signs[0] if signs else ("", "")
    note = ", ".join(word for _, word in signs) or ("" if counts[Answer.AGREE] else "none agrees")
    return Cell(text=counts_text(counts), glyph=glyph, note=note, level=level_of(counts[Answer.AGREE], most))
