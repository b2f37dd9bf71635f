"""All bug models, by name: the values of ``as_if``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mergecheck.harness.deviations.bug_models import (
    commits,
    copied_rows,
    generated_columns,
    hidden_values,
    lost_rows,
    partition_folders,
    row_sides,
    source_rows,
    statements,
    struct_casts,
    table_models,
)
from mergecheck.harness.deviations.bug_models.unread import (
    nan_rows,
    not_materialised,
    older_decimals,
    skipped_files,
    zeros,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mergecheck.harness.deviations.bug_models.judged import BugModel

BUG_MODELS: Mapping[str, BugModel] = {
    model.name: model
    for part in (
        table_models,
        statements,
        struct_casts,
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
        row_sides,
        partition_folders,
        lost_rows,
    )
    for model in part.BUG_MODELS
}
"""In the order in which they are applied within their phase: files are counted before columns are put in order."""
