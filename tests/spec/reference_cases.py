"""Small merges for the reference, written as a case file writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mergecheck.harness.properties.facts import facts_of
from mergecheck.model.case_file import case_from_json
from mergecheck.model.outcome import Prediction, Rejection
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from mergecheck.model.case import Case
    from mergecheck.model.facts import Facts
    from mergecheck.reference.answer import Reference

UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
REFERENCE = MergeReference()


CDF = {"delta.enableChangeDataFeed": "true"}
DELTA = "spark.databricks.delta."


def merge(clauses: str, **given: Any) -> Reference:
    """Evaluate a merge of two small tables, see ``merge_case``."""
    return REFERENCE.evaluate(merge_case(clauses, **given))


def merge_facts(clauses: str, **given: Any) -> Facts:
    """Return the reach of a merge of two small tables, see ``merge_case``."""
    case = merge_case(clauses, **given)
    return facts_of(case, REFERENCE.evaluate(case))


def merge_case(
    clauses: str,
    *,
    target: list[Any],
    source: list[Any],
    on: str = "t.k = s.k",
    schema: str = "k INT, v STRING",
    source_schema: str | None = None,
    conf: dict[str, str] | None = None,
    evolution: bool = False,
    source_alias: str = "s",
    partition_by: tuple[str, ...] = (),
    properties: dict[str, str] | None = None,
) -> Case:
    """Make a merge of two small tables; ``target`` is a list of files or of rows."""
    files = target if target and isinstance(target[0], list) and isinstance(target[0][0], list) else [target]
    with_evolution = " WITH SCHEMA EVOLUTION" if evolution else ""
    document = {
        "format_version": 1,
        "id": "spec",
        "target": {
            "schema": schema,
            "files": files if target else [],
            "partition_by": list(partition_by),
            "properties": properties or {},
        },
        "source": {"schema": source_schema or schema, "rows": source},
        "sql": f"MERGE{with_evolution} INTO target t USING source {source_alias} ON {on} {clauses}",
        "conf": conf or {},
    }
    return case_from_json(document, where="test")


def predicted(reference: Reference) -> Prediction:
    """Return the prediction, or fail and show the reference's other answer."""
    assert isinstance(reference.answer, Prediction), reference.answer
    return reference.answer


def rejected(reference: Reference) -> str:
    """Return the error class of a rejection, or fail and show the reference's other answer."""
    assert isinstance(reference.answer, Rejection), reference.answer
    return reference.answer.error_class


def bag(rows: tuple[Any, ...]) -> list[str]:
    """Order rows so that bags compare."""
    return sorted(repr(row) for row in rows)
