"""Partition values in a commit's notation, and the folders of its files (R-718)."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from mergecheck.harness.delta.tables.partition_values import HIVE_NULL, escape, parse, serialize
from mergecheck.model.types import data_types as types
from mergecheck.model.types.data_types import INTEGER_BITS, DecimalType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mergecheck.model.types.data_types import DataType

    Action = dict[str, Any]

_NUMBER = r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?"
_TIME = r"\d\d:\d\d:\d\d(\.\d{1,6})?"
_YEAR = r"(-?\d{4}|[+-]\d{5,6})"
_SPELLINGS: Mapping[DataType, re.Pattern[str]] = {
    types.BOOLEAN: re.compile("true|false"),
    **dict.fromkeys(INTEGER_BITS, re.compile(r"0|-?[1-9]\d*")),
    **dict.fromkeys((types.FLOAT, types.DOUBLE), re.compile(rf"{_NUMBER}|nan|-?inf(inity)?", re.IGNORECASE)),
    types.DATE: re.compile(rf"{_YEAR}-\d\d-\d\d"),
    types.TIMESTAMP: re.compile(rf"{_YEAR}-\d\d-\d\d( {_TIME}|T{_TIME}Z)"),
    types.TIMESTAMP_NTZ: re.compile(rf"{_YEAR}-\d\d-\d\d {_TIME}"),
}
"""The section "Partition Value Serialization" of Delta's protocol, by types other than STRING and DECIMAL."""
_DECIMAL = re.compile(_NUMBER)
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9._=-]")


def partition_faults(
    actions: Sequence[Action], known: Iterable[Action], columns: Mapping[str, DataType], *, time_zone: str
) -> Iterator[str]:
    """List partition values that a commit lacks or writes otherwise than Delta, and files that lie in wrong folders.

    Args:
        actions: of the commit.
        known: the ``add`` actions of the files that the table had before it.
        columns: types of the partition columns, by the names that files have for them.
        time_zone: of the session that made the commit: folders have moments in it.
    """
    earlier = {file["path"]: file.get("partitionValues") or {} for file in known}
    for action in actions:
        for kind in ("add", "remove", "cdc"):
            file = action.get(kind)
            if file is None or not isinstance(file.get("partitionValues"), dict):
                continue
            path, values = str(file.get("path")), file["partitionValues"]
            what = f"{kind} of {path}"
            yield from (
                f"{what} has a value for {name}, no partition column" for name in values.keys() - columns.keys()
            )
            if kind == "add":  # elsewhere Delta Lake leaves NULL out
                yield from (f"{what} has no value for {name}" for name in columns if name not in values)
            for name, text in values.items():
                if name in columns and text != earlier.get(path, {}).get(name) and not is_spelled(text, columns[name]):
                    yield f"{what} spells {name} {text!r}, which is no {columns[name].ddl()} of Delta's log"
            if path not in earlier:
                yield from _folder_faults(what, path, values, columns, time_zone)


def is_spelled(text: str | None, data_type: DataType) -> bool:
    """Return whether a text is how Delta's log has a value of a type."""
    if not text or data_type == types.STRING:
        return True  # an empty text is NULL
    pattern = _DECIMAL if isinstance(data_type, DecimalType) else _SPELLINGS[data_type]
    return pattern.fullmatch(text) is not None and _is_value(text, data_type)


def _is_value(text: str, data_type: DataType) -> bool:
    try:
        parse(text, data_type)
    except ValueError:
        return False
    return True


def _folder_faults(
    what: str, path: str, values: Mapping[str, str | None], columns: Mapping[str, DataType], time_zone: str
) -> Iterator[str]:
    """A folder need not name a value, but those that do in Hive's style, as Delta's, must name the log's value."""
    simplified = {_NOT_PLAIN.sub("_", escape(name)): name for name in columns}
    for folder in unquote(path).split("/")[:-1]:
        escaped, equals, said = folder.partition("=")
        name = unquote(escaped) if unquote(escaped) in columns else simplified.get(escaped)
        if not equals or name is None:
            continue
        logged = values.get(name)
        text = None if said == HIVE_NULL != logged else unquote(said)  # a text may be Hive's word for NULL
        if not _is_same(text, logged, columns[name], time_zone) and not _is_simplified(said, logged or ""):
            yield f"{what} lies in a folder of {name} {text!r}, but has {logged!r}"


def _is_simplified(folder: str, text: str) -> bool:
    """Return whether a folder has low lines for what needs an escape in a path, which delta-rs does not find.

    An engine may escape any character, and so write its code behind the low line.
    """
    return folder != text and re.fullmatch("".join(map(_simplified, text)), folder) is not None


def _simplified(character: str) -> str:
    plain = "_" if _NOT_PLAIN.match(character) else re.escape(character)
    code = "".join(f"_{byte:02X}" for byte in character.encode())
    return f"(?:{plain}|{code})"


def _is_same(folder: str | None, logged: str | None, data_type: DataType, time_zone: str) -> bool:
    if not folder or not logged:
        return not folder and not logged
    if data_type == types.BOOLEAN:
        return folder.lower() == logged.lower()
    if data_type in (types.TIMESTAMP, types.TIMESTAMP_NTZ) and not is_spelled(folder, data_type):
        return False  # Python's reader passes over more than six digits of a fraction
    try:
        found, wanted = parse(folder, data_type), parse(logged, data_type)
        if data_type == types.TIMESTAMP and not folder.endswith("Z"):
            found = found.replace(tzinfo=ZoneInfo(time_zone)).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return False
    return serialize(found, data_type) == serialize(wanted, data_type)
