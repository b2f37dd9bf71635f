"""The boundary to the readers of a table's log: a damaged log gives one message, with Delta's class."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from mergecheck.merge.errors import DamagedLogError, MergeError, StoreError, UnsupportedTableError, brief

if TYPE_CHECKING:
    from collections.abc import Iterator

_GAP: Final = "found gap"
_UNSUPPORTED: Final = "Unsupported: "
_PANIC: Final = "PanicException"  # of Rust code; no module has the class


@contextlib.contextmanager
def log_errors(location: str) -> Iterator[None]:
    """Name the table in whatever a reader of its log or of its checkpoints raises.

    Raises:
        StoreError: the disk or the store refuses.
        DamagedLogError: the log has a gap, or holds what no log holds.
        UnsupportedTableError: the reader does not know the table's features.
    """
    try:
        yield
    except MergeError:
        raise
    except OSError as error:
        raise StoreError(brief(error), where=location) from error
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
            raise
        reason = brief(error)
        if _UNSUPPORTED in reason:
            raise UnsupportedTableError([reason.partition(_UNSUPPORTED)[2]], where=location) from error
        raise DamagedLogError(reason, where=location, is_gap=_GAP in reason) from error
