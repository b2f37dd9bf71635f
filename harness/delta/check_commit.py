"""A commit's required contents by the settings: metrics or none, the user's text, the transaction; removed files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.compare.table_outcome import HISTORY_METRICS, records_metrics
from mergecheck.harness.delta.tables.partition_values import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mergecheck.model.types.data_types import DataType

NUMBERS = "operationMetrics has numbers instead of texts"
"""How the fault of a writer begins whose metrics are no texts (R-501)."""

_DELTA = "spark.databricks.delta."
_USER_METADATA = f"{_DELTA}commitInfo.userMetadata"
_APP_ID, _APP_VERSION = f"{_DELTA}write.txnAppId", f"{_DELTA}write.txnVersion"


def commit_faults(actions: Sequence[Mapping[str, Any]], conf: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """List entries that a commit lacks, or should leave out, under some settings: the rule and a text for a person.

    Args:
        actions: of the commit.
        conf: the settings of the session that made it.
    """
    info: Mapping[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    if (info.get("operationMetrics") is not None) is not records_metrics(conf):
        found = "absent" if records_metrics(conf) else "there"
        yield "R-501", f"operationMetrics is {found}, {HISTORY_METRICS} is {conf.get(HISTORY_METRICS, 'true')}"
    if numbers := sorted(
        name for name, value in (info.get("operationMetrics") or {}).items() if not isinstance(value, str)
    ):
        yield "R-501", f"{NUMBERS}: {', '.join(numbers)}"
    if info.get("userMetadata") != conf.get(_USER_METADATA):
        yield "R-714", f"userMetadata is {info.get('userMetadata')!r}, the setting is {conf.get(_USER_METADATA)!r}"
    wanted = [(conf[_APP_ID], int(conf[_APP_VERSION]))] if _APP_ID in conf and _APP_VERSION in conf else []
    noted = [(action["txn"]["appId"], action["txn"]["version"]) for action in actions if "txn" in action]
    if noted != wanted:
        yield "R-715", f"transactions are {noted}, the settings give {wanted}"


def removed_file_faults(
    actions: Sequence[Mapping[str, Any]], known: Iterable[Mapping[str, Any]], types: Mapping[str, DataType]
) -> Iterator[tuple[str, str]]:
    """List removed files that a commit describes otherwise than the log did: the rule and a text for a person.

    Args:
        actions: of the commit.
        known: the ``add`` actions of the files that the table had before it.
        types: of the partition columns, by the names that the log has for them. The notation of their values may
            differ.
    """
    added = {file["path"]: file for file in known}
    for said in (action["remove"] for action in actions if "remove" in action):
        had = added.get(said["path"], said)
        found, wanted = (_described(file, types) for file in (said, had))
        for name in found:
            if found[name] != wanted[name]:
                yield "R-701", f"remove of {said['path']} says {name} {said[name]}, but its add said {had[name]}"


def _described(file: Mapping[str, Any], types: Mapping[str, DataType]) -> dict[str, str]:
    """Return an action's description of its file in one notation; as text, because NaN equals nothing.

    A partition column that is left out is NULL: Delta Lake's log leaves NULL values out of a ``remove``.
    """
    described = {"size": repr(file["size"])} if file.get("size") is not None else {}
    values = file.get("partitionValues")
    if values is None:
        return described
    parsed = {name: parse(text, types[name]) if name in types else text for name, text in sorted(values.items())}
    return described | {"partitionValues": repr({name: value for name, value in parsed.items() if value is not None})}
