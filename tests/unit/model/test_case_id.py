"""Names of cases by their content."""

from __future__ import annotations

from dataclasses import replace

from mergecheck.model.case_file import parse_cases
from mergecheck.model.case_id import ID_LENGTH, content_digest, with_content_id

(CASE,) = parse_cases(
    '{"format_version": 1, "id": "-", "target": {"schema": "id BIGINT", "partition_by": [], "files": [[[1]]]},'
    ' "source": {"schema": "id BIGINT", "rows": [[1]]},'
    ' "sql": "MERGE INTO target t USING source s ON t.id = s.id WHEN MATCHED THEN DELETE"}',
    name="a case",
    lines=True,
)


def test_the_id_is_the_beginning_of_the_digest() -> None:
    """Whatever the case was called before."""
    digest = content_digest(CASE)
    assert content_digest(with_content_id(CASE)) == content_digest(replace(CASE, id="other")) == digest
    assert with_content_id(CASE).id == digest[:ID_LENGTH]


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
