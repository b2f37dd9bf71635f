"""Values that Delta Lake changes or counts wrong by a way of its own; the reference follows the rules."""

from __future__ import annotations

import json

import pytest

from mergecheck.reference import evaluate
from mergecheck.reference.case.case_file import parse_cases
from mergecheck.reference.outcome import Bound, Prediction

_DELETE = "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"


def _answer(**parts: object) -> Prediction:
    document = {"format_version": 1, "id": "one", **parts}
    (case,) = parse_cases(json.dumps(document), name="test", lines=False)
    answer = evaluate(case).answer
    assert isinstance(answer, Prediction)
    return answer


@pytest.mark.parametrize(
    ("kind", "value", "zone"),
    [
        ("TIMESTAMP", "2024-11-03T06:30:00Z", "America/New_York"),  # the second 01:30 of that night
        ("TIMESTAMP", "2024-11-03T05:30:00Z", "America/New_York"),
        ("TIMESTAMP", "2024-04-06T15:15:00Z", "Australia/Lord_Howe"),
        ("STRING", "__HIVE_DEFAULT_PARTITION__", "UTC"),
        ("STRING", " ", "UTC"),
        ("STRING", "a%41", "UTC"),
    ],
)
def test_a_copied_row_keeps_its_partition(kind: str, value: str, zone: str) -> None:
    """R-302: docs/findings/delta-spark-partition-folders.md."""
    target = {"schema": f"id INT, p {kind}", "partition_by": ["p"]}
    stays, both = {**target, "files": [[[2, value]]]}, {**target, "files": [[[1, value], [2, value]]]}
    source = {"schema": "id INT", "rows": [[1]]}
    conf = {"spark.sql.session.timeZone": zone}
    left = _answer(target=both, source=source, sql=_DELETE, conf=conf).rows
    assert left == _answer(target=stays, source={**source, "rows": []}, sql=_DELETE, conf=conf).rows
    assert len(left) == 1


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, v FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY v DESC) AS rn FROM source) WHERE rn = 1",
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
