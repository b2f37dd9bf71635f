"""The level TRACE of Delta's logs, which Python's logging module lacks (R-A05)."""

from __future__ import annotations

import logging

TRACE = 5
logging.addLevelName(TRACE, "TRACE")
# A library prints nothing on a terminal unless its user asks for it.
logging.getLogger("mergecheck.merge").addHandler(logging.NullHandler())
