"""A case as text for a person: tables, settings and the statement, clause by clause."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

from mergecheck.model.formatting import shown_row
from mergecheck.model.schema_json import check_constraints, is_constraint
from mergecheck.model.types.data_types import quote

if TYPE_CHECKING:
    from mergecheck.model.case import Case, Source

MAX_ROWS = 8
# The words of a comment stay on one line.
_SPACE = "\N{NO-BREAK SPACE}"
_LAST_OF_PLANE = 0xFFFF
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def printable(text: str) -> str:
    """Write control characters as escapes, so that a value can neither move the cursor nor break a line.

    The escapes are Spark SQL's: inside a string they mean the character.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else escape(c) for c in text)


def escape(character: str) -> str:
    """Write one character as Spark SQL does inside a string."""
    code = ord(character)
    return _ESCAPES.get(character) or (f"\\U{code:08X}" if code > _LAST_OF_PLANE else f"\\u{code:04X}")


def with_escapes(text: str) -> str:
    """Escape control characters but the ends of lines and tabs, which a statement may have between its words."""
    return "".join(c if c.isprintable() or c in "\n\t" else escape(c) for c in text)


def table_lines(case: Case, *, max_rows: int = MAX_ROWS, width: int = 98) -> list[str]:
    """Show target and source, side by side if that fits, then other tables, with at most ``max_rows`` rows each."""
    left = _target_lines(case, max_rows)
    right = _source_lines(case, max_rows)
    others = [
        line
        for name, table in case.tables.items()
        for line in _wrapped_table(_relation_lines(name, table, max_rows), width)
    ]
    left_width = max(map(len, left)) + 4
    if left_width + max(map(len, right)) > width:
        return [*_wrapped_table(left, width), *_wrapped_table(right, width), *others]
    padded = [*left, *([""] * (len(right) - len(left)))]
    beside = [*right, *([""] * (len(left) - len(right)))]
    return [*(f"{a:<{left_width}}{b}".rstrip() for a, b in zip(padded, beside, strict=True)), *others]


def _wrapped_table(lines: list[str], width: int) -> list[str]:
    head, *rows = lines
    return [*_wrapped(head, width), *_all_cut(rows, width)]


def settings_lines(case: Case) -> list[str]:
    """Show what belongs to the tables and the session beside rows and types, one to a line."""
    from mergecheck.model.storage_file import layout_to_json  # noqa: PLC0415 - it loads sqlglot, which takes its time

    lines = (
        [f"partitioned by {printable(', '.join(map(quote, case.target.partition_by)))}"]
        if case.target.partition_by
        else []
    )
    properties = case.target.properties
    constraints = check_constraints(properties)
    lines += [f"constraint {printable(quote(name))} CHECK ({printable(text)})" for name, text in constraints.items()]
    lines += [
        f"property {printable(key)} = {printable(value)}" for key, value in properties.items() if not is_constraint(key)
    ]
    stored = {"target": layout_to_json(case.target.layout)}
    stored |= {} if case.source is None else {"source": layout_to_json(case.source.layout)}
    lines += [
        f"{name} stored with {key} = {printable(text if isinstance(text, str) else json.dumps(text))}"
        for name, layout in stored.items()
        for key, text in layout.items()
    ]
    transactions = case.target.transactions.items()
    lines += [f"committed before: transaction {version} of {printable(name)}" for name, version in transactions]
    lines += [f"setting {printable(name)} = {printable(value)}" for name, value in case.conf.items()]
    return lines


def statement_lines(sql: str, *, width: int = 98) -> list[str]:
    """Show a statement with every clause on its own line, numbered if there are several."""
    from mergecheck.harness.properties import merge_text  # noqa: PLC0415 - sqlglot loads slowly, and help needs none

    lines = list(merge_text.statement_lines(sql))
    num_clauses = max(0, len(lines) - 2)
    first = len(lines) - num_clauses
    if first > 1 and len(lines[0]) + len(lines[1]) < width:
        lines[:2] = [f"{lines[0]} {lines[1].strip()}"]
        first = 1
    shown: list[str] = []
    for i, line in enumerate(lines):
        number = f"   --{_SPACE}clause{_SPACE}{i - first + 1}" if i >= first and num_clauses > 1 else ""
        indent = "  " if i else ""
        shown += textwrap.wrap(
            printable(line.strip()) + number,
            width,
            initial_indent=indent,
            subsequent_indent=indent + "    ",
            break_on_hyphens=False,
        )
    return [line.replace(_SPACE, " ") for line in shown]


def _target_lines(case: Case, max_rows: int) -> list[str]:
    schema = case.target.schema
    lines = [f"target ({printable(schema.ddl())})"]
    several = len(case.target.files) > 1
    shown = 0
    for number, file in enumerate(case.target.files, start=1):
        if several and shown < max_rows:
            lines.append(f"  -- file {number}" + ("" if file else " (empty)"))
        for row in file[: max(0, max_rows - shown)]:
            lines.append("  " + shown_row(row, schema))
            shown += 1
    return lines + _rest(len(case.target.rows), shown)


def _source_lines(case: Case, max_rows: int) -> list[str]:
    if case.source is None:
        return ["source: none of its own" if case.tables else "source: the target itself"]
    return _relation_lines("source", case.source, max_rows)


def _relation_lines(name: str, table: Source, max_rows: int) -> list[str]:
    schema, rows = table.schema, table.rows
    lines = [f"{name} ({printable(schema.ddl())})", *("  " + shown_row(row, schema) for row in rows[:max_rows])]
    return lines + _rest(len(rows), min(len(rows), max_rows))


def _rest(total: int, shown: int) -> list[str]:
    if total == 0:
        return ["  (no rows)"]
    return [f"  ... {total - shown} more"] if total > shown else []


def _wrapped(text: str, width: int) -> list[str]:
    """Break the line that names the columns, which must be readable to the last NOT NULL, DEFAULT and GENERATED."""
    return textwrap.wrap(text, width, subsequent_indent="    ", break_on_hyphens=False)


def _all_cut(lines: list[str], width: int) -> list[str]:
    return [_cut(line, width) for line in lines]


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
