"""The folder in which an engine given as ``package.module:Class`` is looked up: the working folder.

A user who names such an engine on the command line runs code of that folder. Nothing else of it is imported: the folder
is the last one that is searched, in this process and in those that need the engine.
"""

from __future__ import annotations

import sys
from pathlib import Path

FOLDER_VARIABLE = "MERGECHECK_ENGINE_FOLDER"
"""Environment variable that names the folder to Spark's Python workers."""


def search_engine_folder() -> None:
    """Search the working folder for modules that no other folder has, for the rest of this process."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def engine_folder() -> str | None:
    """Return the working folder if this process imports from it; None if no engine has been looked up there."""
    here = str(Path.cwd())
    return here if here in sys.path else None
