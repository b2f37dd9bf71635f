"""What a case must have for a fault to show at all: spares runs of faults whose functions cannot be compared.

Each is a necessary condition that can be read off the case or off the reference's facts of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from mergecheck.harness.core.merge_text import cut_merge
from mergecheck.harness.core.schema_json import is_constraint
from mergecheck.harness.oracles.relations.shape import is_insert_only, kinds
from mergecheck.merge.conf import LARGE_TABLE_BYTES
from mergecheck.reference.types.data_types import BOOLEAN
from mergecheck.strategies.settings.settings import APPEND_ONLY

if TYPE_CHECKING:
    from mergecheck.reference.case.model import Case
    from mergecheck.reference.outcome import Facts

Need = Callable[["Case", "Facts"], bool]

_KEPT_CHARACTERS = 32  # of a text in statistics


def nothing(_case: Case, _facts: Facts) -> bool:
    """Any case can show the fault."""
    return True


def type_in_target(pattern: str) -> Need:
    """Want a match in the DDL of the target's schema, which also says what is NOT NULL."""
    return lambda case, _facts: re.search(pattern, case.target.schema.ddl()) is not None


def partitions(case: Case, _facts: Facts) -> bool:
    """Want a partitioned target."""
    return bool(case.target.partition_by)


def boolean_partitions(case: Case, _facts: Facts) -> bool:
    """Want a target partitioned by a BOOLEAN column."""
    return any(c.name in case.target.partition_by and c.type == BOOLEAN for c in case.target.schema.columns)


def constraints(case: Case, facts: Facts) -> bool:
    """Want NOT NULL somewhere or a CHECK constraint."""
    return "NOT NULL" in case.target.schema.ddl() or checks(case, facts)


def checks(case: Case, _facts: Facts) -> bool:
    """Want a CHECK constraint."""
    return any(map(is_constraint, case.target.properties))


def append_only(case: Case, _facts: Facts) -> bool:
    """Want an append-only target."""
    return case.target.properties.get(APPEND_ONLY) == "true"


def only_inserts(case: Case, _facts: Facts) -> bool:
    """Want no clauses but NOT MATCHED ones (R-006)."""
    return is_insert_only(cut_merge(case.sql))


def only_matched(case: Case, _facts: Facts) -> bool:
    """Want no clauses but MATCHED ones (R-006)."""
    return kinds(cut_merge(case.sql)) == {"MATCHED"}


def by_source(case: Case, _facts: Facts) -> bool:
    """Want a NOT MATCHED BY SOURCE clause."""
    return "NOT MATCHED BY SOURCE" in kinds(cut_merge(case.sql))


def text_in_statement(text: str) -> Need:
    """Want a text in the statement."""
    return lambda case, _facts: text in case.sql


def long_texts(case: Case, _facts: Facts) -> bool:
    """Want a text that statistics cut in either table; no expression that cases have makes one of shorter ones."""
    source = () if case.source is None else case.source.rows
    cells = (cell for rows in (source, *case.target.files) for row in rows for cell in row)
    return any(isinstance(cell, str) and len(cell) > _KEPT_CHARACTERS for cell in cells)


def counted_as_large(case: Case, _facts: Facts) -> bool:
    """Want every table to count as large, so that what is meant for such tables runs."""
    return case.conf.get(LARGE_TABLE_BYTES) == "0"


def in_a_large_table(need: Need) -> Need:
    """Want every table to count as large, and something else."""
    return lambda case, facts: counted_as_large(case, facts) and need(case, facts)


def several_matches(_case: Case, facts: Facts) -> bool:
    """Want a target row that several source rows match (R-320)."""
    return facts.multi_matched
