"""A case that comes from a stranger may change and read nothing but its own tables.

A case is shown harmless before any engine sees it: all its texts that may be evaluated (``places``) are read by the
reference's grammar. Every relation must be one of the case's tables, and every function, setting and table property
must be in a list. Anything that cannot be shown harmless is refused, whatever the engine would do with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mergecheck.harness.configuration.trust.places import CaseText, TextKind, texts_of
from mergecheck.harness.configuration.trust.settings import is_property_allowed, is_setting_allowed
from mergecheck.harness.configuration.trust.texts import NO_TABLE, harm_in
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.schema_json import check_constraints

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mergecheck.model.case import Case

_CASE_SENSITIVE: Final = "spark.sql.caseSensitive"
_ADVICE: Final = "If it is your own, run it with --trust."


def require_harmless(case: Case, where: str, *, advice: str = _ADVICE, own_statement: bool = False) -> None:
    """Refuse a case that is not shown harmless.

    Args:
        case: as it was read.
        where: the file, for the message.
        advice: the next step for the user.
        own_statement: the statement is the user's own, and not looked at.

    Raises:
        UserInputError: names the part of the case and its effect.
    """
    for part, harm in _harms(case, own_statement=own_statement):
        case_id = ascii(case.id)[1:-1]
        if harm.endswith(NO_TABLE):  # no other table would be there either if the case were trusted
            raise UserInputError(
                f"{where}: case {case_id}: {part} {harm}. It may read {', '.join(case.relations)}. Give another table "
                'under its name in the key "tables" of the case.'
            )
        raise UserInputError(
            f"{where}: case {case_id}: {part} {harm}. The case may touch more than its own tables. {advice}"
        )


def _harms(case: Case, *, own_statement: bool) -> Iterator[tuple[str, str]]:
    # Under case-sensitive names another spelling is another name, so that nothing is shown to be a column.
    folds = case.conf.get(_CASE_SENSITIVE, "false").lower() == "false"
    tables = {name: _lower(schema.names if folds else ()) for name, schema in case.relations.items()}
    texts = list(texts_of(case))
    for name, condition in check_constraints(case.target.properties).items():
        texts.append(CaseText(TextKind.CONDITION, f"the constraint {name!a}", condition, case.target.schema.names))
    for text in texts:
        if text.kind is TextKind.UNKNOWN:
            yield text.place, "is not among the parts of a case that are examined"
        elif text.kind is not TextKind.STATEMENT or not own_statement:
            rule = "statement" if text.kind is TextKind.STATEMENT else "expression"
            columns = _lower(text.columns if folds and text.kind is TextKind.CONDITION else ())
            harm = harm_in(text.text, rule, tables=tables, columns=columns)
            if harm is not None:
                yield text.place, ascii(harm)[1:-1]
    for name in case.conf:
        if not is_setting_allowed(name):
            yield "its setting", f"{name!a} is not among those that a case may have"
    for name in case.target.properties:
        if not is_property_allowed(name):
            yield "its table property", f"{name!a} is not among those that a case may have"


def _lower(names: Iterable[str]) -> frozenset[str]:
    return frozenset(name.lower() for name in names)
