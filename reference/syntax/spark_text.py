"""Write what Spark's grammar has read so that no other reader can take it otherwise.

Names that could be keywords are quoted, aliases have their AS, and operators are in brackets wherever the precedences
of Spark and sqlglot may differ. What Spark's parser refuses behind its grammar is refused here.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.arities import check_arity
from mergecheck.reference.syntax.dialect import SparkDialect, as_written
from mergecheck.reference.syntax.grammar import Tree
from mergecheck.reference.syntax.pipe_text import piped
from mergecheck.reference.syntax.spark_tokens import Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from mergecheck.reference.syntax.grammar import Part

_KEYWORDS = frozenset(word for words in SparkDialect.Tokenizer.KEYWORDS for word in words.split()) | {
    *SparkDialect.Parser.NO_PAREN_FUNCTION_PARSERS,  # names without brackets that sqlglot takes for calls
    "CASE",
    "NOT",
    "END",
    "AS",
}
_NO_FUNCTIONS = frozenset(
    (
        *("NOT", "AND", "OR", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "IS", "CASE", "WHEN"),
        *("THEN", "ELSE", "END", "SELECT", "FROM", "WHERE", "VALUES", "ON", "USING", "UNION"),
        *("EXCEPT", "INTERSECT", "MINUS", "AS", "NULL", "TRUE", "FALSE", "DISTINCT", "ALL", "ANY", "SOME"),
        *("WITH", "ORDER", "GROUP", "HAVING", "INTERVAL", "TABLE"),
    )
)
# Rules whose operators have one level: left to right, and those among them that sqlglot reads alike.
_ALIKE = {
    "expression": {"OR"},
    "conjunction": {"AND"},
    "comparison": set(),
    "bit_or": set(),
    "bit_xor": set(),
    "bit_and": set(),
    "shift": set(),
    "sum": {"+", "-"},
    "product": {"*", "/", "%"},
}
_RANK = {"expression": 1, "conjunction": 2, "negated": 3, "predicated": 4, "comparison": 4, "sum": 6, "product": 7}
# Functions that sqlglot would read into forms of other systems, where patterns and places are no longer as written.
_PLAIN_CALLS = frozenset(
    """array_append array_compact array_join array_max array_min array_position array_prepend array_repeat array_sort
    arrays_overlap ascii bit_length bround ceil ceiling chr contains date_format date_part element_at encode endswith
    equal_null flatten floor from_json from_unixtime from_utc_timestamp get get_json_object hex initcap
    isnotnull isnull levenshtein lpad ltrim make_date make_timestamp map_concat map_contains_key map_entries map_filter
    map_from_arrays map_from_entries map_keys map_values next_day octet_length pmod regexp_extract regexp_like
    regexp_replace repeat reverse right round rpad rtrim sequence shiftleft shiftright sign signum slice split
    split_part startswith substring_index timestamp_micros timestamp_millis timestamp_seconds to_timestamp
    to_unix_timestamp transform_values translate try_element_at unhex unix_date unix_micros unix_millis unix_seconds
    weekday weekofyear""".split()  # noqa: SIM905 - one word list
)
TRAVEL = ("version", "options")
"""The rules of what may ask for an older version of a table."""
_OF_TABLES = "table_changes"
_ODD = 0  # always written in brackets as an operand
_ATOM = 9
_BEHIND_FROM = ("lateral_view", "where", "grouping", "having", "windows", "qualify", "organization")
_SMALL = {"Y": 7, "S": 15, "L": 63}
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:\d{2})?")


def write(part: Part) -> str:
    """Write a tree or a token.

    Raises:
        RejectedError: for literals and clauses that Spark's parser refuses although its grammar allows them.
        UnsupportedByReferenceError: for what sqlglot does not read as Spark does.
    """
    if isinstance(part, Token):
        return _escaped(part.text) if part.kind is TokenKind.STRING else _check_number(part)
    writer = _WRITERS.get(part.rule)
    return _joined(part) if writer is None else writer(part)


def _joined(tree: Tree) -> str:
    return " ".join(write(part) for part in tree.parts)


def _whole(part: Part) -> Part:
    """Go down to the rule that has read something of its own."""
    while isinstance(part, Tree) and len(part.parts) == 1 and isinstance(part.parts[0], Tree):
        part = part.parts[0]
    return part


def _rank(part: Part) -> int:
    whole = _whole(part)
    if not isinstance(whole, Tree):
        return _ATOM
    if whole.rule in _ALIKE:
        operators = {_operator(one) for one in whole.parts[1::2]}
        alike = operators <= _ALIKE[whole.rule] or (
            whole.rule == "comparison" and len(operators) == len(whole.parts) // 2
        )
        return _RANK.get(whole.rule, _ODD) if alike else _ODD
    if whole.rule == "signed" and isinstance(_whole(whole.parts[1]), Tree) and _rank(whole.parts[1]) == _ATOM:
        return _ATOM
    return _ODD if whole.rule in ("signed", "lambda") else _RANK.get(whole.rule, _ATOM)


def _operator(part: Part) -> str:
    return part.key if isinstance(part, Token) else write(part)


def _operand(part: Part, above: int, *, may_equal: bool = False) -> str:
    rank = _rank(part)
    return write(part) if rank > above or (may_equal and rank == above and rank) else f"({write(part)})"


def _operators(tree: Tree) -> str:
    """Write one level of operators, read from left to right."""
    first, *rest = tree.parts
    if not rest:
        return write(first)
    alike = {_operator(one) for one in rest[::2]} <= _ALIKE[tree.rule]
    above = _RANK.get(tree.rule, _ATOM - 1) if alike or tree.rule == "comparison" else _ATOM - 1
    text = _operand(first, above)
    for number, (sign, operand) in enumerate(zip(rest[::2], rest[1::2], strict=True)):
        text = f"({text})" if number and not alike else text
        text = f"{text} {_operator(sign)} {_operand(operand, above)}"
    return text


def _compared(tree: Tree) -> str:
    sign = write(tree.parts[0])
    return {"==": "=", "!=": "<>", "!>": "<=", "!<": ">="}.get(sign, sign)


def _predicated(tree: Tree) -> str:
    value, *predicates = tree.parts
    above = _RANK["comparison"]
    return write(value) if not predicates else f"{_operand(value, above)} {write(predicates[0])}"


def _predicate(tree: Tree) -> str:
    words = [_operand(p, _RANK["comparison"]) if _is(p, "comparison") else write(p) for p in tree.parts]
    return " ".join(words)


def _negated(tree: Tree) -> str:
    if not _is(tree.parts[0], "negation"):
        return _joined(tree)
    return f"NOT {_operand(tree.parts[1], _RANK['negated'])}"


def _signed(tree: Tree) -> str:
    if len(tree.parts) == 1:
        return write(tree.parts[0])
    return f"{write(tree.parts[0])} {_operand(tree.parts[1], _ATOM - 1)}"


def _is(part: Part, rule: str) -> bool:
    return isinstance(part, Tree) and part.rule == rule


def _name(tree: Tree) -> str:
    token = tree.parts[0]
    assert isinstance(token, Token), "a name is one token"  # noqa: S101 - for mypy
    if token.kind is TokenKind.QUOTED:
        return token.text
    return f"`{token.text}`" if token.key in _KEYWORDS or not token.text[:1].isalpha() else token.text


def _column(tree: Tree) -> str:
    (name,) = tree.trees("name")
    token = name.parts[0]
    assert isinstance(token, Token), "a name is one token"  # noqa: S101 - for mypy
    if token.key == "CURRENT_PATH":  # a function also where a column has the name
        return "current_path()"
    return _name(name)


def _function(tree: Tree) -> str:
    if tree.has("IDENTIFIER"):
        named = _identified(tree.trees("expression")).strip("`")
        if not named.isidentifier():
            raise UnsupportedByReferenceError("a function with a qualified name")
        return named
    *schema, name = (name.tokens[0] for name in tree.trees("multipart")[0].trees("name"))
    if schema and schema[-1].text.strip("`").lower() != "builtin":
        raise UnsupportedByReferenceError("a function of another schema")
    if name.key in _NO_FUNCTIONS:
        raise UnsupportedByReferenceError("a function that is named like a keyword")
    bare = name.text.strip("`")
    if not bare.isidentifier() or bare.upper() in _NO_FUNCTIONS:
        raise UnsupportedByReferenceError("a function with an unusual name")
    if bare.lower() in _PLAIN_CALLS:
        return as_written(bare)
    # EXISTS is the function of an array: in quotes sqlglot takes it for no subquery
    return "`exists`" if bare.upper() == "EXISTS" else bare


def _call(tree: Tree) -> str:
    name, num_operands = write(tree.trees("function")[0]), len(tree.trees("argument"))
    if name.upper() == "IDENTIFIER":
        return _identified(tree.trees("argument"))
    check_arity(name, num_operands)
    # with a pattern, or an operand at all, both functions are the same, and know no time
    is_pattern = (name.upper() == "TO_DATE" and num_operands > 1) or (name.upper() == "UNIX_TIMESTAMP" and num_operands)
    if is_pattern:
        plain = as_written("to_date" if name.upper() == "TO_DATE" else "to_unix_timestamp")
        return " ".join([plain, *(write(part) for part in tree.parts[1:])])
    if name.upper() in ("DATEDIFF", "DATE_DIFF") and num_operands > 2:  # noqa: PLR2004 - sqlglot drops the unit
        return " ".join(["TIMESTAMPDIFF", *(write(part) for part in tree.parts[1:])])
    return _joined(tree)


def _argument(tree: Tree) -> str:
    """Write an argument, the only place of a lambda."""
    written = []
    for part in tree.parts:
        whole = _whole(part)
        is_lambda = isinstance(whole, Tree) and whole.rule == "lambda"
        written.append(_joined(whole) if is_lambda and isinstance(whole, Tree) else write(part))
    return " ".join(written)


def _lambda(tree: Tree) -> str:
    raise RejectedError("INTERNAL_ERROR", f"a lambda that is no argument: {_joined(tree)}")


def _multipart(tree: Tree) -> str:
    return ".".join(write(name) for name in tree.trees("name"))


def _reference(tree: Tree) -> str:
    if not tree.has("IDENTIFIER"):
        return _joined(tree)
    return _identified(tree.trees("expression"))


def _identified(operands: tuple[Tree, ...]) -> str:
    found = re.fullmatch(r"'(\w+(?:\.\w+)*)'", write(_whole(operands[0]))) if len(operands) == 1 else None
    if found is None:
        raise UnsupportedByReferenceError("IDENTIFIER of anything but a plain name")
    return ".".join(f"`{name}`" for name in found.group(1).split("."))


def _parameter(tree: Tree) -> str:
    unresolved = frozenset({"DELTA_MERGE_UNRESOLVED_EXPRESSION"})  # a name that means nothing is found before it
    raise RejectedError("UNBOUND_SQL_PARAMETER", f"the parameter {_joined(tree)} has no value", unresolved)


def _alias(tree: Tree) -> str:
    return "AS " + " ".join(write(part) for part in tree.parts if isinstance(part, Tree))


def _named(tree: Tree) -> str:
    value, *rest = (part for part in tree.parts if isinstance(part, Tree))
    return write(value) if not rest else f"{write(value)} AS {write(rest[0])}"


def _typed(tree: Tree) -> str:
    word, text = (write(part) for part in tree.parts)
    inner = text[1:-1].strip()
    if word.upper() == "X":
        if not re.fullmatch(r"(?:[0-9a-fA-F]{2})*", text[1:-1]):
            raise RejectedError("INVALID_TYPED_LITERAL", f"{text} is no BINARY")
        return f"X{text}"
    try:
        dt.datetime.fromisoformat(inner)
    except ValueError:
        raise UnsupportedByReferenceError(f"an unusual {word.upper()} literal") from None
    if not _TIMESTAMP.fullmatch(inner):
        raise UnsupportedByReferenceError(f"an unusual {word.upper()} literal")
    return f"{word} {text}"


def _escaped(string: str) -> str:
    """Write a raw string, whose backslashes are characters like others, with escapes."""
    if string[0] not in "rR":
        return string
    body = string[2:-1].replace("\\", "\\\\").replace("'", "\\'")
    return f"'{body}'"


def _check_number(token: Token) -> str:
    if token.kind is TokenKind.NUMBER:
        bits = _SMALL.get(token.text[-1].upper())
        if token.text.upper().endswith("BD"):
            raise UnsupportedByReferenceError("a BD literal")  # sqlglot drops its scale
        if bits is not None and int(token.text[:-1]) > 1 << bits:
            raise RejectedError("INVALID_NUMERIC_LITERAL_RANGE", f"{token.text} is out of range")
        if bits is None and float(token.text.rstrip("dDfF")) == float("inf"):
            raise RejectedError("INVALID_NUMERIC_LITERAL_RANGE", f"{token.text} is out of range")
    if token.kind in (TokenKind.INTEGER, TokenKind.NUMBER) and sum(map(str.isdigit, token.text)) > 38:  # noqa: PLR2004
        raise UnsupportedByReferenceError("a number of more than 38 digits")
    return token.text


def _query(tree: Tree) -> str:
    """Write a query; its steps behind ``|>`` become queries of queries."""
    pipes = tree.trees("pipe")
    if not pipes:
        return _joined(tree)
    (term,) = tree.trees("query_term")
    before, behind = tree.trees("ctes"), tree.trees("organization")
    return " ".join([*map(write, before), piped(term, pipes, write), *map(write, behind)])


def _query_primary(tree: Tree) -> str:
    if tree.trees("values"):
        return f"SELECT * FROM {_joined(tree)}"
    if tree.trees("from_first"):
        return _from_first(tree.trees("from_first")[0])
    if tree.trees("table_query"):
        return f"SELECT * FROM {write(tree.trees('table_query')[0].trees('reference')[0])}"
    return _joined(tree)


def _from_first(tree: Tree) -> str:
    """Write ``FROM t SELECT a WHERE b`` as ``SELECT a FROM t WHERE b``."""
    from_, *rest = tree.parts
    if not rest:
        return f"SELECT * {write(from_)}"
    if len([part for part in rest if isinstance(part, Token) and part.key == "SELECT"]) > 1:
        raise UnsupportedByReferenceError("a query of several SELECTs that begins with FROM")
    place = next((i for i, part in enumerate(rest) if isinstance(part, Tree) and part.rule in _BEHIND_FROM), len(rest))
    return " ".join(write(part) for part in (*rest[:place], from_, *rest[place:]))


_COUNTED = re.compile(r"([+-]?\d{1,9})\s+(year|month|week|day|hour|minute|second)s?\b", re.IGNORECASE)
_INTERVAL_TEXT = re.compile(rf"'\s*((?:{_COUNTED.pattern}\s*)+)'", re.IGNORECASE)


def _interval(tree: Tree) -> str:
    """Write an interval of several units as a sum, in brackets: sqlglot reads no sign before its later parts.

    So is a text of whole counts with their units inside. Other texts and a count with a fraction become a call of no
    known function, which has no translation: sqlglot reads the first unit of such a text only.
    """
    if inside := _INTERVAL_TEXT.fullmatch("".join(write(part) for part in tree.parts[1:])):
        counted = [f"INTERVAL '{count}' {unit.upper()}" for count, unit in _COUNTED.findall(inside[1])]
        return f"({' + '.join(counted)})"
    is_fraction = any(isinstance(part, Token) and part.kind is TokenKind.NUMBER for part in tree.parts)
    if is_fraction or not tree.trees("unit"):
        words = " ".join(write(part) for part in tree.parts[1:]).replace("'", "")
        return f"interval_literal('{words}')"
    if len(tree.trees("unit")) == 1 or tree.has("TO"):
        return _joined(tree)
    sums, part = [], ["INTERVAL"]
    for word in tree.parts[1:]:
        part.append(write(word))
        if _is(word, "unit"):
            sums.append(" ".join(part))
            part = ["INTERVAL"]
    return f"({' + '.join(sums)})"


def _organization(tree: Tree) -> str:
    sorts = [key for key in ("ORDER", "CLUSTER", "DISTRIBUTE", "SORT") if tree.has(key)]
    if len(sorts) > 1 and sorts != ["DISTRIBUTE", "SORT"]:
        raise RejectedError("UNSUPPORTED_FEATURE.COMBINATION_QUERY_RESULT_CLAUSES", " and ".join(sorts))
    if tree.has("ALL"):  # LIMIT ALL cuts nothing off
        return " ".join(write(part) for part in tree.parts if not _is_one_of(part, "LIMIT", "ALL"))
    return _joined(tree)


def _is_one_of(part: Part, *keys: str) -> bool:
    return isinstance(part, Token) and part.key in keys


def _lateral_view(tree: Tree) -> str:
    """Write the AS before the columns, which Spark may leave out and sqlglot may not."""
    number = next(number for number, part in enumerate(tree.parts) if _is(part, "name"))
    before, columns = tree.parts[: number + 1], tree.trees("name")[1:]
    text = " ".join(write(part) for part in before)
    return f"{text} AS {', '.join(map(write, columns))}" if columns else text


def _several_values(tree: Tree) -> str:
    """Write the several value columns of UNPIVOT; Spark reads a quoted one a second time, without its quotes."""
    if any(part.kind is TokenKind.QUOTED for name in tree.trees("name") for part in name.tokens):
        raise UnsupportedByReferenceError("a quoted name in UNPIVOT")
    return _joined(tree)


def _relation_primary(tree: Tree) -> str:
    """Write a relation; which version it means, and its options, are read apart (R-139)."""
    for function in tree.trees("function"):
        if write(function).lower().startswith(_OF_TABLES):
            raise UnsupportedByReferenceError("a function of the versions of a table")
    parts = (part for part in tree.parts if not (isinstance(part, Tree) and part.rule in TRAVEL))
    return " ".join(write(part) for part in parts)


def _ctes(tree: Tree) -> str:
    names = [write(cte.trees("name")[0]).strip("`").lower() for cte in tree.trees("cte")]
    if len(set(names)) < len(names):
        raise RejectedError("DUPLICATED_CTE_NAMES", f"the names {names} of WITH are not distinct")
    return _joined(tree)


def _cte(tree: Tree) -> str:
    name, *between, query = tree.trees("name", "names", "query")
    return " ".join([write(name), *map(write, between), f"AS ({write(query)})"])


def _assignment(tree: Tree) -> str:
    name, _, value = tree.parts
    return f"{write(name)} = {_operand(value, _RANK['comparison'])}"


_WRITERS: dict[str, Callable[[Tree], str]] = {
    **dict.fromkeys(_ALIKE, _operators),
    "compared": _compared,
    "predicated": _predicated,
    "predicate": _predicate,
    "negated": _negated,
    "signed": _signed,
    "name": _name,
    "strict_name": _name,
    "column": _column,
    "call": _call,
    "function": _function,
    "multipart": _multipart,
    "reference": _reference,
    "parameter": _parameter,
    "relation_primary": _relation_primary,
    "argument": _argument,
    "lambda": _lambda,
    "alias": _alias,
    "named": _named,
    "typed": _typed,
    "negation": lambda _: "NOT",
    "by_target": lambda _: "",
    "query": _query,
    "query_primary": _query_primary,
    "interval": _interval,
    "organization": _organization,
    "lateral_view": _lateral_view,
    "several_values": _several_values,
    "ctes": _ctes,
    "cte": _cte,
    "assignment": _assignment,
}
