"""The page of ``mergecheck lab scoreboard``: engine x release x feature, and one case for each way to differ."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from mergecheck.harness.cli.html.comparison import input_tables
from mergecheck.harness.cli.html.heat import level_of
from mergecheck.harness.cli.html.page import (
    CaseView,
    Cell,
    Column,
    Fact,
    Note,
    Part,
    Section,
    SectionedPage,
    Table,
    Tone,
)
from mergecheck.harness.cli.html.verdicts import by_count, doubt
from mergecheck.harness.lab.scoreboard.features import FEATURES
from mergecheck.harness.lab.scoreboard.scoreboard import FEW_CASES, num_judged
from mergecheck.harness.lab.scoreboard.scoreboard_run import Answer
from mergecheck.harness.lab.scoreboard.scoreboard_text import LEGEND, cell_text
from mergecheck.harness.report.document import Difference, check_name
from mergecheck.harness.report.render import settings_lines, statement_lines
from mergecheck.harness.verdict import Check
from mergecheck.model.formatting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mergecheck.harness.deviations.registry import Deviations
    from mergecheck.harness.lab.scoreboard.scoreboard import Cause, EngineScores, Release, Scoreboard

_SIGNS = ((Answer.MISMATCH, "✗", "mismatch"), (Answer.ERROR, "!", "engine error"), (Answer.DEVIATES, "≠", "deviates"))
_COLOURS = "Darker blue: a larger share of the judged cases agrees; red: less than a tenth. A link leads to a case"
_COUNTED = (
    ("Agree", Answer.AGREE),
    ("Known deviation", Answer.DEVIATES),
    ("Unexplained mismatch", Answer.MISMATCH),
    ("Unsupported", Answer.UNSUPPORTED),
    ("Engine error", Answer.ERROR),
)


def scoreboard_page(board: Scoreboard, *, deviations: Deviations) -> SectionedPage:
    """Show stored runs side by side.

    Args:
        board: the runs, combined.
        deviations: known deviations of the engines.
    """
    anchors = _anchors(board)
    num_releases = sum(len(engine.releases) for engine in board.engines)
    num_answers = sum(release.totals.total() for engine in board.engines for release in engine.releases)
    causes = [cause for engine in board.engines for cause in engine.causes]
    num_open = sum(not cause.deviations for cause in causes)
    told = f"{counted(num_answers, 'answer')} of {counted(num_releases, 'release')}"
    found = f"{counted(len(causes), 'way to differ', 'ways to differ')} from the reference, {num_open} unexplained"
    reasons = {entry.id: entry.reason for entry in deviations.entries}
    return SectionedPage(
        verb="scoreboard",
        subject=", ".join(engine.name for engine in board.engines),
        verdict=Note(tone=Tone.PLAIN, word=counted(len(board.engines), "engine"), text=f"{told}: {found}."),
        facts=(
            Fact(name="Made from", text=", ".join(PurePath(name).name for name in board.files), is_code=True),
            Fact(name="Held against", text="mergecheck's reference, which does what Delta Lake documents for MERGE"),
            Fact(name="No ranking", text="the releases of one file had the same cases, another file has others"),
        ),
        sections=(
            Section(id="releases", title="Releases", part=Part(tables=(_releases(board),))),
            Section(id="features", title="Features", part=Part(tables=tuple(_features(board, anchors)))),
            Section(id="causes", title="Ways to differ", part=_causes(board, anchors, reasons)),
            Section(id="doubts", title="What the figures leave out", part=Part(notes=tuple(_doubts(board)))),
            Section(
                id="cases",
                title="Minimal cases",
                part=Part(empty="No run kept a case.", cases=tuple(_views(board, anchors, reasons))),
            ),
        ),
    )


def _anchors(board: Scoreboard) -> dict[tuple[str, str], str]:
    """Name the cases that are shown, for links."""
    shown = [cause for engine in board.engines for cause in engine.causes if cause.smallest.lines]
    return {(cause.engine, cause.what): f"shown-{number}" for number, cause in enumerate(shown, start=1)}


def _releases(board: Scoreboard) -> Table:
    numbers = ["Agree, of judged", "Judged", *(name for name, _ in _COUNTED)]
    return Table(
        caption="What became of the cases",
        columns=(Column(name="Engine and release"), *(Column(name=name, is_number=True) for name in numbers)),
        rows=tuple(
            (
                Cell(text=f"{engine.name} {release.version}"),
                _share(release.totals),
                Cell(text=f"{release.num_judged:,}"),
                *(_number(release.totals[answer], answer) for _, answer in _COUNTED),
            )
            for engine in board.engines
            for release in engine.releases
        ),
        foot="Judged: the answer was held against the reference's. A statement that both reject agrees. "
        f"~ fewer than {FEW_CASES} judged cases, so the share says little. Known deviations describe the newest "
        "releases: what an older one does otherwise counts as unexplained",
    )


def _number(number: int, answer: Answer) -> Cell:
    tone = {Answer.MISMATCH: Tone.BAD, Answer.ERROR: Tone.WARN}.get(answer, Tone.PLAIN) if number else Tone.PLAIN
    return Cell(text=f"{number:,}", tone=tone, glyph=tone.glyph if tone is not Tone.PLAIN else "")


def _share(counts: Mapping[Answer, int]) -> Cell:
    judged = num_judged(counts)
    if not judged:
        return Cell(text="-", note="nothing was judged")
    is_of_few = judged < FEW_CASES
    return Cell(
        text=f"{counts[Answer.AGREE] / judged:.0%}",
        glyph="~" if is_of_few else "",
        note="of few cases" if is_of_few else "",
        level=_level(counts),
    )


def _level(counts: Mapping[Answer, int]) -> int | None:
    judged = num_judged(counts)
    return None if not judged else round(5 * counts[Answer.AGREE] / judged)


def _features(board: Scoreboard, anchors: Mapping[tuple[str, str], str]) -> Iterator[Table]:
    newest = [(engine, engine.releases[-1]) for engine in board.engines if engine.releases[-1].cells]
    if len(newest) > 1:
        yield _feature_table("Features by engines, the newest release of each", newest, anchors)
    for engine in board.engines:
        if len(engine.releases) > 1 or len(newest) == 1:
            releases = [(engine, release) for release in engine.releases if release.cells]
            if releases:
                yield _feature_table(f"Features by releases of {engine.name}", releases, anchors)


def _feature_table(
    caption: str, releases: list[tuple[EngineScores, Release]], anchors: Mapping[tuple[str, str], str]
) -> Table:
    names = [name for name in FEATURES if any(name in release.cells for _, release in releases)]
    return Table(
        caption=caption,
        columns=(
            Column(name="Feature"),
            *(Column(name=engine.name, detail=release.version) for engine, release in releases),
        ),
        rows=tuple(
            (Cell(text=name), *(_feature_cell(engine, release, name, anchors) for engine, release in releases))
            for name in names
        ),
        foot=f"{LEGEND}; - no case. {_COLOURS}",
    )


def _feature_cell(engine: EngineScores, release: Release, feature: str, anchors: Mapping[tuple[str, str], str]) -> Cell:
    counts = release.cells.get(feature)
    if not counts:
        return Cell(text="-", note="no case")
    cause = engine.cause_of(release.version, feature)
    signs = [(glyph, word) for answer, glyph, word in _SIGNS if counts[answer]]
    glyph, _ = signs[0] if signs else ("", "")
    return Cell(
        text=cell_text(counts),
        glyph=glyph,
        note=", ".join(word for _, word in signs) or ("" if num_judged(counts) else "none judged"),
        level=_level(counts),
        link="" if cause is None else anchors.get((engine.name, cause.what), ""),
    )


def _causes(board: Scoreboard, anchors: Mapping[tuple[str, str], str], reasons: Mapping[str, str]) -> Part:
    tables = tuple(_cause_table(engine, anchors, reasons) for engine in board.engines if engine.causes)
    return Part(empty="No release differed from the reference.", tables=tables)


def _cause_table(engine: EngineScores, anchors: Mapping[tuple[str, str], str], reasons: Mapping[str, str]) -> Table:
    most = max(number for cause in engine.causes for number in cause.cases.values())
    return Table(
        caption=f"{engine.name}: cases by way to differ and release",
        columns=(
            Column(name="Way to differ"),
            *(Column(name=release.version, is_number=True) for release in engine.releases),
            Column(name="What the engine does"),
        ),
        rows=tuple(
            (
                Cell(
                    text=cause.what,
                    glyph="≠" if cause.deviations else "✗",
                    tone=Tone.PLAIN if cause.deviations else Tone.BAD,
                    link=anchors.get((engine.name, cause.what), ""),
                ),
                *(_cause_cell(cause, release, most) for release in engine.releases),
                Cell(text=_reason(cause, reasons)),
            )
            for cause in engine.causes
        ),
        foot="✗ unexplained, ≠ known deviation; darker: more cases; - not seen",
    )


def _cause_cell(cause: Cause, release: Release, most: int) -> Cell:
    number = cause.cases[release.version]
    return Cell(text=f"{number:,}", level=level_of(number, most)) if number else Cell(text="-", note="not seen")


def _reason(cause: Cause, reasons: Mapping[str, str]) -> str:
    return " ".join(reasons[name] for name in cause.deviations if name in reasons) or "nobody has explained it"


def _doubts(board: Scoreboard) -> Iterator[Note]:
    for engine in board.engines:
        for release in engine.releases:
            name = f"{engine.name} {release.version}"
            for why in release.down:
                yield Note(tone=Tone.WARN, word="DOWN", text=f"{name} ended before the cases did", lines=(why,))
            number = release.totals[Answer.UNSUPPORTED]
            if number:
                yield doubt(number, f"cases that are not supported on {name}", by_count(release.unsupported))
    few = [
        f"{engine.name} {release.version}: {counted(release.num_judged, 'case')} judged"
        for engine in board.engines
        for release in engine.releases
        if release.num_judged < FEW_CASES
    ]
    yield doubt(len(few), f"releases with fewer than {FEW_CASES} judged cases, whose share says little", few)
    cells = [release.cells for engine in board.engines for release in engine.releases]
    never = [name for name in FEATURES if not any(name in one for one in cells)]
    yield doubt(len(never), "features that no case had, or no run counted", never)


def _views(board: Scoreboard, anchors: Mapping[tuple[str, str], str], reasons: Mapping[str, str]) -> Iterator[CaseView]:
    for engine in board.engines:
        for cause in engine.causes:
            if anchor := anchors.get((engine.name, cause.what)):
                yield _view(cause, anchor, reasons)


def _view(cause: Cause, anchor: str, reasons: Mapping[str, str]) -> CaseView:
    found = cause.smallest
    seen = ", ".join(f"{version} ({cause.cases[version]:,})" for version in cause.versions)
    facts = [Fact(name="Releases that show it (cases)", text=seen)]
    facts += [Fact(name="Saved to", text=found.path, is_code=True)] if found.path else []
    facts += [Fact(name="What the engine does", text=_reason(cause, reasons))] if cause.deviations else []
    case = found.case
    return CaseView(
        anchor=anchor,
        id="not kept" if case is None else case.id,
        engine=cause.engine,
        tone=Tone.WARN if cause.deviations else Tone.BAD,
        word="DEVIATES" if cause.deviations else "MISMATCH",
        title=cause.what,
        facts=tuple(facts),
        differences=tuple(Difference(check=_check_name(check), lines=lines) for check, lines in found.lines),
        inputs=() if case is None else input_tables(case),
        settings=() if case is None else tuple(settings_lines(case)),
        statement=() if case is None else tuple(statement_lines(case.sql)),
    )


def _check_name(text: str) -> str:
    return next((check_name(check) for check in Check if check.value == text), text)
