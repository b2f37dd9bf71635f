"""Names of cases by their content."""

from __future__ import annotations

import gc
from dataclasses import replace
from unittest import mock

from mergecheck.harness.core import case_id as content_id
from mergecheck.harness.core.case_id import content_digest, with_content_id
from mergecheck.reference.case.case_file import parse_cases

(CASE,) = parse_cases(
    '{"format_version": 1, "id": "-", "target": {"schema": "id BIGINT", "partition_by": [], "files": [[[1]]]},'
    ' "source": {"schema": "id BIGINT", "rows": [[1]]},'
    ' "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"}',
    name="a case",
    lines=True,
)


def test_a_case_is_written_out_once_whatever_it_is_called() -> None:
    """A run asks for the digest of one case several times, under its names too."""
    fresh = replace(CASE, sql=CASE.sql + " -- new")
    with mock.patch.object(content_id, "dump_case", wraps=content_id.dump_case) as dump:
        digest = content_digest(fresh)
        named = with_content_id(fresh)
        assert content_digest(named) == content_digest(replace(named, id="other")) == digest
    assert named.id == digest[: content_id.ID_LENGTH]
    assert dump.call_count == 1


def test_a_digest_is_of_the_content_and_not_of_the_object() -> None:
    """Equal cases share it, and one that differs in a single part has another."""
    equal = replace(CASE, target=replace(CASE.target), conf=dict(CASE.conf))
    assert content_digest(equal) == content_digest(CASE)
    parts = {
        "target": replace(CASE.target, files=()),
        "source": None,
        "sql": CASE.sql + " ",
        "conf": {"spark.sql.shuffle.partitions": "2"},
    }
    digests = {content_digest(CASE)} | {content_digest(replace(CASE, **{name: value})) for name, value in parts.items()}
    assert len(digests) == 1 + len(parts)


def test_an_object_that_is_gone_lends_its_digest_to_no_other() -> None:
    """Many short-lived cases, whose memory is used again, have a digest each."""
    digests = set()
    for number in range(300):
        digests.add(content_digest(replace(CASE, conf={"a": str(number)})))
        gc.collect(0)
    assert len(digests) == 300
