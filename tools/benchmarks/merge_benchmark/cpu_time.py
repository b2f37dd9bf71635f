"""Processor time of this process and all that it started, the JVM and its Python workers: steady on a busy machine."""

from __future__ import annotations

import os
from pathlib import Path

_PARENT, _TIMES = 1, slice(11, 15)  # fields behind the process' name: user, system, and both of children that ended


def cpu_seconds() -> float | None:
    """Return the seconds so far; None where the system has no ``/proc``.

    A process whose parent ended before it is lost here: its time is missing from then on, so a
    difference means something only while no started process loses its parent.
    """
    root = Path("/proc")
    if not (root / "self" / "stat").exists():
        return None
    processes = {}
    for folder in root.iterdir():
        if folder.name.isdigit() and (fields := _fields(folder)):
            processes[int(folder.name)] = fields
    family = {os.getpid()}
    while more := {pid for pid, fields in processes.items() if int(fields[_PARENT]) in family} - family:
        family |= more
    ticks = sum(int(ticks) for pid in family if pid in processes for ticks in processes[pid][_TIMES])
    return ticks / os.sysconf("SC_CLK_TCK")


def _fields(folder: Path) -> list[str]:
    try:
        text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []  # it has just ended
    return text.rpartition(")")[2].split()
