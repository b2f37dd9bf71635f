"""A case that comes from a stranger may change and read nothing but its own tables.

A case is shown harmless before any engine sees it: all its texts that somebody may evaluate (``places``) are read by
the reference's grammar. Every relation must be one of the case's tables, every function, setting and table property one
of a list. What cannot be shown is refused, whatever the engine would do with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mergecheck.harness.core.schema_json import check_constraints
from mergecheck.harness.errors import UserInputError
from mergecheck.harness.trust.places import CaseText, TextKind, texts_of
from mergecheck.harness.trust.settings import is_property_allowed, is_setting_allowed
from mergecheck.harness.trust.texts import harm_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mergecheck.reference.case.model import Case

_ADVICE: Final = "If it is your own, run it with --trust."


def require_harmless(case: Case, where: str, *, advice: str = _ADVICE) -> None:
    """Refuse a case that is not shown harmless.

    Args:
        case: as it was read.
        where: the file, for the message.
        advice: what the user can do.

    Raises:
        UserInputError: with the part of the case and what it does.
    """
    for part, harm in _harms(case):
        case_id = ascii(case.id)[1:-1]
        raise UserInputError(
            f"{where}: case {case_id}: {part} {harm}. The case may touch more than its own tables. {advice}"
        )


def _harms(case: Case) -> Iterator[tuple[str, str]]:
    tables = frozenset({"target"} if case.source is None else {"target", "source"})
    schemas = [case.target.schema, *([] if case.source is None else [case.source.schema])]
    columns = frozenset(column.name.lower() for schema in schemas for column in schema.columns)
    texts = list(texts_of(case))
    for name, condition in check_constraints(case.target.properties).items():
        texts.append(CaseText(TextKind.CONDITION, f"the constraint {name!a}", condition, case.target.schema.names))
    for text in texts:
        if text.kind is TextKind.UNKNOWN:
            yield text.place, "is not among the parts of a case that are examined"
            continue
        rule = "statement" if text.kind is TextKind.STATEMENT else "expression"
        harm = harm_in(text.text, rule, tables=tables, columns=columns)
        if harm is not None:
            yield text.place, ascii(harm)[1:-1]
    for name in case.conf:
        if not is_setting_allowed(name):
            yield "its setting", f"{name!a} is not among those that a case may have"
    for name in case.target.properties:
        if not is_property_allowed(name):
            yield "its table property", f"{name!a} is not among those that a case may have"
