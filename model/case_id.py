"""Identifies a case by its content: equal cases have equal ids, wherever they come from."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.model.case_file import dump_case

if TYPE_CHECKING:
    from mergecheck.model.case import Case

ID_LENGTH = 6


def content_digest(case: Case) -> str:
    """Hash everything that a case contains apart from its id; 32 hexadecimal digits."""
    return hashlib.blake2b(dump_case(replace(case, id="-")).encode(), digest_size=16).hexdigest()


def with_content_id(case: Case) -> Case:
    """Return the case with the first digits of its digest as id."""
    return replace(case, id=content_digest(case)[:ID_LENGTH])
