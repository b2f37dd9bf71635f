"""GitHub's workflow commands and step summaries. Texts from cases are escaped: they are text, no commands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mergecheck.harness.report.ci.results import CheckedCase, Result

MAX_SUMMARY_BYTES = 500_000
"""GitHub takes 1 MiB for a step."""
_MAX_LINES = 12
_FAILURES = ("mismatch", "engine_error", "regression", "now passing")


def annotation_lines(results: Sequence[Result]) -> Iterator[str]:
    """Yield one workflow command for each finding, failed case and inconclusive run."""
    for result in results:
        for case in result.cases:
            if case.verdict in _FAILURES:
                yield _command(case, result)
        for why in result.inconclusive:
            yield f"::warning title=mergecheck::{escape_data(f'{result.name}: {why}')}"


def step_summary(results: Sequence[Result]) -> str:
    """Return the results of a run as Markdown."""
    text = "\n".join(line for result in results for line in _summary(result)) + "\n"
    return text if len(text.encode(errors="replace")) <= MAX_SUMMARY_BYTES else _cut(text)


def escape_data(text: str) -> str:
    """Escape the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """Escape a property of a workflow command."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def _command(case: CheckedCase, result: Result) -> str:
    what = case.fingerprint or ", ".join(f"{one.check} {one.kind}" for one in case.differences) or case.reason
    file = f"file={escape_property(case.path)}," if case.path else ""
    title = escape_property(f"mergecheck {case.verdict.replace('_', ' ')} {result.engine}".rstrip())
    command = result.command_for(case)
    again = f" Again: {command}" if command else ""
    return f"::error {file}title={title}::{escape_data(f'case {case.id}: {what}.{again}')}"


def _summary(result: Result) -> Iterator[str]:
    engine = f" on {_plain(result.engine)}" if result.engine else ""
    yield f"### mergecheck: {_plain(result.name)}{engine}\n"
    counts = {verdict: number for verdict, number in result.counts.items() if number}
    yield _table("verdict", {verdict.replace("_", " "): number for verdict, number in counts.items()})
    if result.deviations:
        yield _table("known deviation", result.deviations)
    for why in result.inconclusive:
        yield f"**Inconclusive:** {_plain(why)}.\n"
    for case in result.cases:
        if case.verdict in _FAILURES:
            yield f"**{_plain(case.verdict)}** case `{_code(case.id)}` {_plain(case.fingerprint or case.reason)}\n"
            lines = [f"{one.check}: {line}" for one in case.differences for line in one.lines]
            yield _fenced(lines[:_MAX_LINES])


def _table(title: str, counts: Mapping[str, int]) -> str:
    rows = [f"| {_plain(name)} | {number} |" for name, number in counts.items()]
    return "\n".join([f"| {title} | cases |", "|---|---:|", *rows]) + "\n"


def _fenced(lines: Sequence[str]) -> str:
    """Put lines into a code block whose fence is longer than any that they hold."""
    if not lines:
        return ""
    text = "\n".join(lines)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}\n"


def _plain(text: str) -> str:
    """Make text that Markdown and HTML take for text."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#!])", r"\\\1", " ".join(escaped.split()))


def _code(text: str) -> str:
    return " ".join(text.replace("`", "'").split())


def _cut(text: str) -> str:
    kept = text.encode(errors="replace")[:MAX_SUMMARY_BYTES].decode(errors="ignore")
    return kept.rpartition("\n### ")[0] + "\n\nMore is in the JSON files.\n"
