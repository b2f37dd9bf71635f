"""The content of an HTML report, as values: the verbs fill a page, the templates draw it.

All texts are plain. The templates escape them and make control characters visible.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from mergecheck.harness.report.document import Difference


class Tone(Enum):
    """How something is meant; the value names its colours in the style sheet."""

    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    PLAIN = "plain"

    @property
    def glyph(self) -> str:
        """The sign that replaces the colour."""
        return {"good": "✓", "bad": "✗", "warn": "!", "plain": "·"}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        detail: a second line under the name, such as a type.
        is_number: its cells are numbers, and are aligned to the right.
    """

    name: str
    detail: str = ""
    is_number: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a table.

    Attributes:
        glyph: a sign in front of the text.
        note: the text of the tooltip, also for readers who cannot see the colour.
        is_marked: the cell differs from its counterpart.
        tone: the colour of the text.
        level: colour in a heat map, from 0 (never) to ``MAX_LEVEL``; None for no colour.
        span: number of columns that it covers.
        link: anchor of the case that it leads to.
    """

    text: str
    glyph: str = ""
    note: str = ""
    is_marked: bool = False
    tone: Tone = Tone.PLAIN
    level: int | None = None
    span: int = 1
    link: str = ""


MAX_LEVEL = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table; the first cell of a row is its header.

    Attributes:
        groups: headers over several columns, with the number of columns of each; they cover all columns.
        is_data: the cells are values of a case or code, and are set in a fixed-width font.
        foot: the rows left out, or the meaning of the signs.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()
    is_data: bool = False
    foot: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartPoint:
    """A value of a chart: its position, in units of the drawing, and its text."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A line over several runs; a table beside it has its values.

    Attributes:
        caption: the figure drawn.
        points: from the oldest run to the newest.
        first, last, high: the values of the ends of the line, and the top of the scale, which begins with 0.
        width, height: of the drawing, in its own units.
    """

    caption: str
    points: tuple[ChartPoint, ...]
    first: str
    last: str
    high: str
    width: ClassVar[int] = 320
    height: ClassVar[int] = 96

    @property
    def description(self) -> str:
        """The text for a screen reader."""
        return f"{self.caption}: {self.first} in the first run, {self.last} in this one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A remark with a tone; ``lines`` are behind it."""

    tone: Tone
    word: str
    text: str
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A name and what stands beside it; ``is_code`` for a command."""

    name: str
    text: str
    is_code: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseView:
    """One case on one engine.

    Attributes:
        id: the case's id. engine: name and version.
        word: the verdict. title: its subject, in a line.
        inputs: the tables before the merge. settings: other inputs.
        statement: the MERGE, clause by clause.
        answers: the reference and the engine side by side.
        hypothesis: the fault by which the engine acts; empty without a hypothesis.
        why: how the reference derives its answer.
        commands: commands that reproduce it.
        anchor: the target of links to it, which open it.
    """

    id: str
    engine: str
    tone: Tone
    word: str
    title: str
    anchor: str = ""
    facts: tuple[Fact, ...] = ()
    differences: tuple[Difference, ...] = ()
    inputs: tuple[Table, ...] = ()
    settings: tuple[str, ...] = ()
    statement: tuple[str, ...] = ()
    answers: tuple[Table, ...] = ()
    hypothesis: str = ""
    why: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    commands: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The content under one heading.

    Attributes:
        empty: the text if there is nothing else.
        texts: lines in a fixed-width font.
    """

    empty: str = ""
    texts: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    facts: tuple[Fact, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    cases: tuple[CaseView, ...] = ()

    @property
    def summary(self) -> str:
        """The notes in one line: how many are warnings, and which."""
        warnings = [f"{note.word} {note.text}" for note in self.notes if note.tone not in (Tone.GOOD, Tone.PLAIN)]
        if not warnings:
            return "nothing of that kind"
        return f"{len(warnings)} of {len(self.notes)} doubts: {'; '.join(warnings)}"

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing under the heading."""
        return not (self.texts or self.notes or self.facts or self.charts or self.tables or self.cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part with its heading.

    Attributes:
        id: the target of links to it.
        num_open: cases that are shown open.
        is_folded: whether the notes are behind one line, which opens.
    """

    id: str
    title: str
    part: Part
    num_open: int = 0
    is_folded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionedPage:
    """A page with headings of its own.

    Attributes:
        verb: the command that ran. subject: its subject.
        verdict: its first line. facts: its inputs.
    """

    verb: str
    subject: str
    verdict: Note
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A report of a run, whose headings are always the same.

    Attributes:
        verb: the command that ran. subject: the engines, or another subject of the checks.
        verdict: how the run ended. facts: the run's inputs.
        doubts: reasons why the verdict could be meaningless.
        findings: unexplained differences.
        deviations: differences that are known.
        coverage: the coverage of the cases.
        time: how long it took.
        trend: this run and earlier ones; left out if there are none.
    """

    verb: str
    subject: str
    verdict: Note
    facts: tuple[Fact, ...]
    doubts: Part = field(default_factory=Part)
    findings: Part = field(default_factory=Part)
    deviations: Part = field(default_factory=Part)
    coverage: Part = field(default_factory=Part)
    time: Part = field(default_factory=Part)
    trend: Part = field(default_factory=Part)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The parts in the order of the page; of the findings, the first ones are open."""
        trend = () if self.trend.is_empty else (Section(id="trend", title="Trend", part=self.trend),)
        return (
            Section(id="findings", title="Findings", part=self.findings, num_open=3),
            Section(id="doubts", title="What could make this meaningless", part=self.doubts, is_folded=True),
            Section(id="deviations", title="Known deviations", part=self.deviations),
            Section(id="coverage", title="Coverage", part=self.coverage),
            Section(id="time", title="Time and throughput", part=self.time),
            *trend,
        )
