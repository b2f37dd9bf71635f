"""Cases by hand for a Spark that is not in this process: every path, the feed, a local source, errors of all sorts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mergecheck.harness.engines.spark_case import reads_source_from_table
from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.case_file import dump_case
from mergecheck.model.outcome import MergePath, Rejection
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import evaluate

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = parse_schema("id BIGINT NOT NULL, v STRING, part INT")
_TARGET = Target(
    schema=SCHEMA,
    files=(((1, "a", 1), (2, None, 2)), ((3, "c", 1), (4, "d", None))),
    partition_by=("part",),
    properties={CDF_PROPERTY: "true"},
)
_SOURCE = Source(schema=SCHEMA, rows=((1, "x", 1), (3, "y", 2), (9, "z", 3)))
_ON = "MERGE INTO target t USING source s ON t.id = s.id"
_INSERT = "WHEN NOT MATCHED THEN INSERT *"
_UPDATE = "WHEN MATCHED THEN UPDATE SET *"


def _case(name: str, clauses: str, **changes: object) -> Case:
    return replace(Case(id=name, target=_TARGET, source=_SOURCE, sql=f"{_ON} {clauses}"), **changes)  # type: ignore[arg-type]


_AGREEING = (
    (MergePath.A, _case("path-a", _INSERT)),
    (MergePath.B, _case("path-b", f"{_UPDATE} {_INSERT}", source=Source(schema=SCHEMA, rows=((7, "n", 1),)))),
    (MergePath.C, _case("path-c", _UPDATE, source=Source(schema=SCHEMA, rows=((7, "n", 1),)))),
    (MergePath.D, _case("path-d", f"{_UPDATE} {_INSERT} WHEN NOT MATCHED BY SOURCE THEN DELETE")),
)
_REJECTED = (
    ("DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE", _UPDATE, ((1, "x", 1), (1, "y", 1))),
    ("DELTA_NOT_NULL_CONSTRAINT_VIOLATED", "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (NULL, s.v)", _SOURCE.rows),
    ("DIVIDE_BY_ZERO", "WHEN MATCHED THEN UPDATE SET part = s.id DIV (s.id - s.id)", _SOURCE.rows),
    ("DELTA_CAST_OVERFLOW_IN_TABLE_WRITE", "WHEN MATCHED THEN UPDATE SET part = s.id + 3000000000", _SOURCE.rows),
    ("DELTA_MERGE_UNRESOLVED_EXPRESSION", "WHEN MATCHED THEN UPDATE SET v = s.nothing", _SOURCE.rows),
)


def remote_spark_cases() -> tuple[Case, ...]:
    """All cases, each with its source once as a table and once as a local relation, which the merge materialises."""
    rejected = (
        _case(name.lower(), clauses, source=Source(schema=SCHEMA, rows=rows)) for name, clauses, rows in _REJECTED
    )
    both = [(case, False) for _, case in _AGREEING] + [(case, True) for _, case in _AGREEING[-1:]]
    both += [(case, number % 2 == 0) for number, case in enumerate(rejected)]
    return tuple(_with_source(case, is_local=is_local) for case, is_local in both)


def write_cases(folder: Path) -> Path:
    """Write the cases to a folder for ``mergecheck replay``, after a look at their purpose."""
    assert {evaluate(case).answer.path for _, case in _AGREEING} == set(MergePath) - {MergePath.E}
    assert all(evaluate(case).answer.path is path for path, case in _AGREEING)
    cases = remote_spark_cases()
    answers = [evaluate(case).answer for case in cases]
    assert {a.error_class for a in answers if isinstance(a, Rejection)} == {name for name, _, _ in _REJECTED}
    folder.mkdir()
    for number, case in enumerate(cases):
        (folder / f"{number}.json").write_text(dump_case(replace(case, id=f"{case.id}-{number}")), encoding="utf-8")
    return folder


def expected_counts() -> dict[str, int]:
    """How many cases agree and how many both sides reject."""
    return {"agree": len(_AGREEING) + 1, "both_rejected": len(_REJECTED)}


def _with_source(case: Case, *, is_local: bool) -> Case:
    """Word the statement so that the source comes the wanted way: the adapter goes by the statement."""
    variants = (replace(case, sql=case.sql + " " * blanks) for blanks in range(100))
    return next(one for one in variants if reads_source_from_table(one) is not is_local)
