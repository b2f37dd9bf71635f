"""Tables without columns (R-141), which deltalake cannot open. They contain no rows, and their log is short."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mergecheck.merge.errors import UnsupportedTableError
from mergecheck.merge.table.log.add_actions import follow_domain
from mergecheck.merge.table.log.protocol import Protocol
from mergecheck.merge.table.storage.log_store import LogStore

if TYPE_CHECKING:
    from mergecheck.merge.table.storage.store_access import StoreAccess


@dataclass(slots=True, kw_only=True)
class ColumnlessTable:
    """The log of a table without columns at its latest version."""

    version: int = -1
    metadata: dict[str, Any] = field(default_factory=dict)
    protocol: Protocol = field(default_factory=Protocol)
    transactions: dict[str, int] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)


def is_columnless(error: Exception) -> bool:
    """Return whether deltalake failed because there are no columns."""
    return "empty schema" in str(error)


def read_columnless(location: str, access: StoreAccess | None = None) -> ColumnlessTable:
    """Read the log of a table without columns from its first version on.

    Raises:
        UnsupportedTableError: the log does not begin with version 0, or the table has columns or files after all.
    """
    table = ColumnlessTable()
    for version, actions in LogStore(location, access).read_from(0):
        table.version = version
        for action in actions:
            if "metaData" in action:
                table.metadata = action["metaData"]
            if "protocol" in action:
                table.protocol = Protocol.of_action(action["protocol"])
            if "txn" in action:
                table.transactions[action["txn"]["appId"]] = action["txn"]["version"]
            if "domainMetadata" in action:
                follow_domain(table.domains, action["domainMetadata"])
    if table.version < 0 or json.loads(table.metadata.get("schemaString", "{}")).get("fields"):
        raise UnsupportedTableError(["a log without its first versions"], where=location)
    return table
