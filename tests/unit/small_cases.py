"""Random cases of a few rows, for tests of what draws, passes on and counts cases."""

from __future__ import annotations

from hypothesis import strategies as st

from mergecheck.model.case import Case, Source, Target
from mergecheck.model.types.ddl import parse_schema

SCHEMA = parse_schema("id BIGINT, v STRING")
CLAUSES = ("WHEN MATCHED THEN DELETE", "WHEN NOT MATCHED THEN INSERT *", "WHEN NOT MATCHED BY SOURCE THEN DELETE")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small cases, some of them drawn twice: the tests do not depend on their statements."""
    rows = st.lists(st.tuples(st.integers(0, 3) | st.none(), st.sampled_from("ab")), max_size=3)
    return Case(
        id="drawn",
        target=Target(schema=SCHEMA, files=(tuple(draw(rows)),)),
        source=Source(schema=SCHEMA, rows=tuple(draw(rows))),
        sql=f"MERGE INTO target t USING source s ON t.id = s.id {draw(st.sampled_from(CLAUSES))}",
    )
