"""Which tables count as large."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mergecheck.merge.conf import MergeConf
    from mergecheck.merge.table.log.snapshot import DataFile


def are_large(conf: MergeConf, files: Iterable[DataFile]) -> bool:
    """Tell whether files are worth an optimisation that costs a query of its own (``largeTableBytes``)."""
    return sum(file.size for file in files) >= conf.large_table_bytes
