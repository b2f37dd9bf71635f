"""What a case is called: by its content, so that equal cases have one name wherever they come from."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from mergecheck.reference.case.case_file import dump_case

if TYPE_CHECKING:
    from mergecheck.reference.case.model import Case

ID_LENGTH = 6
_MOST_REMEMBERED = 64

# A run asks several times for the digest of the case that it looks at, and writing a case out takes a millisecond.
# A key is the identity of the case's parts, which it shares with its renamed copies; the case itself is kept, so that
# no other object can come to have the same identity.
_remembered: OrderedDict[tuple[int, ...], tuple[Case, str]] = OrderedDict()
_lock = Lock()


def content_digest(case: Case) -> str:
    """Hash what a case holds, whatever its id is."""
    key = tuple(map(id, (case.target, case.source, case.sql, case.conf, case.expect)))
    with _lock:
        found = _remembered.get(key)
    if found is not None:
        return found[1]
    digest = hashlib.blake2b(dump_case(replace(case, id="-")).encode(), digest_size=16).hexdigest()
    with _lock:
        _remembered[key] = case, digest
        while len(_remembered) > _MOST_REMEMBERED:
            _remembered.popitem(last=False)
    return digest


def with_content_id(case: Case) -> Case:
    """Name a case after its content: equal content, equal id."""
    return replace(case, id=content_digest(case)[:ID_LENGTH])
