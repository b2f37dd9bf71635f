"""Values that Delta Lake changes or counts wrong by a way of its own; the reference follows the rules."""

from __future__ import annotations

import json

import pytest

from mergecheck.model.case_file import parse_cases
from mergecheck.model.outcome import Bound, Prediction
from mergecheck.reference import evaluate

_DELETE = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"


def _answer(**parts: object) -> Prediction:
    document = {"format_version": 1, "id": "one", **parts}
    (case,) = parse_cases(json.dumps(document), name="test", lines=False)
    answer = evaluate(case).answer
    assert isinstance(answer, Prediction)
    return answer


@pytest.mark.parametrize("value", ["__HIVE_DEFAULT_PARTITION__", " ", "a%41"])
def test_a_copied_row_keeps_its_partition(value: str) -> None:
    """R-302: docs/findings/delta-spark-partition-folders.md."""
    answer = _answer(
        target={"schema": "id INT, p STRING", "partition_by": ["p"], "files": [[[1, value], [2, value]]]},
        source={"schema": "id INT", "rows": [[1]]},
        sql=_DELETE,
    )
    assert answer.rows == ((2, value),)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, v FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY v DESC) n FROM source) WHERE n=1",
        "SELECT DISTINCT id, 0 AS v FROM source",
        "SELECT id, max(v) AS v FROM source GROUP BY id",
    ],
)
def test_all_rows_of_a_sorted_source_count(query: str) -> None:
    """R-504: docs/findings/delta-spark-source-rows-sorted.md."""
    answer = _answer(
        target={"schema": "id INT, v INT", "files": [[[1, 0]]]},
        source={"schema": "id INT, v INT", "rows": [[1, 1], [2, 2], [3, 3], [4, 4], [4, 5], [5, 6]]},
        sql=f"MERGE INTO target t USING ({query}) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v",
    )
    assert answer.metrics["numSourceRows"] == Bound(5, 5)
