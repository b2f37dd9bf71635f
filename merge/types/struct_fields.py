"""Matching the fields of a struct value with its column's fields (R-242, R-243)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from pyspark.sql.types import DataType, StructType

from mergecheck.merge.errors import AnalysisError
from mergecheck.merge.types.fields import element_pairs, find_field, namesake

if TYPE_CHECKING:
    from pyspark.sql.types import StructField


class FieldRule(Enum):
    """How the fields of two structs are matched. Names are compared without regard to case (R-120).

    Members:
        BY_NAME: both have the same fields, in any order: without evolution.
        BY_NAME_WITH_NULLS: the target may have more: with evolution.
        BY_POSITION: ``resolveMergeUpdateStructsByName.enabled`` is off; as Spark's CAST does.
    """

    BY_NAME = "by name"
    BY_NAME_WITH_NULLS = "by name, missing fields are NULL"
    BY_POSITION = "by position"


def match_fields(
    source: StructType, target: StructType, rule: FieldRule
) -> tuple[tuple[StructField, StructField | None], ...]:
    """Pair every field of the target with its field of the source, or with None if the source has none.

    Raises:
        AnalysisError: ``DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION``, or Spark's ``DATATYPE_MISMATCH`` by position.
    """
    if rule is FieldRule.BY_POSITION:
        if len(source.fields) != len(target.fields):
            raise AnalysisError(
                "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
                f"Cannot cast {source.simpleString()} to {target.simpleString()}: the numbers of fields differ.",
            )
        return tuple(zip(target.fields, source.fields, strict=True))
    # As many fields as have a namesake in the target: then the source has no field of its own, and none twice.
    missing = len({name.lower() for name in target.names} - {name.lower() for name in source.names})
    if len(source.fields) != len(target.fields) - missing or (missing and rule is FieldRule.BY_NAME):
        raise AnalysisError(
            "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
            f"Cannot cast {source.simpleString()} to {target.simpleString()}. All nested columns must match.",
        )
    return tuple(
        (wanted, find_field(source, wanted.name, case_sensitive=False) if namesake(source, wanted.name) else None)
        for wanted in target.fields
    )


def has_target_only_fields(source: DataType, target: DataType, rule: FieldRule) -> bool:
    """Return whether the target has fields that the source lacks, through nested structs but not arrays or maps."""
    if not (isinstance(source, StructType) and isinstance(target, StructType)):
        return False
    return any(
        given is None or has_target_only_fields(given.dataType, wanted.dataType, rule)
        for wanted, given in match_fields(source, target, rule)
    )


def same_layout(source: DataType, target: DataType, rule: FieldRule) -> bool:
    """Return whether a cast by position gives every field its namesake, at every depth.

    Raises:
        AnalysisError: the fields do not fit, see ``match_fields``.
    """
    if isinstance(source, StructType) and isinstance(target, StructType):
        pairs = match_fields(source, target, rule)
        return all(
            given is not None
            and (given is at or rule is FieldRule.BY_POSITION)
            and same_layout(given.dataType, wanted.dataType, rule)
            for (wanted, given), at in zip(pairs, (*source.fields, *(None for _ in pairs)), strict=False)
        )
    return all(same_layout(*pair, rule) for pair in element_pairs(source, target))
