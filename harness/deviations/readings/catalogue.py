"""All readings, by name: the values of ``as_if``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.deviations.readings import (
    commits,
    copied_rows,
    generated_columns,
    hidden_values,
    lost_rows,
    partition_folders,
    rows,
    source_rows,
    statements,
    tables,
)
from mergecheck.harness.deviations.readings.unread import (
    nan_rows,
    not_materialised,
    older_decimals,
    skipped_files,
    zeros,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.harness.deviations.readings.judged import Reading

READINGS: Mapping[str, Reading] = {
    reading.name: reading
    for part in (
        tables,
        statements,
        generated_columns,
        nan_rows,
        zeros,
        not_materialised,
        skipped_files,
        older_decimals,
        hidden_values,
        commits,
        source_rows,
        copied_rows,
        rows,
        partition_folders,
        lost_rows,
    )
    for reading in part.READINGS
}
"""In the order in which they are applied within their phase: files are counted before columns are put in order."""
