"""One value per column of the final schema, from the assignments of a clause (R-211 to R-213, R-220 to R-223)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, DataType, StructType

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError, fault_in
from mergecheck.merge.expressions.functions import array_call, subqueries
from mergecheck.merge.expressions.resolved import target_column
from mergecheck.merge.expressions.targets import check_insert_columns, check_update_paths, same_name
from mergecheck.merge.resolution.implicit_columns import ImplicitColumns, generated_value
from mergecheck.merge.resolution.references import TargetOnlyFields
from mergecheck.merge.syntax.dialect import quote_string
from mergecheck.merge.syntax.statement import ActionType
from mergecheck.merge.types.assign import Assigned, Casting, TypedSql, assign, field_of, null_of, widen
from mergecheck.merge.types.fields import same_type
from mergecheck.merge.types.struct_fields import FieldRule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mergecheck.merge.conf import MergeConf
    from mergecheck.merge.resolution.references import BoundAssignment, BoundClause


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Alignment:
    """Aligns the clauses of one merge with its final schema. Types of expressions are found by their text."""

    target_schema: StructType
    final_schema: StructType
    implicit: ImplicitColumns
    evolution: bool
    conf: MergeConf
    types: Mapping[str, DataType]

    def values(self, clause: BoundClause) -> tuple[Assigned, ...]:
        """Return one value per column of the final schema; none for DELETE.

        Raises:
            AnalysisError: a value cannot be assigned to its column (R-243, R-251).
            UnsupportedStatementError: see ``generated_value``.
        """
        if clause.action is ActionType.DELETE:
            return ()
        given = [self._under(clause.assignments, column.name, depth=0) for column in self.final_schema.fields]
        value_of = self._updated if clause.action is ActionType.UPDATE else self._inserted
        values = []
        for index, found in enumerate(given):
            with fault_in(f"column {self.final_schema.names[index]}"):
                values.append(value_of(index, found))
        new = {index: value.sql for index, value in enumerate(values)}
        ids = self.generated_ids(clause)
        for index, text in self.implicit.unresolved.items():
            if not given[index]:
                raise AnalysisError(
                    "DELTA_CANNOT_RESOLVE_EXPRESSION",
                    f"The generation expression of column {self.final_schema.names[index]} has a star "
                    f"and cannot be computed: {text}. Assign the column.",
                )
        for index, expression in self.implicit.generated.items():
            if not given[index]:
                column = self.final_schema.fields[index]
                if ids & expression.target_columns:
                    raise UnsupportedStatementError(
                        f"computing the generated column {column.name} from an identity column",
                        hint="Assign the generated column, or the identity column if the table lets you.",
                    )
                sql = generated_value(expression, new, column=column.name)
                kind = self.types[expression.sql]
                values[index] = assign(sql, kind, column.dataType, self._casting(), repeatable=False)
        return tuple(values)

    def generated_ids(self, clause: BoundClause) -> frozenset[int]:
        """Return the identity columns that an INSERT leaves to the writer (R-226); their value here is NULL."""
        if clause.action is not ActionType.INSERT:
            return frozenset()
        names = self.final_schema.names
        return frozenset(i for i in self.implicit.identities if not self._under(clause.assignments, names[i], depth=0))

    def _updated(self, index: int, given: Sequence[BoundAssignment]) -> Assigned:
        """Return a column's value in an UPDATE: unassigned columns keep their value (R-211), new ones are NULL."""
        column, old = self.final_schema.fields[index], None
        if index >= len(self.target_schema.fields) and not given and not self.conf.preserve_null_source_structs:
            return Assigned(sql=_of_nulls(column.dataType))  # Delta assigns NULL to each field
        if index < len(self.target_schema.fields):
            old = TypedSql(sql=target_column(index), type=self.target_schema.fields[index].dataType)
        return self._nested(old, column.dataType, given, depth=0)

    def _inserted(self, index: int, given: Sequence[BoundAssignment]) -> Assigned:
        """Return a column's value in an INSERT: of the first entry of its name (R-225), else default or NULL."""
        kind = self.final_schema.fields[index].dataType
        if given:
            return self._whole(given[0], kind, old=None)
        default = self.implicit.defaults.get(index)
        if default is None:
            return Assigned(sql=null_of(kind))
        return assign(default.sql, self.types[default.sql], kind, self._casting(), repeatable=False)

    def _nested(
        self, old: TypedSql | None, kind: DataType, given: Sequence[BoundAssignment], *, depth: int
    ) -> Assigned:
        """Return the new value of a column or field: kept, assigned whole, or rebuilt with the fields assigned in it.

        A NULL or new struct becomes a struct whose unassigned fields are NULL (R-213).
        """
        if not given:
            return Assigned(sql=null_of(kind) if old is None else self._kept(old, kind))
        if len(given[0].path.fields) == depth:
            return self._whole(given[0], kind, old=old)
        assert isinstance(kind, StructType)  # noqa: S101 - check_update_paths has refused all else
        certain, parts = True, []
        for field in kind.fields:
            inside = self._under(given, field.name, depth=depth + 1)
            value = self._nested(field_of(old, field.name), field.dataType, inside, depth=depth + 1)
            certain = certain and value.certain
            parts.append(f"{quote_string(field.name)}, {value.sql}")
        return Assigned(sql=f"named_struct({', '.join(parts)})", certain=certain)

    def _kept(self, old: TypedSql, kind: DataType) -> str:
        return widen(old, kind, keep_null_structs=self.conf.preserve_null_source_structs)

    def _whole(self, assignment: BoundAssignment, kind: DataType, *, old: TypedSql | None) -> Assigned:
        preserve = assignment.target_only_fields is TargetOnlyFields.PRESERVE
        casting = self._casting()
        value = assignment.value
        repeatable = value.reference is not None or bool(subqueries(value.text))
        return self._cast(value.sql, kind, casting, repeatable=repeatable, preserved=old if preserve else None)

    def _cast(
        self, sql: str, kind: DataType, casting: Casting, *, repeatable: bool, preserved: TypedSql | None = None
    ) -> Assigned:
        """Cast a value; if it is a call of an array function, cast its operands (R-246)."""
        given, call = self.types[sql], array_call(sql)
        if call is None or not _are_arrays_of_structs(given, kind) or same_type(given, kind):
            return assign(sql, given, kind, casting, repeatable=repeatable, preserved=preserved)
        assert isinstance(kind, ArrayType)  # noqa: S101 - checked by _are_arrays_of_structs
        operands = [
            self._cast(operand, kind.elementType if is_element else kind, casting, repeatable=False)
            for operand, is_element in zip(call.operands, call.elements, strict=True)
        ]
        inside = ", ".join(operand.sql for operand in operands)
        return Assigned(sql=f"{call.name}({inside})", certain=all(operand.certain for operand in operands))

    def _casting(self) -> Casting:
        rule = FieldRule.BY_NAME_WITH_NULLS if self.evolution else FieldRule.BY_NAME
        conf = self.conf
        return Casting(
            conf=conf,
            fields=rule if conf.resolve_merge_update_structs_by_name else FieldRule.BY_POSITION,
            keep_null_structs=conf.preserve_null_source_structs,
        )

    def _under(self, assignments: Sequence[BoundAssignment], name: str, *, depth: int) -> list[BoundAssignment]:
        """Choose the assignments whose path goes through a column or field."""
        case = self.conf.case_sensitive
        return [a for a in assignments if same_name(a.path.parts[depth], name, case_sensitive=case)]


def check_assignments(
    clause: BoundClause, final_schema: StructType, implicit: ImplicitColumns, conf: MergeConf
) -> None:
    """Check that the assignments of a clause fit together and to the table.

    Raises:
        AnalysisError: an identity column that takes no values (R-226); see ``check_update_paths`` and
            ``check_insert_columns``.
    """
    paths = [assignment.path for assignment in clause.assignments]
    _check_identities(clause, final_schema, implicit, conf)
    if clause.action is ActionType.INSERT:
        fixed = conf.fix_case_sensitive_duplicate_columns and implicit.has_generated
        check_insert_columns(paths, ignore_case=fixed and not conf.case_sensitive)
    else:
        check_update_paths(paths, final_schema, case_sensitive=conf.case_sensitive)


def _check_identities(
    clause: BoundClause, final_schema: StructType, implicit: ImplicitColumns, conf: MergeConf
) -> None:
    inserts = clause.action is ActionType.INSERT
    closed = [final_schema.names[i] for i, found in implicit.identities.items() if not (inserts and found.by_default)]
    for assignment in clause.assignments:
        path = assignment.path
        if path.fields or not any(same_name(path.column, name, case_sensitive=conf.case_sensitive) for name in closed):
            continue
        if inserts:
            raise AnalysisError(
                "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED",
                f"Providing values for GENERATED ALWAYS AS IDENTITY column {path.column} is not supported. "
                "Leave it out of the INSERT.",
            )
        raise AnalysisError(
            "DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED",
            f"Updating IDENTITY column {path.column} is not supported. Leave it out of the UPDATE.",
        )


def _are_arrays_of_structs(*types: DataType) -> bool:
    return all(isinstance(kind, ArrayType) and isinstance(kind.elementType, StructType) for kind in types)


def _of_nulls(kind: DataType) -> str:
    """Write a struct whose fields are NULL, on every level; NULL for any other type."""
    if not isinstance(kind, StructType):
        return null_of(kind)
    fields = (f"{quote_string(field.name)}, {_of_nulls(field.dataType)}" for field in kind.fields)
    return f"named_struct({', '.join(fields)})"
