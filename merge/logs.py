"""The level TRACE of Delta's logs, which Python's logging module lacks (R-A05)."""

from __future__ import annotations

import logging

TRACE = 5
logging.addLevelName(TRACE, "TRACE")
