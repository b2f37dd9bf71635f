"""Align assigned values with the table's columns: store assignment casts, structs by name (R-210 to R-253)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.model.types.data_types import (
    INTEGER_BITS,
    STRING,
    TIMESTAMP,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    Field,
    MapType,
    NestedType,
    StructType,
)
from mergecheck.model.types.typed import ArrayCall, Typed, duckdb_type, identifier, typed_null
from mergecheck.reference.casts.conversions import Failure, can_cast, cast, is_up_cast
from mergecheck.reference.casts.map_casts import rebuilt_map
from mergecheck.reference.expressions.array_functions import evaluated

_OVERFLOW = "DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"


class StoreAssignmentPolicy(Enum):
    """``spark.sql.storeAssignmentPolicy`` (R-251)."""

    ANSI = "ANSI"
    LEGACY = "LEGACY"
    STRICT = "STRICT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aligner:
    """Casts assigned values to the types of their columns.

    Attributes:
        evolution: a struct may lack fields that its column has (R-243).
        preserve_null_structs: ``merge.preserveNullSourceStructs``: a NULL struct stays NULL (R-244).
        preserve_null_structs_of_star: ``UPDATE SET *`` with evolution assigns structs as a whole, not field by field.
        is_utc: whether the session's time zone is UTC, in which the casts here convert TIMESTAMP.
    """

    policy: StoreAssignmentPolicy = StoreAssignmentPolicy.ANSI
    evolution: bool = False
    preserve_null_structs: bool = True
    preserve_null_structs_of_star: bool = True
    is_utc: bool = True

    def align(self, value: Typed, wanted: DataType, old: str | None = None) -> Typed:
        """Cast a value to a column's type.

        Args:
            value: the value assigned.
            wanted: the column's type.
            old: the column's value before, of the wanted type; the fields of structs that the value lacks keep
                their values (``UPDATE SET *`` with evolution, R-203); None if they become NULL.

        Raises:
            RejectedError: if the analysis must refuse the assignment (R-243, R-251).
            UnsupportedByReferenceError: if the cast was not compared between the engines.
        """
        if value.call is not None and _are_arrays_of_structs(value.type, wanted) and not same_type(value.type, wanted):
            return self._call(value.call, wanted)
        self._refuse_narrowing(value, value.type, wanted)
        return Typed(
            sql=self._align(value.sql, value.type, wanted, 0, old),
            type=wanted,
            sides=value.sides,
            partial=value.partial,
        )

    def _call(self, call: ArrayCall, wanted: DataType) -> Typed:
        """Cast the operands of an array function, and evaluate it then (R-246)."""
        assert isinstance(wanted, ArrayType), "the caller has looked"  # noqa: S101 - for mypy
        operands = tuple(
            self.align(operand, wanted if isinstance(operand.type, ArrayType) else wanted.element)
            for operand in call.operands
        )
        return evaluated(ArrayCall(call.function, operands))

    def _align(self, sql: str, given: DataType, wanted: DataType, depth: int, old: str | None = None) -> str:
        if given == wanted:
            return sql
        if given == VOID:
            return typed_null(wanted) if sql == "NULL" else f"CASE WHEN ({sql}) IS NULL THEN {typed_null(wanted)} END"
        if isinstance(given, StructType) and isinstance(wanted, StructType):
            return self._struct(sql, given, wanted, depth, old)
        if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
            name = f"e{depth}"
            element = self._align(name, given.element, wanted.element, depth + 1)
            return f"list_transform({sql}, lambda {name}: {element})"
        if isinstance(given, MapType) and isinstance(wanted, MapType):
            return self._map(sql, given, wanted, depth)
        return self._atomic(sql, given, wanted)

    def _struct(self, sql: str, given: StructType, wanted: StructType, depth: int, old: str | None) -> str:
        """Rebuild a struct by field name (R-242)."""
        by_name = self._fields_by_name(given, wanted)
        packed = []
        for field in wanted.fields:
            before = None if old is None else f"({old}).{identifier(field.name)}"
            namesake = by_name.get(field.name.lower())
            if namesake is not None:
                inner = f"({sql}).{identifier(namesake.name)}"
                part = self._align(inner, namesake.type, field.type, depth, before)
            else:
                part = before or typed_null(field.type)
            packed.append(f"{identifier(field.name)} := {part}")
        rebuilt = f"struct_pack({', '.join(packed)})"
        is_null = self._stays_null(sql, given, wanted, old)
        return f"CASE WHEN {is_null} THEN CAST(NULL AS {duckdb_type(wanted)}) ELSE {rebuilt} END"

    def _fields_by_name(self, given: StructType, wanted: StructType) -> dict[str, Field]:
        """Index a struct's fields by name; which fields both sides must have is R-243's."""
        by_name = {f.name.lower(): f for f in given.fields}
        if len(by_name) != len(given.fields):
            raise UnsupportedByReferenceError("a struct whose field names differ in case only")
        names = {f.name.lower() for f in wanted.fields}
        if not set(by_name) <= names or (set(by_name) != names and not self.evolution):
            raise RejectedError(
                "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
                f"Cannot cast {given.ddl()} to {wanted.ddl()}. All nested columns must match.",
            )
        return by_name

    def _refuse_narrowing(self, value: Typed, given: DataType, wanted: DataType) -> None:
        """Refuse a struct with a nullable field where the same field of ``wanted`` is NOT NULL (R-741, as read here).

        Delta has Spark cast such a value as a whole. A struct that is rebuilt by name loses its type's nullability
        on the way, and is checked row by row only.

        Raises:
            RejectedError: the value comes from a column with such a type.
            UnsupportedByReferenceError: Spark has rules of its own for what may be NULL in the value of an expression.
        """
        if same_type(given, wanted):
            if _narrows(given, wanted):
                if not value.stored:
                    raise UnsupportedByReferenceError("an expression whose fields may be NULL, for NOT NULL fields")
                strict = self.policy is StoreAssignmentPolicy.STRICT
                raise RejectedError(
                    "CANNOT_UP_CAST_DATATYPE" if strict else "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
                    f"Cannot cast {given.ddl()} to {wanted.ddl()}.",
                )
        elif isinstance(given, StructType) and isinstance(wanted, StructType):
            found = {field.name.lower(): field.type for field in given.fields}
            for field in wanted.fields:
                if field.name.lower() in found:
                    self._refuse_narrowing(value, found[field.name.lower()], field.type)
        elif isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
            self._refuse_narrowing(value, given.element, wanted.element)
        elif isinstance(given, MapType) and isinstance(wanted, MapType):
            self._refuse_narrowing(value, given.key, wanted.key)
            self._refuse_narrowing(value, given.value, wanted.value)

    def _stays_null(self, sql: str, given: StructType, wanted: StructType, old: str | None) -> str:
        """Return the condition under which the rebuilt struct is NULL (R-244, R-245)."""
        if same_type(given, wanted):
            return f"({sql}) IS NULL"
        if old is None:
            return f"({sql}) IS NULL" if self.preserve_null_structs else "FALSE"
        return f"({sql}) IS NULL AND ({old}) IS NULL" if has_target_only_fields(given, wanted) else f"({sql}) IS NULL"

    def _map(self, sql: str, given: MapType, wanted: MapType, depth: int) -> str:
        if depth and not same_type(given.key, wanted.key):
            raise UnsupportedByReferenceError("a map inside an array or a map, whose keys are cast")
        name = f"e{depth}"
        key = self._align(f"{name}.key", given.key, wanted.key, depth + 1)
        value = self._align(f"{name}.value", given.value, wanted.value, depth + 1)
        entries = f"list_transform(map_entries({sql}), lambda {name}: struct_pack(k := {key}, v := {value}))"
        return rebuilt_map(entries, given, wanted)

    def _atomic(self, sql: str, given: DataType, wanted: DataType) -> str:
        nested = isinstance(given, NestedType) or isinstance(wanted, NestedType)
        if self.policy is StoreAssignmentPolicy.STRICT and (nested or not is_up_cast(given, wanted)):
            raise RejectedError("CANNOT_UP_CAST_DATATYPE", f"Cannot up cast {given.ddl()} to {wanted.ddl()}.")
        if nested and wanted == STRING:
            raise UnsupportedByReferenceError("a struct, array or map cast to STRING")
        if nested:
            raise _no_cast(given, wanted)
        if not self.is_utc and TIMESTAMP in (given, wanted):
            raise UnsupportedByReferenceError("a cast of TIMESTAMP in another time zone than UTC")
        failure = Failure.LEGACY if self.policy is StoreAssignmentPolicy.LEGACY else Failure.ERROR
        if not can_cast(given, wanted, failure):
            raise _no_cast(given, wanted)
        number = wanted in INTEGER_BITS or isinstance(wanted, DecimalType)
        checked = number and not is_up_cast(given, wanted)
        return cast(sql, given, wanted, failure, _OVERFLOW if checked else "CAST_OVERFLOW")


def _are_arrays_of_structs(*types: DataType) -> bool:
    return all(isinstance(data_type, ArrayType) and isinstance(data_type.element, StructType) for data_type in types)


def _no_cast(given: DataType, wanted: DataType) -> RejectedError:
    """Reject a cast that does not exist; for some pairs Spark suggests a function or a setting (R-251)."""
    return RejectedError(
        "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION",
        f"cannot cast {given.ddl()} to {wanted.ddl()}",
        frozenset({f"DATATYPE_MISMATCH.CAST_WITH_{what}_SUGGESTION" for what in ("FUNC", "CONF")}),
    )


def has_target_only_fields(given: StructType, wanted: StructType) -> bool:
    """Return whether ``wanted`` has fields that ``given`` lacks; nested structs count, arrays and maps do not."""
    by_name = {field.name.lower(): field.type for field in given.fields}
    for field in wanted.fields:
        namesake = by_name.get(field.name.lower())
        if namesake is None:
            return True
        nested = isinstance(namesake, StructType) and isinstance(field.type, StructType)
        if nested and has_target_only_fields(namesake, field.type):  # type: ignore[arg-type] # nested: both are structs
            return True
    return False


def _narrows(given: DataType, wanted: DataType) -> bool:
    """Return whether a field may be NULL in the first of two otherwise equal types, and not in the second."""
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        pairs = zip(given.fields, wanted.fields, strict=True)
        return any((a.nullable and not b.nullable) or _narrows(a.type, b.type) for a, b in pairs)
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return _narrows(given.element, wanted.element)
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        return _narrows(given.key, wanted.key) or _narrows(given.value, wanted.value)
    return False


def same_type(left: DataType, right: DataType) -> bool:
    """Return whether two types are equal but for the case of field names and nullability (R-245)."""
    if isinstance(left, StructType) and isinstance(right, StructType):
        return len(left.fields) == len(right.fields) and all(
            a.name.lower() == b.name.lower() and same_type(a.type, b.type)
            for a, b in zip(left.fields, right.fields, strict=True)
        )
    if isinstance(left, ArrayType) and isinstance(right, ArrayType):
        return same_type(left.element, right.element)
    if isinstance(left, MapType) and isinstance(right, MapType):
        return same_type(left.key, right.key) and same_type(left.value, right.value)
    return left == right
