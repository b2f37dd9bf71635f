"""Causes of errors: properties of a case, and names in its error, without which an entry does not explain the error.

The text of an error alone explains nothing: another fault may give the same text, and would be hidden. A cause is a
function over the case, the reference's trace of it, and the text of the engine's error.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from mergecheck.model.layout import partition_indexes
from mergecheck.model.outcome import MergePath, Prediction
from mergecheck.model.schema_json import is_constraint
from mergecheck.model.types.data_types import (
    ArrayType,
    AtomicName,
    AtomicType,
    DecimalType,
    MapType,
    StructType,
)
from mergecheck.model.types.typed import TableSide
from mergecheck.reference.syntax.statement import Action, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mergecheck.harness.properties.vocabulary import EvaluatedCase
    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType, Field
    from mergecheck.model.types.typed import Typed
    from mergecheck.reference.analysis.resolved import ResolvedClause

    Cause = Callable[[EvaluatedCase, str], bool]

_REPARTITION = "spark.databricks.delta.merge.repartitionBeforeWrite.enabled"
_CASE_SENSITIVE = "spark.sql.caseSensitive"
_OF_VECTORS = ("filePath", "dvFilePath", "rowIndexCol", "deletionVectorId")
_OF_CHANGE_FILES = "__is_cdc"
_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_HELPERS = re.compile(
    r"_row_id_|_file_name_|_row_dropped_|_source_row_present_|_target_row_present_|_target_row_index_|"
    r"_source_row_index|_(update|delete|insert)_condition_\d+_",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"Reference `[^`]+` is ambiguous|reference to the field `[^`]+`|Resolved attribute\(s\) .*? missing from"
)
_DAY, _INSTANT, _LOCAL = AtomicName.DATE, AtomicName.TIMESTAMP, AtomicName.TIMESTAMP_NTZ
_BY_ZONE = frozenset(
    {(a, b) for a in (_DAY, _INSTANT, _LOCAL) for b in (_DAY, _INSTANT, _LOCAL, AtomicName.STRING) if a is not b}
)
_INTEGERS = (AtomicName.TINYINT, AtomicName.SMALLINT, AtomicName.INT, AtomicName.BIGINT)
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9_.-]*")


def _assigned(report: EvaluatedCase) -> Iterator[tuple[ResolvedClause, tuple[str, ...], Typed, DataType]]:
    """Give each assignment of the resolved statement: its clause, path, value before its cast, and column's type."""
    merge = report.reference.trace.merge
    if merge is None:
        return
    types = {column.name.lower(): column.type for column in merge.final_schema.columns}
    for clause in merge.clauses:
        for each in clause.assigned:
            found = types.get(each.path[0].lower())
            for name in each.path[1:]:
                fields = found.fields if isinstance(found, StructType) else ()
                found = next((field.type for field in fields if field.name.lower() == name.lower()), None)
            if found is not None:
                yield clause, each.path, each.value, found


def _names_read(report: EvaluatedCase) -> list[str]:
    """List the columns of the tables beside the target, and of the source, which a query may name itself."""
    names = [name for table in report.case.read_tables.values() for name in table.schema.names]
    read = report.reference.trace.source
    return names if read is None else [*names, *read.schema.names]


def _writes_rows(report: EvaluatedCase) -> bool:
    """Return whether the merge comes to its writing of rows; a merge that fails on the way may have come to it."""
    merge, answer = report.reference.trace.merge, report.reference.answer
    if merge is None or not any(clause.action is not Action.DELETE for clause in merge.clauses):
        return merge is not None and isinstance(answer, Prediction) and answer.path is MergePath.D
    return not isinstance(answer, Prediction) or answer.path is not MergePath.C


def _dotted_partition_column(report: EvaluatedCase, error: str) -> bool:
    dotted = [name.replace(".", "`.`") for name in report.case.target.partition_by if "." in name]
    repartitions = report.case.conf.get(_REPARTITION, "true").lower() == "true"
    return repartitions and _writes_rows(report) and any(f"with name `{name}` " in error for name in dotted)


def _column_with_backtick(report: EvaluatedCase, error: str) -> bool:
    merge = report.reference.trace.merge
    names = [*(merge.final_schema.names if merge is not None else ()), *_names_read(report)]
    return _writes_rows(report) and any("`" in name and name in error for name in names)


def _insert_of_names_that_differ_in_case(report: EvaluatedCase, _error: str) -> bool:
    statement, source = report.reference.trace.statement, report.reference.trace.source
    if statement is None or report.case.conf.get(_CASE_SENSITIVE, "false").lower() != "true":
        return False
    for clause in statement.of(Kind.NOT_MATCHED):
        names = {each.path[-1] for each in clause.assignments}
        if clause.star:
            names = {*(source.schema.names if source is not None else ()), *report.case.target.schema.names}
        if len({name.lower() for name in names}) < len(names):
            return True
    return False


def _cast_by_time_zone(report: EvaluatedCase, error: str) -> bool:
    pairs = {pair for _, _, value, column in _assigned(report) for pair in _leaves(value.type, column)}
    to = {wanted.value.lower() for given, wanted in pairs if (given, wanted) in _BY_ZONE}
    return any(re.search(rf"\bas .*\b{name}\b", error) for name in to)


def _leaves(given: DataType, wanted: DataType) -> Iterator[tuple[AtomicName, AtomicName]]:
    """Pair the atomic types of a value with the types of its column."""
    if isinstance(given, AtomicType) and isinstance(wanted, AtomicType):
        yield given.name, wanted.name
    elif isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        yield from _leaves(given.element, wanted.element)
    elif isinstance(given, MapType) and isinstance(wanted, MapType):
        yield from _leaves(given.key, wanted.key)
        yield from _leaves(given.value, wanted.value)
    elif isinstance(given, StructType) and isinstance(wanted, StructType):
        types = {field.name.lower(): field.type for field in wanted.fields}
        for field in given.fields:
            if field.name.lower() in types:
                yield from _leaves(field.type, types[field.name.lower()])


def _column_of_vectors_in_both(report: EvaluatedCase, error: str) -> bool:
    """A column with a helper's name in both tables, and rows that get marked: the error names the helper's column."""
    merge, answer, source = report.reference.trace.merge, report.reference.answer, report.reference.trace.source
    own = {name.lower() for name in report.case.target.schema.names}
    others = set() if source is None else {name.lower() for name in source.schema.names}
    shared = [name for name in _OF_VECTORS if name.lower() in own & others]
    marks = merge is not None and not (isinstance(answer, Prediction) and answer.path is not MergePath.E)
    # the column of a vector's path is looked up as the file's, and as the vector's id
    named = {*shared, *(("filePath", "deletionVectorId") if "dvFilePath" in shared else ())}
    return marks and any(f"Reference `{name}` is ambiguous" in error for name in named)


def _helper_column(report: EvaluatedCase, error: str) -> bool:
    """A table has a column with the name of one that Delta's merge adds, and the error names it.

    The insert-only path adds none.
    """
    answer = report.reference.answer
    if isinstance(answer, Prediction) and answer.path is MergePath.A:
        return False
    merge = report.reference.trace.merge
    names_of_target = [*report.case.target.schema.names, *(() if merge is None else merge.final_schema.names)]
    own = {name.lower() for name in (*names_of_target, *_names_read(report))}
    named = _NAMED.search(error)
    names = () if named is None else re.findall(r"[`\"]([^`\"]+)[`\"]", named[0])
    return any(name.lower() in own and _HELPERS.fullmatch(name) for name in names)


def _column_of_change_files(report: EvaluatedCase, _error: str) -> bool:
    """Change rows are written to a table that has the column by which Delta distinguishes them from other rows."""
    merge = report.reference.trace.merge
    names = () if merge is None else merge.final_schema.names
    is_written = report.case.target.change_data_feed and merge is not None and not merge.is_insert_only
    return is_written and _writes_rows(report) and any(name.lower() == _OF_CHANGE_FILES for name in names)


def _value_fails_under_its_cast(report: EvaluatedCase, _error: str) -> bool:
    return any(value.partial and _may_overflow(value.type, column) for _, _, value, column in _assigned(report))


def _may_overflow(given: DataType, wanted: DataType) -> bool:
    """Return whether a cast of a number may overflow its column."""
    is_number = isinstance(given, DecimalType) or (
        isinstance(given, AtomicType) and given.name in (*_INTEGERS, AtomicName.FLOAT, AtomicName.DOUBLE)
    )
    if isinstance(wanted, DecimalType):
        return is_number and given != wanted
    if not is_number or not isinstance(wanted, AtomicType) or wanted.name not in _INTEGERS:
        return False
    if isinstance(given, AtomicType) and given.name in _INTEGERS:
        return _INTEGERS.index(given.name) > _INTEGERS.index(wanted.name)
    return True


def _empty_text_in_partition(report: EvaluatedCase, _error: str) -> bool:
    """An empty text is at hand for a partition column that is NOT NULL: in a cell, in the statement, or computed."""
    columns = {
        column.name.lower()
        for column in report.case.target.schema.columns
        if column.name in report.case.target.partition_by and not column.nullable
    }
    texts = [value for _, path, value, _ in _assigned(report) if path[0].lower() in columns]
    return bool(texts) and ("" in _cells(report) or "''" in report.case.sql or any(text.partial for text in texts))


def _text_of_null_folder(report: EvaluatedCase, _error: str) -> bool:
    """The text is to be stored in a partition column that is NOT NULL."""
    answer, target = report.reference.answer, report.case.target
    columns = target.schema.columns
    places = [place for place in partition_indexes(target) if not columns[place].nullable]
    rows = answer.rows if isinstance(answer, Prediction) else ()
    return any(row[place] == _NULL_FOLDER for row in rows for place in places)


def _cells(report: EvaluatedCase) -> list[Value]:
    cells = (cell for table in report.case.all_tables for row in table.rows for cell in row)
    return [cell for cell in cells if isinstance(cell, str | float | Decimal)]


def _value_may_fail(report: EvaluatedCase, error: str) -> bool:
    """A value fails, or its cast does, in the way that the error names: a division, a text that is read, another."""
    values = [(value, column) for _, _, value, column in _assigned(report)]
    is_computed = any(value.partial for value, _ in values)
    if "DIVIDE" in error:
        return is_computed and re.search(r"(?i)[/%]|\b(mod|div|pmod)\b", report.case.sql) is not None
    if "CAST_INVALID_INPUT" in error:
        is_cast = is_computed and re.search(r"(?i)cast\s*\(|::", report.case.sql) is not None
        return is_cast or any(_is_text_read(value.type, column) for value, column in values)
    return is_computed or any(_may_overflow(value.type, column) for value, column in values)


def _is_text_read(given: DataType, wanted: DataType) -> bool:
    text = AtomicType(AtomicName.STRING)
    return given == text and wanted != text


def _named_types_are_assigned(report: EvaluatedCase, error: str) -> bool:
    found = re.search(r'Cannot safely cast `([^"]*)` "([^"]+)" to "([^"]+)"', error)
    if found is None:
        return False
    name, given, wanted = found.groups()
    return any(
        ".".join(path).lower() == name.replace("`", "").lower() and (value.type.ddl(), column.ddl()) == (given, wanted)
        for _, path, value, column in _assigned(report)
    )


def _insert_leaves_out_named_column(report: EvaluatedCase, error: str) -> bool:
    merge = report.reference.trace.merge
    if merge is None:
        return False
    must = [column for column in merge.final_schema.columns if not column.nullable]
    return any(
        f"No assignment for '{column.name}'" in error and not _is_given(column, clause)
        for clause in merge.of(Kind.NOT_MATCHED)
        for column in must
    )


def _is_given(column: Field, clause: ResolvedClause) -> bool:
    return any(each.path[0].lower() == column.name.lower() for each in clause.assigned)


def _assigns_what_the_source_lacks(report: EvaluatedCase, error: str) -> bool:
    source = report.reference.trace.source
    given = set() if source is None else {name.lower() for name in source.schema.names}
    names = {path[0] for _, path, _, _ in _assigned(report) if path[0].lower() not in given}
    # the error names a column as SQL does: its double quotes are doubled
    written = {re.escape(name.replace('"', '""')) for name in names}
    return any(re.search(rf"No field named [^\n]*{name}", error, re.IGNORECASE) for name in written)


def _on_without_target(report: EvaluatedCase, _error: str) -> bool:
    merge = report.reference.trace.merge
    return merge is not None and TableSide.TARGET not in merge.on.sides


def _partition_value_to_escape(report: EvaluatedCase, _error: str) -> bool:
    """A partition's folder has characters that a URL escapes: a time, a number with an exponent, or a text's own."""
    types = [c.type for c in report.case.target.schema.columns if c.name in report.case.target.partition_by]
    plain = (*_INTEGERS, _DAY, AtomicName.STRING, AtomicName.BOOLEAN)
    if any(isinstance(given, AtomicType) and given.name not in plain for given in types):
        return True
    texts = [cell for cell in _cells(report) if isinstance(cell, str)]
    texts += re.findall(r"'([^']*)'", report.case.sql)
    names = report.case.target.partition_by
    return not all(map(_PLAIN_TEXT.fullmatch, (*names, *(texts if types else ()))))


def _negative_decimal(report: EvaluatedCase, _error: str) -> bool:
    return any(isinstance(cell, Decimal) and cell < 0 for cell in _cells(report)) or "-" in report.case.sql


def _constrained(report: EvaluatedCase) -> bool:
    target = report.case.target
    return any(map(is_constraint, target.properties)) or any(not column.nullable for column in target.schema.columns)


def _untaken_source_row_under_a_constraint(report: EvaluatedCase, _error: str) -> bool:
    effects = report.reference.trace.effects
    if effects is None:
        return False
    return _constrained(report) and any(one.applied is None for one in effects.candidates.get(Kind.NOT_MATCHED, ()))


def _row_without_partner_under_not_null(report: EvaluatedCase, _error: str) -> bool:
    matches = report.reference.trace.matches
    alone = matches is not None and len({rid for _, rid in matches.pairs}) < len(report.case.target.rows)
    return alone and any(not column.nullable for column in report.case.target.schema.columns)


def _zero_is_stored(report: EvaluatedCase, _error: str) -> bool:
    return "0" in report.case.sql or any(cell == 0 for cell in _cells(report) if not isinstance(cell, str))


CAUSES: Mapping[str, Cause] = {
    "rows are written, and the error names a partition column with a dot": _dotted_partition_column,
    "rows are written, and the error names a column with a backtick": _column_with_backtick,
    "an INSERT names two columns that differ in case only": _insert_of_names_that_differ_in_case,
    "a value is cast to the type that the error names by the time zone": _cast_by_time_zone,
    "rows are marked, and both tables have the column that the error names": _column_of_vectors_in_both,
    "a table has the helper column that the error names": _helper_column,
    "change rows are written to a table with the column of change files": _column_of_change_files,
    "a value may fail under a cast that may overflow": _value_fails_under_its_cast,
    "an empty text may be assigned to a NOT NULL partition column": _empty_text_in_partition,
    "a NOT NULL partition column has the text that is the name of the folder of NULL": _text_of_null_folder,
    "a value, or its cast to the column, may fail": _value_may_fail,
    "a value of the type that the error names is assigned to the column that it names": _named_types_are_assigned,
    "an INSERT leaves out the NOT NULL column that the error names": _insert_leaves_out_named_column,
    "a clause assigns the column that the error names, which the source lacks": _assigns_what_the_source_lacks,
    "ON names no column of the target": _on_without_target,
    "the folder of a partition has characters to escape": _partition_value_to_escape,
    "there is a negative number": _negative_decimal,
    "under a constraint no INSERT takes a source row": _untaken_source_row_under_a_constraint,
    "a row of a table with NOT NULL columns has no partner": _row_without_partner_under_not_null,
    "there is a zero": _zero_is_stored,
}
"""The causes, by the words that an entry names them with."""
