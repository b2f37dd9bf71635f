"""The one case that a verb is about: from a case file, a finding or standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.findings.corpus import find_case_file
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import load_cases, parse_cases

if TYPE_CHECKING:
    from mergecheck.model.case import Case

STANDARD_INPUT = "-"


def one_case(name: str, case_id: str | None, *, trust: bool, verb: str) -> Case:
    """Load the one case that a verb takes.

    Args:
        name: a case file, the id of a finding, or - for standard input.
        case_id: which case to take, if the file holds several.
        trust: take a case that is not shown harmless, too.
        verb: for messages.

    Raises:
        UserInputError: there is no such file, it holds another number of cases, or the case is not shown harmless.
        CaseFormatError: the file is no case file.
    """
    if name == STANDARD_INPUT:
        found = parse_cases(sys.stdin.read(), name="standard input", lines=False)
    else:
        found = load_cases(find_case_file(name))
    if case_id is not None:
        found = tuple(case for case in found if case.id == case_id)
    if len(found) != 1:
        what = f"{len(found)} cases" if case_id is None else f"{len(found)} cases with the id {case_id!r}"
        raise UserInputError(
            f"{name} holds {what}, {verb} takes one: choose it with --id ID, "
            f"or check all with: mergecheck replay {name}"
        )
    if not trust:
        require_harmless(found[0], name)
    return found[0]
