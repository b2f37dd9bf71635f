"""The tables of the page of dialects, made from the dialects and their cases: ``python -m docsite.dialects``."""

from __future__ import annotations

import re
from pathlib import Path

from mergecheck.model.case_file import load_cases
from mergecheck.model.formatting import row_text
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference import MergeReference
from mergecheck.reference.dialects import DIALECTS, Dialect

PAGE = Path(__file__).parents[1] / "docs" / "dialects.md"
_HEADS = (
    "Dialect",
    "Whose",
    "Source rows that count",
    "Also without WHEN MATCHED",
    "Lone DELETE",
    "DELETE beside other clauses",
    "File may be left out",
    "Then",
    "Known by",
)
_MADE = re.compile(r"(<!-- made: (\w+) -->\n).*?(?=\n<!-- end -->)", re.DOTALL)


def rules_table() -> str:
    """Write the rules of every dialect."""
    lines = [f"| {' | '.join(_HEADS)} |", f"|{'---|' * len(_HEADS)}"]
    lines += [f"| {' | '.join(_rule(dialect))} |" for dialect in DIALECTS.values()]
    return "\n".join(lines)


def _rule(dialect: Dialect) -> list[str]:
    return [
        f"`{dialect.name}`",
        dialect.engines,
        dialect.counts.value,
        "yes" if dialect.without_matched else "no",
        "may repeat" if dialect.lone_delete or dialect.deletes_repeat else "counts",
        "may repeat" if dialect.deletes_repeat else "counts",
        "yes (R-322)" if dialect.pruned else "no",
        "the merge fails" if dialect.refuses else "any of them may win",
        dialect.known_by,
    ]


def ends_table() -> str:
    """Write the end of each case under each dialect."""
    reference = MergeReference()
    lines = [f"| Clauses | {' | '.join(f'`{name}`' for name in DIALECTS)} |", f"|{'---|' * (len(DIALECTS) + 1)}"]
    for path in sorted((PAGE.parent / "dialects").glob("*.json")):
        (case,) = load_cases(path)
        _, _, clauses = case.sql.partition("t.k = s.k ")
        cells = [f"[{clauses}](dialects/{path.name})"]
        for dialect in DIALECTS.values():
            found = reference.evaluate(case, dialect=dialect)
            answer = found.answer
            if isinstance(answer, Prediction):
                rows = [row_text(row, answer.schema) for row in sorted(answer.rows, key=repr)]
                cells.append(", ".join(rows))
            elif isinstance(answer, Rejection):
                cells.append("fails" if found.alternative is None else "fails, or changes nothing")
            else:
                cells.append("not defined")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def with_tables(text: str) -> str:
    """Put the tables of today into the page."""
    tables = {"rules": rules_table(), "ends": ends_table()}
    return _MADE.sub(lambda found: f"{found[1]}\n{tables[found[2]]}\n", text)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
