"""Functions of texts whose meaning is one in Spark and DuckDB, and LIKE with a plain pattern."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import BINARY, BOOLEAN, INT, STRING, VOID, NestedType, type_word
from mergecheck.model.types.typed import Typed, combine
from mergecheck.reference.casts.nested_casts import cast_value
from mergecheck.reference.expressions.literals import text_literal
from mergecheck.reference.expressions.operands import whole
from mergecheck.reference.expressions.regular_expressions import pattern_of
from mergecheck.reference.expressions.text_pieces import matching, substring

if TYPE_CHECKING:
    from collections.abc import Callable

_PATTERN = re.compile(r"(?:[^\\]|\\[_%\\])*", re.DOTALL)  # Spark refuses a backslash before anything else
_HASHES = {"0": "sha256", "256": "sha256"}


def text_call(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed | None:
    """Translate a call of a text function, or LIKE; None for any other expression.

    Raises:
        UnsupportedByReferenceError: for operands that were not compared between the engines.
    """
    call = _CALLS.get(type(node))
    return None if call is None else call(node, translate)


def _text(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    operand = translate(node)
    if operand.type != STRING:
        raise UnsupportedByReferenceError(f"a text function of {type_word(operand.type)}")
    return operand


def _joined(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    separator, *operands = [translate(item) for item in node.expressions]
    if separator.type != STRING or not operands:
        raise UnsupportedByReferenceError("concat_ws without a text between its operands")
    if any(isinstance(operand.type, NestedType) or operand.type in (VOID, BINARY) for operand in operands):
        raise UnsupportedByReferenceError("concat_ws of anything but text")
    texts = [cast_value(operand, STRING) for operand in operands]
    return combine(f"concat_ws({', '.join(text.sql for text in (separator, *texts))})", STRING, separator, *texts)


def _hashed(word: str) -> Callable[[exp.Expr, Callable[[exp.Expr], Typed]], Typed]:
    def call(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
        text = _text(node.this, translate)
        return combine(f"{word}({text.sql})", STRING, text)

    return call


def _sha2(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    word = _HASHES.get(node.args["length"].name)
    if word is None or not _is_whole(node.args["length"]):
        raise UnsupportedByReferenceError("sha2 of another length than 256")
    return _hashed(word)(node, translate)


def _like(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    text, pattern = _text(node.this, translate), node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.is_string or not _PATTERN.fullmatch(pattern.name):
        raise UnsupportedByReferenceError("LIKE with a pattern that is no plain literal")
    word = "NOT LIKE" if node.args.get("negate") else "LIKE"
    return combine(f"(({text.sql}) {word} {text_literal(pattern.name)} ESCAPE '\\')", BOOLEAN, text)


def _like_in_any_case(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    """``ILIKE`` is LIKE of both sides in lower case, of ASCII letters as far as this is known."""
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or not pattern.name.isascii():
        raise UnsupportedByReferenceError("ILIKE with a pattern that is no plain literal")
    lower = exp.Lower(this=node.this)
    plain = exp.Literal.string(pattern.name.lower())
    return _like(exp.Like(this=lower, expression=plain, negate=node.args.get("negate")), translate)


def _matches(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    pattern = pattern_of(node.expression)
    return matching(_text(node.this, translate), pattern, f"regexp_matches(x, {text_literal(pattern.text)})", BOOLEAN)


def _left(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    text = _text(node.this, translate)
    if not _is_whole(node.expression):
        raise UnsupportedByReferenceError("left with a length that is no literal")
    return combine(f"substr({text.sql}, 1, {node.expression.name})", STRING, text)


def _part(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    value, bounds = _text(node.this, translate), [node.args.get("start"), node.args.get("length")]
    start, length = (None if bound is None else whole(bound, translate) for bound in bounds)
    if start is None:
        raise UnsupportedByReferenceError("substring without a start")
    return substring(value, start, length)


def _replaced(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    text, searched = _text(node.this, translate), _searched(node.expression)
    replacement = _text(node.args.get("replacement") or exp.Literal.string(""), translate)
    return combine(f"replace({text.sql}, {searched}, {replacement.sql})", STRING, text, replacement)


def _found(node: exp.Expr, translate: Callable[[exp.Expr], Typed]) -> Typed:
    if node.args.get("position") is not None or node.args.get("occurrence") is not None:
        raise UnsupportedByReferenceError("locate from a position")
    text = _text(node.this, translate)
    return combine(f"CAST(instr({text.sql}, {_searched(node.args['substr'])}) AS INTEGER)", INT, text)


def _searched(node: exp.Expr) -> str:
    if not isinstance(node, exp.Literal) or not node.is_string or not node.name:
        raise UnsupportedByReferenceError("a search for a text that is no literal")
    return text_literal(node.name)


def _is_whole(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 6  # noqa: PLR2004 - no text is longer


_CALLS: dict[type[exp.Expr], Callable[[exp.Expr, Callable[[exp.Expr], Typed]], Typed]] = {
    exp.ConcatWs: _joined,
    exp.ILike: _like_in_any_case,
    exp.Left: _left,
    exp.Like: _like,
    exp.MD5: _hashed("md5"),
    exp.RegexpLike: _matches,
    exp.Replace: _replaced,
    exp.SHA: _hashed("sha1"),
    exp.SHA2: _sha2,
    exp.StrPosition: _found,
    exp.Substring: _part,
}
