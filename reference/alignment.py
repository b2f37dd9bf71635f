"""Align assigned values with the table's columns: store assignment casts, structs by name (R-210 to R-253)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from reference.conversions import Failure, cast, is_up_cast
from reference.errors import RejectedError, UnsupportedByReferenceError
from reference.typed import Typed, duckdb_type, identifier, typed_null
from reference.types import INTEGER_BITS, VOID, ArrayType, DataType, DecimalType, MapType, StructType

_OVERFLOW = "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"


class StoreAssignmentPolicy(Enum):
    """``spark.sql.storeAssignmentPolicy`` (R-251)."""

    ANSI = "ANSI"
    LEGACY = "LEGACY"
    STRICT = "STRICT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligner:
    """Casts assigned values to the types of their columns."""

    policy: StoreAssignmentPolicy

    def align(self, value: Typed, wanted: DataType) -> Typed:
        """Cast a value to a column's type.

        Raises:
            RejectedError: where the analysis must refuse the assignment (R-243, R-251).
            UnsupportedByReferenceError: where the cast was not compared between the engines.
        """
        return Typed(sql=self._align(value.sql, value.type, wanted, 0), type=wanted, sides=value.sides)

    def _align(self, sql: str, given: DataType, wanted: DataType, depth: int) -> str:
        if given == wanted:
            return sql
        if given == VOID:
            return typed_null(wanted)
        if isinstance(given, StructType) and isinstance(wanted, StructType):
            return self._struct(sql, given, wanted, depth)
        if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
            name = f"e{depth}"
            element = self._align(name, given.element, wanted.element, depth + 1)
            return f"list_transform({sql}, lambda {name}: {element})"
        if isinstance(given, MapType) and isinstance(wanted, MapType):
            return self._map(sql, given, wanted, depth)
        return self._atomic(sql, given, wanted)

    def _struct(self, sql: str, given: StructType, wanted: StructType, depth: int) -> str:
        """Rebuild a struct by field name (R-242); without evolution both must have the same fields (R-243)."""
        by_name = {f.name.lower(): f for f in given.fields}
        if len(by_name) != len(given.fields):
            raise UnsupportedByReferenceError("a struct whose field names differ in case only")
        if set(by_name) != {f.name.lower() for f in wanted.fields}:
            raise RejectedError(
                "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
                f"Cannot cast {given.ddl()} to {wanted.ddl()}. All nested columns must match.",
            )
        packed = []
        for field in wanted.fields:
            old = by_name[field.name.lower()]
            part = self._align(f"({sql}).{identifier(old.name)}", old.type, field.type, depth)
            packed.append(f"{identifier(field.name)} := {part}")
        rebuilt = f"struct_pack({', '.join(packed)})"
        return f"CASE WHEN ({sql}) IS NULL THEN CAST(NULL AS {duckdb_type(wanted)}) ELSE {rebuilt} END"

    def _map(self, sql: str, given: MapType, wanted: MapType, depth: int) -> str:
        name = f"e{depth}"
        key = self._align(f"{name}.key", given.key, wanted.key, depth + 1)
        value = self._align(f"{name}.value", given.value, wanted.value, depth + 1)
        entries = f"list_transform(map_entries({sql}), lambda {name}: struct_pack(k := {key}, v := {value}))"
        rebuilt = f"map_from_entries({entries})"
        return f"CASE WHEN ({sql}) IS NULL THEN CAST(NULL AS {duckdb_type(wanted)}) ELSE {rebuilt} END"

    def _atomic(self, sql: str, given: DataType, wanted: DataType) -> str:
        nested = (StructType, ArrayType, MapType)
        if isinstance(given, nested) or isinstance(wanted, nested):
            raise RejectedError(
                "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", f"cannot cast {given.ddl()} to {wanted.ddl()}"
            )
        if self.policy is StoreAssignmentPolicy.STRICT and not is_up_cast(given, wanted):
            raise RejectedError("CANNOT_UP_CAST_DATATYPE", f"Cannot up cast {given.ddl()} to {wanted.ddl()}.")
        failure = Failure.LEGACY if self.policy is StoreAssignmentPolicy.LEGACY else Failure.ERROR
        checked = wanted in INTEGER_BITS or isinstance(wanted, DecimalType)
        return cast(sql, given, wanted, failure, _OVERFLOW if checked else "CAST_OVERFLOW")
