"""Reading a scope: one that comes with mergecheck by its name, or a file of the user's.

All of a scope is looked at when it is read, so that a wrong value ends no run after its start. A statement has to be
one that both oracles understand: its columns are there, and its expressions have types that fit together.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mergecheck.harness.configuration.similar_names import did_you_mean
from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.lab.exhaustive.row_model import OPERATORS
from mergecheck.harness.lab.exhaustive.scope import BY_SOURCE, DELETE, KINDS, MATCHED, NOT_MATCHED, STAR, Scope, Tables
from mergecheck.harness.search.paired_query import PAIR
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case_file import FORMAT_VERSION, case_from_json
from mergecheck.model.errors import CaseFormatError
from mergecheck.model.formatting import counted
from mergecheck.model.json_shape import require_object, require_text
from mergecheck.model.outcome import MergePath
from mergecheck.model.text_file import read_ordinary
from mergecheck.model.types.data_types import BIGINT, BOOLEAN, INTEGER_BITS, StructType
from mergecheck.model.values import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from mergecheck.harness.lab.exhaustive.scope import Expression
    from mergecheck.model.case import Value
    from mergecheck.model.types.data_types import DataType, Field, Schema

_MOST_ROWS: Final = 10
_MOST_DEPTH: Final = 20
_MOST_STATEMENTS: Final = 2_000_000
_MOST_PAIRS: Final = 1_000_000
"""Pairs of tables of one statement, which one MERGE holds."""
_NEEDED: Final = (
    *("summary", "target", "source", "values", "target_rows", "source_rows", "kinds", "on", "conditions", "actions"),
    "tables",
)
_KEYS: Final = (*_NEEDED, "extends", "every", "split", "paths")
_TABLE_KEYS: Final = (
    *("name", "target", "source", "files", "partition_by", "properties", "conf", "statistics", "vectors", "evolves"),
)
_FILES: Final = ("apart", "together")
_LITERALS: Mapping[str, Value] = {"null": None, "true": True, "false": False}
_ONE_OPERAND: Final = frozenset({"is null", "not"})
_LOGIC: Final = frozenset({"not", "and", "or"})
_SIDES: Mapping[str, str] = {MATCHED: "ts", NOT_MATCHED: "s", BY_SOURCE: "t"}
"""The tables whose rows the clauses of a kind have."""
_TRUTH, _NUMBER = "a truth value", "a number"


def scope_names() -> tuple[str, ...]:
    """Return the names of the scopes that come with mergecheck."""
    return tuple(_packaged())


def load_scope(name: str) -> Scope:
    """Read a scope: one that comes with mergecheck by its name, or a file with one.

    Raises:
        UserInputError: there is none, or it is not valid.
    """
    packaged = _packaged()
    if name in packaged:
        return _scope(name, _extended(packaged[name], packaged))
    path = Path(name)
    if path.suffix != ".toml":
        advice = " ".join(filter(None, [f"no scope {name!r}.", did_you_mean(name, packaged)]))
        raise UserInputError(f"{advice} Choose from {', '.join(packaged)}, or name a file ending in .toml.")
    try:
        document = tomllib.loads(read_ordinary(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UserInputError(f"cannot read the scope {path}: {error}. Give --scope a file in TOML.") from error
    try:
        scope = _scope(path.stem, _extended(document, packaged))
    except CaseFormatError as error:
        raise UserInputError(
            f"{path} is no scope: {error}. docs/explanation/small-scope.md has the keys and an example."
        ) from error
    return scope


def _packaged() -> dict[str, dict[str, Any]]:
    text = (resources.files("mergecheck.harness.lab.exhaustive") / "scopes.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _extended(given: Mapping[str, Any], packaged: Mapping[str, Any]) -> dict[str, Any]:
    base = given.get("extends")
    if base is not None and (not isinstance(base, str) or base not in packaged):
        raise CaseFormatError(f"extends: must be one of {', '.join(packaged)}, given {base!r:.80}")
    return (_extended(packaged[base], packaged) if base is not None else {}) | dict(given)


def _scope(name: str, document: Mapping[str, Any]) -> Scope:
    given = require_object(document, _KEYS, _NEEDED, "the file")
    kinds = tuple(
        tuple(_choice(kind, KINDS, f"kinds, entry {number}") for kind in _some(one, f"kinds, entry {number}"))
        for number, one in enumerate(_some(given["kinds"], "kinds"), start=1)
    )
    used = [kind for kind in KINDS if any(kind in one for one in kinds)]
    tables = [require_object(one, _TABLE_KEYS, ("name",), "tables") for one in _some(given["tables"], "tables")]
    values = tuple(_value(value) for value in _some(given["values"], "values"))
    for place, value in enumerate(values):
        if value in values[:place]:
            raise CaseFormatError(f"values: {given['values'][place]!r:.80} stands there twice")
    scope = Scope(
        name=name,
        summary=require_text(given["summary"], "summary"),
        digest=_digest(given),
        values=values,
        target_rows=_number(given["target_rows"], 0, _MOST_ROWS, "target_rows"),
        source_rows=_number(given["source_rows"], 0, _MOST_ROWS, "source_rows"),
        kinds=kinds,
        on=tuple(_expression(one, "on") for one in _some(given["on"], "on")),
        conditions=_by_kind(given["conditions"], used, "conditions", _expression),
        actions=_by_kind(given["actions"], used, "actions", _action),
        tables=tuple(_read_tables(one, given, values) for one in tables),
        every=_number(given.get("every", 1), 1, _MOST_STATEMENTS, "every"),
        splits=_flag(given.get("split", False), "split"),
        paths=tuple(
            _choice(path, [path.value for path in MergePath], "paths")
            for path in _list(given.get("paths", []), "paths")
        ),
    )
    for one in scope.tables:
        _require_meaning(scope, one, used)
    _require_size(scope)
    return scope


def _digest(given: Mapping[str, Any]) -> str:
    # a value that JSON does not have is refused where it stands
    return hashlib.sha256(json.dumps(given, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _read_tables(given: Mapping[str, Any], scope: Mapping[str, Any], values: Sequence[Value]) -> Tables:
    name = require_text(given["name"], "tables, name")
    where = f"table {name!r:.80}"
    layout = {key: given[key] for key in ("statistics", "vectors") if key in given}
    document = {
        "format_version": FORMAT_VERSION,
        "id": "scope",
        "target": {
            "schema": given.get("target", scope["target"]),
            "rows": [],
            "partition_by": given.get("partition_by", []),
            "properties": _texts(given.get("properties", {}), f"{where}, properties"),
            "layout": layout,
        },
        "source": {"schema": given.get("source", scope["source"]), "rows": []},
        "sql": "MERGE INTO target t USING source s ON TRUE WHEN MATCHED THEN DELETE",
        "conf": _texts(given.get("conf", {}), f"{where}, conf"),
    }
    case = case_from_json(document, where=where)
    assert case.source is not None  # noqa: S101 - it is in the document
    for side, schema in (("target", case.target.schema), ("source", case.source.schema)):
        _require_plain(schema, values, f"{where}, {side}")
    try:
        require_harmless(case, where, advice="Leave it out of the scope")
    except UserInputError as error:
        raise CaseFormatError(str(error)) from error
    return Tables(
        name=name,
        target=case.target.schema,
        source=case.source.schema,
        files=_choice(given.get("files", "apart"), _FILES, f"{where}, files"),
        partition_by=case.target.partition_by,
        properties=case.target.properties,
        conf=case.conf,
        layout=case.target.layout,
        evolves=_flag(given.get("evolves", False), f"{where}, evolves"),
    )


def _require_plain(schema: Schema, values: Sequence[Value], where: str) -> None:
    """Require columns that the row model knows, and that hold each of the values."""
    if not schema.columns:
        raise CaseFormatError(f"{where}: must have a column")
    names = [name.lower() for name in schema.names]
    for place, column in enumerate(schema.columns):
        if names[place] in names[:place] or names[place] == PAIR:
            taken = "number of a pair of tables" if names[place] == PAIR else "name of another column"
            raise CaseFormatError(f"{where}: {column.name!r} is the {taken}; name the column otherwise")
        for leaf in _leaves(column):
            if (leaf.nullable, leaf.default, leaf.generated, leaf.of_delta_only) != (True, None, None, None):
                raise CaseFormatError(f"{where}: {leaf.name!r} must have a name and a type and no more")
            for value in values:
                _require_value(value, leaf.type, f"{where}, column {column.name!r}")


def _leaves(column: Field) -> Iterator[Field]:
    if isinstance(column.type, StructType):
        for part in column.type.fields:
            yield from _leaves(part)
    else:
        yield column


def _require_value(value: Value, kind: DataType, where: str) -> None:
    decoded = decode(value, kind, where)
    if type(decoded) is not type(value) or decoded != value:
        raise CaseFormatError(
            f"{where}: {value!r:.80} is no value of {kind.ddl()} here; columns are whole numbers, BOOLEAN or STRING"
        )


def _require_meaning(scope: Scope, tables: Tables, used: Sequence[str]) -> None:
    """Require statements that can be evaluated on the tables."""
    for on in scope.on:
        _require_condition(on, {"t": tables.target, "s": tables.source}, f"on, tables {tables.name!r:.80}")
    for kind in used:
        where = f"of {kind!r}, tables {tables.name!r:.80}"
        for condition in scope.conditions[kind]:
            _require_condition(condition, _seen(tables, kind), f"conditions {where}")
        for action in scope.actions[kind]:
            _require_action(action, kind, tables, f"actions {where}")


def _seen(tables: Tables, kind: str) -> Mapping[str, Schema]:
    columns = {"t": tables.target, "s": tables.source}
    return {side: schema for side, schema in columns.items() if side in _SIDES[kind]}


def _require_condition(condition: Expression, columns: Mapping[str, Schema], where: str) -> None:
    if _kind_of(condition, columns, where) not in (_TRUTH, None):
        raise CaseFormatError(f"{where}: must be a condition, given {_shown(condition)}")


def _require_action(action: str | tuple[tuple[str, Expression], ...], kind: str, tables: Tables, where: str) -> None:
    if action == (DELETE if kind == NOT_MATCHED else STAR if kind == BY_SOURCE else None):
        raise CaseFormatError(f"{where}: such a clause has no action {action!r}")
    if isinstance(action, str):
        missing = [name for name in tables.target.names if name not in tables.source.names]
        if action == STAR and missing and not tables.evolves:
            raise CaseFormatError(f"{where}: the source has no column {missing[0]!r}, which {STAR!r} needs")
        return
    tables_with_columns = (tables.source, tables.target) if tables.evolves else (tables.target,)
    assigned = {column.name: column.type for schema in tables_with_columns for column in schema.columns}
    for name, value in action:
        if name not in assigned:
            raise CaseFormatError(
                f"{where}: there is no column {name!r:.80} to assign; there are {', '.join(assigned)}"
            )
        kind_of_value = _kind_of(value, _seen(tables, kind), where)
        if kind_of_value is not None and kind_of_value != _kind(assigned[name]):
            raise CaseFormatError(
                f"{where}: {_shown(value)} is {kind_of_value}, and {name!r} is {_kind(assigned[name])}"
            )
        if isinstance(value, int):
            _require_value(value, assigned[name], f"{where}, column {name!r}")


def _kind(data_type: DataType) -> str:
    return _TRUTH if data_type == BOOLEAN else _NUMBER if data_type in INTEGER_BITS else data_type.ddl()


def _kind_of(expression: Expression, columns: Mapping[str, Schema], where: str) -> str | None:
    """Return the kind of an expression's value; None for NULL, which is of all kinds."""
    if expression is None:
        return None
    if isinstance(expression, bool):
        return _TRUTH
    if isinstance(expression, int):
        _require_value(expression, BIGINT, where)
        return _NUMBER
    if isinstance(expression, str):
        there = {f"{side}.{column.name}": column.type for side, schema in columns.items() for column in schema.columns}
        if expression not in there:
            raise CaseFormatError(
                f"{where}: there is no column {expression!r:.80}; there are {', '.join(there)}, and the literals null, "
                "true, false and whole numbers"
            )
        return _kind(there[expression])
    operator, *operands = expression
    kinds = [_kind_of(one, columns, where) for one in operands]
    found = set(kinds) - {None}
    wanted = _TRUTH if operator in _LOGIC else _NUMBER if operator == "+" else None
    if wanted is not None and not found <= {wanted}:
        raise CaseFormatError(f"{where}: {operator!r} needs {wanted}, given {_shown(expression)}")
    if len(found) > 1:
        raise CaseFormatError(f"{where}: {operator!r} needs two values of one kind, given {_shown(expression)}")
    return _NUMBER if operator == "+" else _TRUTH


def _shown(expression: Expression) -> str:
    return json.dumps(expression)[:80]


def _require_size(scope: Scope) -> None:
    statements = scope.num_statements
    if not statements:
        raise CaseFormatError("it has no statement: of several clauses of a kind, only the last may have no condition")
    if statements > _MOST_STATEMENTS:
        raise CaseFormatError(f"it has {statements:,} statements; a scope may have up to {_MOST_STATEMENTS:,}")
    for tables in scope.tables:
        pairs = math.prod(
            math.comb(_num_rows(schema, len(scope.values)) + most, most)
            for schema, most in ((tables.target, scope.target_rows), (tables.source, scope.source_rows))
        )
        if pairs > _MOST_PAIRS:
            raise CaseFormatError(
                f"a statement on tables {tables.name!r:.80} has more than {_MOST_PAIRS:,} pairs of tables; lower "
                "target_rows or source_rows, or leave out values or columns"
            )


def _num_rows(schema: Schema, num_values: int) -> int:
    def domain(data_type: DataType) -> int:
        if isinstance(data_type, StructType):
            return 1 + math.prod(domain(part.type) for part in data_type.fields)
        return num_values

    return math.prod(domain(column.type) for column in schema.columns)


def _by_kind(given: object, used: Sequence[str], where: str, read: Callable[[Any, str], Any]) -> dict[str, Any]:
    entries = require_object(given, KINDS, tuple(used), where)
    return {
        kind: tuple(read(one, f"{where} of {kind!r}") for one in _some(found, f"{where} of {kind!r}"))
        for kind, found in entries.items()
    }


def _expression(given: object, where: str, depth: int = 1) -> Expression:
    if depth > _MOST_DEPTH:
        raise CaseFormatError(f"{where}: an expression has up to {_MOST_DEPTH} levels")
    if isinstance(given, list):
        operator = given[0] if given else ""
        if not isinstance(operator, str) or operator not in OPERATORS:
            raise CaseFormatError(f"{where}: no operator {operator!r:.80}; there are {', '.join(OPERATORS)}")
        number = 1 if operator in _ONE_OPERAND else 2
        if len(given) != 1 + number:
            raise CaseFormatError(f"{where}: {operator!r} needs {counted(number, 'operand')}, given {given!r:.80}")
        return (operator, *(_expression(one, where, depth + 1) for one in given[1:]))
    if not isinstance(given, str | int):
        raise CaseFormatError(
            f"{where}: must be a column such as 't.k', null, true, false, a whole number, or a list of an operator and "
            f"its operands; given {given!r:.80}"
        )
    return _LITERALS.get(given, given) if isinstance(given, str) else given


def _action(given: object, where: str) -> str | tuple[tuple[str, Expression], ...]:
    if given in (DELETE, STAR):
        return str(given)
    if not isinstance(given, dict) or not given:
        raise CaseFormatError(
            f"{where}: must be {DELETE!r}, {STAR!r}, or a value for each column that is assigned, such as "
            f'{{ v = "s.v" }}; given {given!r:.80}'
        )
    return tuple((column, _expression(value, f"{where}, column {column!r:.80}")) for column, value in given.items())


def _value(given: object) -> Value:
    if not isinstance(given, str | int):
        raise CaseFormatError(f"values: must be whole numbers, null, true, false or texts, given {given!r:.80}")
    return _LITERALS.get(given, given) if isinstance(given, str) else given


def _list(given: object, where: str) -> list[Any]:
    if not isinstance(given, list):
        raise CaseFormatError(f"{where}: must be a list, given {given!r:.80}")
    return given


def _some(given: object, where: str) -> list[Any]:
    if not _list(given, where):
        raise CaseFormatError(f"{where}: must have an entry")
    return _list(given, where)


def _number(given: object, least: int, most: int, where: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= most:
        raise CaseFormatError(f"{where}: must be a whole number from {least:,} to {most:,}, given {given!r:.80}")
    return given


def _flag(given: object, where: str) -> bool:
    if not isinstance(given, bool):
        raise CaseFormatError(f"{where}: must be true or false, given {given!r:.80}")
    return given


def _choice(given: object, allowed: Sequence[str], where: str) -> str:
    if not isinstance(given, str) or given not in allowed:
        raise CaseFormatError(f"{where}: must be one of {', '.join(map(repr, allowed))}; given {given!r:.80}")
    return given


def _texts(given: object, where: str) -> dict[str, str]:
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise CaseFormatError(
            f'{where}: must be texts by their names, both in quotes, such as "delta.enableChangeDataFeed" = "true"; '
            f"given {given!r:.80}"
        )
    return dict(given)
