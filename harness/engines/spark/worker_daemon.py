"""The first module of Spark's Python workers on this machine: PySpark's own, which also finds the user's engine.

Workers start in the working folder and do not import from it. Functions of an engine that lies there are sent to them
by the names of their modules.
"""

from __future__ import annotations

import os
import sys

from pyspark.daemon import manager

from mergecheck.harness.processes.engine_folder import FOLDER_VARIABLE

if __name__ == "__main__":
    # Behind the imports: the standard library tries modules of other systems (msvcrt), which the folder could hold.
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder and folder not in sys.path:
        sys.path.append(folder)
    manager()
