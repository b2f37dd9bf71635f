"""Table properties that a merge obeys, read strictly: what Delta would refuse is refused before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mergecheck.merge.errors import InvalidConfigurationError
from mergecheck.merge.table.log.features import ENABLING_PROPERTIES

if TYPE_CHECKING:
    from collections.abc import Mapping

CHANGE_DATA_FEED: Final = "delta.enableChangeDataFeed"
APPEND_ONLY: Final = "delta.appendOnly"
AUTO_OPTIMIZE_WRITE: Final = "delta.autoOptimize.optimizeWrite"
NUM_INDEXED_COLUMNS: Final = "delta.dataSkippingNumIndexedCols"
DEFAULT_INDEXED_COLUMNS: Final = 32

_FLAGS: Final = (CHANGE_DATA_FEED, APPEND_ONLY, AUTO_OPTIMIZE_WRITE, *ENABLING_PROPERTIES)
_ALL_COLUMNS: Final = -1


def check_properties(properties: Mapping[str, str]) -> None:
    """Look at each property that a merge obeys.

    Raises:
        InvalidConfigurationError: a value that the property does not allow.
    """
    for name in _FLAGS:
        flag(properties, name)
    num_indexed_columns(properties)


def flag(properties: Mapping[str, str], name: str) -> bool:
    """Read a boolean property; absent means false.

    Raises:
        InvalidConfigurationError: it is neither true nor false.
    """
    given = properties.get(name, "false").lower()
    if given not in {"true", "false"}:
        raise _refused(name, properties[name], "true or false")
    return given == "true"


def num_indexed_columns(properties: Mapping[str, str]) -> int:
    """Read how many leaf columns have statistics; -1 means all.

    Raises:
        InvalidConfigurationError: it is no whole number from -1 on.
    """
    given = properties.get(NUM_INDEXED_COLUMNS, str(DEFAULT_INDEXED_COLUMNS))
    try:
        number = int(given)
    except ValueError:
        number = _ALL_COLUMNS - 1
    if number < _ALL_COLUMNS:
        raise _refused(NUM_INDEXED_COLUMNS, given, "a whole number from -1 on")
    return number


def _refused(name: str, given: str, allowed: str) -> InvalidConfigurationError:
    return InvalidConfigurationError(
        "INVALID_CONF_VALUE.TYPE_MISMATCH",
        f"The table property {name} is {given!r:.100}, but must be {allowed}. Set it with ALTER TABLE ... SET "
        "TBLPROPERTIES, or unset it for the default.",
    )
