"""Schema evolution: asked for by a setting of Delta's or by words of the statement, and spelled in the other way."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mergecheck.harness.findings.signature import AUTO_MERGE
from mergecheck.harness.properties.merge_text import without_evolution

if TYPE_CHECKING:
    from mergecheck.model.case import Case

_MERGE = re.compile(r"\s*MERGE\s+INTO\b", re.IGNORECASE)


def evolves_by_setting(case: Case) -> bool:
    """Return whether the setting is on."""
    return case.conf.get(AUTO_MERGE, "false").lower() == "true"


def has_place_for_clause(case: Case) -> bool:
    """Return whether the clause is in the statement, or can be written into it."""
    return bool(_MERGE.match(case.sql)) or "WITH SCHEMA EVOLUTION" in case.sql.upper()


def with_evolution_clause(case: Case) -> str:
    """Give the statement; schema evolution that a setting asks for is written into it."""
    if evolves_by_setting(case) and (found := _MERGE.match(case.sql)):
        return f"MERGE WITH SCHEMA EVOLUTION INTO{case.sql[found.end() :]}"
    return case.sql


def with_evolution_setting(case: Case) -> tuple[str, dict[str, str]]:
    """Give the statement without the words, and the setting that means the same if they were there."""
    plain, is_evolving = without_evolution(case.sql)
    return plain, {AUTO_MERGE: "true"} if is_evolving else {}
