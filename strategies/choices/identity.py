"""The name of a drawn case: made from its contents, so that one case has one name wherever it is drawn."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mergecheck.reference.case.model import Case

_NUM_BYTES = 5


def case_id(case: Case) -> str:
    """Return the name of a case; its own id has no part in it."""
    contents = repr((case.target, case.source, case.sql, dict(case.conf)))
    return f"drawn-{blake2b(contents.encode(errors='surrogatepass'), digest_size=_NUM_BYTES).hexdigest()}"
