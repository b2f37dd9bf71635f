"""Warnings of libraries that mean nothing to a user of mergecheck."""

from __future__ import annotations

import warnings


def ignore_irrelevant_warnings() -> None:
    """Keep them off a process's stderr.

    PySpark warns of the version of pandas on its way to Arrow, although no pandas is used. Filters belong to the
    process: a filter that a thread sets for a call is lost if another thread puts back the earlier ones.
    """
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
