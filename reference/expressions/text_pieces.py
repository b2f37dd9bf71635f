"""Functions that take texts apart, pad, search and replace them, found by their names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from mergecheck.model.errors import UnsupportedByReferenceError
from mergecheck.model.types.data_types import BINARY, BOOLEAN, INT, INTEGER_BITS, STRING, ArrayType, type_word
from mergecheck.model.types.typed import Typed, combine
from mergecheck.reference.casts.cast_sql import let, unsupported
from mergecheck.reference.casts.nested_casts import cast_value
from mergecheck.reference.expressions.literals import plain_text, text_literal
from mergecheck.reference.expressions.operands import bound, count, if_ascii, literal_number, literal_text, text, whole
from mergecheck.reference.expressions.regular_expressions import pattern_of, plain_delimiter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlglot import exp

    from mergecheck.model.types.data_types import DataType
    from mergecheck.reference.expressions.operands import Call, Translate
    from mergecheck.reference.expressions.regular_expressions import Pattern

_MOST_PAD = 10_000
_REFERENCE = re.compile(r"\$([1-9])(?![0-9])")


def _split(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2, 3)
    value, delimiter = text(operands[0], translate), text_literal(plain_delimiter(operands[1]))
    limit = literal_number(operands[2]) if len(operands) > 2 else -1  # noqa: PLR2004 - the third one
    parts = f"string_split(x, {delimiter})"
    if limit > 0:  # the last part is all the rest
        rest = f"array_to_string(({parts})[{limit}:], {delimiter})"
        cut = f"list_append(({parts})[1:{limit - 1}], {rest})"
        parts = f"CASE WHEN x IS NULL OR len({parts}) <= {limit} THEN {parts} ELSE {cut} END"
    return combine(let(value.sql, parts), ArrayType(STRING), value)


def _split_part(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 3)
    value, delimiter = text(operands[0], translate), literal_text(operands[1])
    place = literal_number(operands[2], 1)
    body = f"CASE WHEN x IS NULL THEN NULL ELSE COALESCE(string_split(x, {text_literal(delimiter)})[{place}], '') END"
    return combine(let(value.sql, body), STRING, value)


def _until_delimiter(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    """Translate ``substring_index``: what stands before the n-th delimiter, from the end if n is negative."""
    count(operands, 3)
    value, delimiter, number = text(operands[0], translate), literal_text(operands[1]), literal_number(operands[2])
    if any(delimiter.endswith(delimiter[:n]) for n in range(1, len(delimiter))):
        raise UnsupportedByReferenceError("substring_index with a delimiter that overlaps itself")
    parts = f"string_split(x, {text_literal(delimiter)})"
    kept = f"({parts})[1:{number}]" if number >= 0 else f"({parts})[-{-number}:]"
    joined = f"array_to_string({kept}, {text_literal(delimiter)})"
    body = f"CASE WHEN x IS NULL THEN NULL WHEN len({parts}) <= {abs(number)} THEN x ELSE {joined} END"
    return combine(let(value.sql, "CASE WHEN x IS NULL THEN NULL ELSE '' END" if number == 0 else body), STRING, value)


def matching(value: Typed, pattern: Pattern, body: str, data_type: DataType) -> Typed:
    """Evaluate ``body`` of a text ``x``, unless the text has characters that the pattern takes differently."""
    if not pattern.odd:
        return combine(let(value.sql, body), data_type, value)
    odd = f"regexp_matches(x, '{pattern.odd}')"
    guarded = f"CASE WHEN {odd} THEN {unsupported('a regular expression on a text of several lines')} ELSE {body} END"
    return combine(let(value.sql, guarded), data_type, value, partial=True)


def _matches(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    pattern = pattern_of(operands[1])
    body = f"regexp_matches(x, {text_literal(pattern.text)})"
    return matching(text(operands[0], translate), pattern, body, BOOLEAN)


def _extracted(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2, 3)
    pattern = pattern_of(operands[1])
    group = literal_number(operands[2], 0) if len(operands) > 2 else 1  # noqa: PLR2004 - the third one
    if group > pattern.num_groups:
        raise UnsupportedByReferenceError("a group that a regular expression does not have")
    body = f"regexp_extract(x, {text_literal(pattern.text)}, {group})"
    return matching(text(operands[0], translate), pattern, body, STRING)


def _substituted(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 3)
    pattern, replacement = pattern_of(operands[1]), plain_text(operands[2])
    if replacement is None or "\\" in replacement or pattern.may_be_empty:
        raise UnsupportedByReferenceError("regexp_replace of this kind")
    groups = [int(found[1]) for found in _REFERENCE.finditer(replacement)]
    if len(groups) != replacement.count("$") or any(group > pattern.num_groups for group in groups):
        raise UnsupportedByReferenceError("regexp_replace with a group that the expression does not have")
    written = _REFERENCE.sub(r"\\\1", replacement)
    body = f"regexp_replace(x, {text_literal(pattern.text)}, {text_literal(written)}, 'g')"
    return matching(text(operands[0], translate), pattern, body, STRING)


def _padded(word: str) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 2, 3)
        value, length = text(operands[0], translate), literal_number(operands[1], 0)
        filling = literal_text(operands[2]) if len(operands) > 2 else " "  # noqa: PLR2004 - the third one
        if length > _MOST_PAD:
            raise UnsupportedByReferenceError("a text padded to a great length")
        return combine(f"{word}({value.sql}, {length}, {text_literal(filling)})", STRING, value)

    return call


def _spaces_off(word: str) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 1)
        value = text(operands[0], translate)
        return combine(f"{word}({value.sql}, ' ')", STRING, value)

    return call


def _initials(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    value = text(operands[0], translate)
    words = "list_transform(string_split(lower(x), ' '), lambda w: upper(w[1]) || w[2:])"
    return combine(let(value.sql, if_ascii("x", f"array_to_string({words}, ' ')")), STRING, value, partial=True)


def _of_ascii(body: str, data_type: DataType) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 1)
        value = text(operands[0], translate)
        return combine(let(value.sql, if_ascii("x", body)), data_type, value, partial=True)

    return call


def _of_text(form: str, data_type: DataType) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 1)
        value = text(operands[0], translate)
        return combine(form.format(value.sql), data_type, value)

    return call


def _of_two_texts(word: str) -> Call:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 2)
        value, searched = text(operands[0], translate), text(operands[1], translate)
        return combine(f"{word}({value.sql}, {searched.sql})", BOOLEAN, value, searched)

    return call


def _repeated(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    value, times = text(operands[0], translate), literal_number(operands[1], 0)
    if times > _MOST_PAD:
        raise UnsupportedByReferenceError("a text repeated very often")
    return combine(f"repeat({value.sql}, {times})", STRING, value)


def _translated(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 3)
    value, old, new = text(operands[0], translate), literal_text(operands[1]), plain_text(operands[2])
    if new is None or len(set(old)) < len(old) or not (old + new).isascii():
        raise UnsupportedByReferenceError("translate of this kind")
    return combine(f"translate({value.sql}, {text_literal(old)}, {text_literal(new)})", STRING, value)


def _right(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    value, length = text(operands[0], translate), literal_number(operands[1], 0)
    body = f"CASE WHEN length(x) <= {length} THEN x ELSE substr(x, length(x) - {length} + 1) END"
    return combine(let(value.sql, body), STRING, value)


def _hex(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    value = translate(operands[0])
    if value.type in INTEGER_BITS:
        number = "CASE WHEN x < 0 THEN x + CAST('18446744073709551616' AS HUGEINT) ELSE x END"
        return combine(f"upper(to_hex({let(f'CAST({value.sql} AS HUGEINT)', number)}))", STRING, value)
    if value.type not in (STRING, BINARY):
        raise UnsupportedByReferenceError(f"hex of {type_word(value.type)}")
    return combine(f"upper(hex({value.sql}))", STRING, value)


def _unhex(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    value = text(operands[0], translate)
    plain = "x IS NULL OR regexp_full_match(x, '([0-9A-Fa-f]{2})*')"
    body = f"CASE WHEN {plain} THEN unhex(x) ELSE {unsupported('unhex of other than pairs of digits')} END"
    return combine(let(value.sql, body), BINARY, value, partial=True)


def _encoded(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 2)
    if literal_text(operands[1]).lower() not in ("utf-8", "utf8"):
        raise UnsupportedByReferenceError("encode to another charset than UTF-8")
    return replace(cast_value(text(operands[0], translate), BINARY), stored=False)


def substring(value: Typed, start: Typed, length: Typed | None) -> Typed:
    """Translate ``substring``: a start below zero counts from the end, and what lies before the text counts, too."""
    first = "CASE WHEN p.s > 0 THEN p.s - 1 WHEN p.s < 0 THEN length(p.x) + p.s ELSE 0 END"
    values = {"x": value.sql, "s": f"CAST({start.sql} AS BIGINT)"}
    if length is None:
        body = f"substr(p.x, greatest({first}, 0) + 1)"
    else:
        values["n"] = f"CAST({length.sql} AS BIGINT)"
        kept = f"substr(p.x, greatest({first}, 0) + 1, greatest({first} + p.n - greatest({first}, 0), 0))"
        body = f"CASE WHEN p.n <= 0 THEN '' ELSE {kept} END"
    missing = " OR ".join(f"p.{name} IS NULL" for name in values)
    sql = bound(values, f"CASE WHEN {missing} THEN NULL ELSE {body} END")
    return combine(sql, STRING, *(operand for operand in (value, start, length) if operand is not None))


def _is_null(negated: str) -> Callable[[Sequence[exp.Expr], Translate], Typed]:
    def call(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
        count(operands, 1)
        value = translate(operands[0])
        return combine(f"(({value.sql}) IS {negated}NULL)", BOOLEAN, value)

    return call


def _chr(operands: Sequence[exp.Expr], translate: Translate) -> Typed:
    count(operands, 1)
    value = whole(operands[0], translate)
    outside = unsupported("chr of other than ASCII letters")
    body = f"CASE WHEN x IS NULL OR x BETWEEN 1 AND 127 THEN chr(x) ELSE {outside} END"
    return combine(let(value.sql, body), STRING, value, partial=True)


TEXT_CALLS: Final[dict[str, Call]] = {
    "ascii": _of_ascii("ascii(x)", INT),
    "bit_length": _of_text("CAST(8 * strlen({}) AS INTEGER)", INT),
    "chr": _chr,
    "contains": _of_two_texts("contains"),
    "encode": _encoded,
    "endswith": _of_two_texts("ends_with"),
    "hex": _hex,
    "initcap": _initials,
    "isnotnull": _is_null("NOT "),
    "isnull": _is_null(""),
    "lpad": _padded("lpad"),
    "ltrim": _spaces_off("ltrim"),
    "octet_length": _of_text("CAST(strlen({}) AS INTEGER)", INT),
    "regexp_extract": _extracted,
    "regexp_like": _matches,
    "regexp_replace": _substituted,
    "repeat": _repeated,
    "right": _right,
    "rpad": _padded("rpad"),
    "rtrim": _spaces_off("rtrim"),
    "split": _split,
    "split_part": _split_part,
    "startswith": _of_two_texts("starts_with"),
    "substring_index": _until_delimiter,
    "translate": _translated,
    "unhex": _unhex,
}
