"""Read a Spark DDL schema string, ``id BIGINT NOT NULL, `a b` STRUCT<x: INT>, n INT DEFAULT 5``, into types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from mergecheck.reference.errors import CaseFormatError
from mergecheck.reference.types.data_types import (
    ArrayType,
    AtomicName,
    AtomicType,
    DecimalType,
    Field,
    MapType,
    Schema,
    StructType,
)

if TYPE_CHECKING:
    from mergecheck.reference.types.data_types import DataType

_SYNONYMS = {"BYTE": "TINYINT", "SHORT": "SMALLINT", "INTEGER": "INT", "LONG": "BIGINT", "REAL": "FLOAT"}
_DECIMAL_WORDS = frozenset({"DECIMAL", "DEC", "NUMERIC"})
_DEFAULT_DECIMAL = (10, 0)
_DIALECT = Databricks()


def parse_schema(ddl: str) -> Schema:
    """Parse the columns of a table; the empty string is a table without columns.

    Raises:
        CaseFormatError: if the text is no schema; the message quotes the place.
    """
    reader = _Reader(ddl)
    columns: list[Field] = []
    while not reader.at_end:
        if columns:
            reader.expect(TokenType.COMMA, "','")
        columns.append(reader.column())
    return Schema(tuple(columns))


def parse_type(text: str) -> DataType:
    """Parse a type as it stands in a CAST.

    Raises:
        CaseFormatError: if case files have no such type.
    """
    return parse_schema(f"x {text}").columns[0].type


class _Reader:
    """A recursive descent over sqlglot's tokens."""

    def __init__(self, ddl: str) -> None:
        self._ddl = ddl
        self._next = 0
        try:
            self._tokens: list[Token] = list(_DIALECT.tokenize(ddl))
        except SqlglotError as error:
            raise CaseFormatError(f"schema {ddl!r} cannot be read: {error}") from error

    @property
    def at_end(self) -> bool:
        return self._next == len(self._tokens)

    def column(self) -> Field:
        """Read a column: name, type, then NOT NULL, DEFAULT, GENERATED ALWAYS AS and COMMENT in any order."""
        name, data_type = self._name(), self._type()
        nullable, default, generated = True, None, None
        while not self.at_end and self._peek() is not TokenType.COMMA:
            if self._word_is("DEFAULT"):
                default = self._default()
            elif self._word_is("GENERATED"):
                generated = self._generated()
            elif not self._comment():
                nullable = self._nullable()
        if default is not None and generated is not None:
            raise CaseFormatError(f"schema {self._ddl!r}: column {name!r} has a DEFAULT and is GENERATED; give one")
        return Field(name, data_type, nullable, default, generated)

    def field(self) -> Field:
        """Read a field of a struct: name, colon, type, then NOT NULL and COMMENT."""
        name = self._name()
        if self._peek() is TokenType.COLON:
            self._next += 1
        data_type = self._type()
        nullable = self._peek() is not TokenType.NOT or self._nullable()
        self._comment()
        return Field(name, data_type, nullable)

    def _nullable(self) -> bool:
        self.expect(TokenType.NOT, "',', NOT NULL, DEFAULT, GENERATED ALWAYS AS or COMMENT")
        self.expect(TokenType.NULL, "NULL after NOT")
        return False

    def _comment(self) -> bool:
        if self._peek() is not TokenType.COMMENT:
            return False
        self._next += 1
        self.expect(TokenType.STRING, "a quoted comment")
        return True

    def _default(self) -> str:
        self._next += 1
        return self._text_until({TokenType.COMMA, TokenType.COMMENT}, "an expression after DEFAULT")

    def _generated(self) -> str:
        self._next += 1
        for word in ("ALWAYS", "AS"):
            if not self._word_is(word):
                raise self._error(f"expected {word} of GENERATED ALWAYS AS (expression)")
            self._next += 1
        self.expect(TokenType.L_PAREN, "'(' after GENERATED ALWAYS AS")
        text = self._text_until({TokenType.R_PAREN}, "an expression after GENERATED ALWAYS AS (")
        self.expect(TokenType.R_PAREN, "')' that closes GENERATED ALWAYS AS (")
        return text

    def _text_until(self, stops: set[TokenType], wanted: str) -> str:
        """Cut out the text up to a token that stands outside all brackets opened here."""
        first, depth = self._next, 0
        while not self.at_end and not (depth == 0 and self._peek() in stops):
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(self._tokens[self._next].token_type, 0)
            self._next += 1
        if self._next == first or depth:
            raise self._error(f"expected {wanted}, its brackets in pairs")
        return self._ddl[self._tokens[first].start : self._tokens[self._next - 1].end + 1]

    def _word_is(self, word: str) -> bool:
        if self.at_end or self._tokens[self._next].token_type is TokenType.IDENTIFIER:
            return False
        token = self._tokens[self._next]
        return self._ddl[token.start : token.end + 1].upper() == word

    def expect(self, kind: TokenType, wanted: str) -> Token:
        if self._peek() is not kind:
            raise self._error(f"expected {wanted}")
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _peek(self) -> TokenType | None:
        return None if self.at_end else self._tokens[self._next].token_type

    def _name(self) -> str:
        if self.at_end:
            raise self._error("expected a name")
        token = self._tokens[self._next]
        written = self._ddl[token.start : token.end + 1]
        if token.token_type is not TokenType.IDENTIFIER and not written.replace("_", "a").isalnum():
            raise self._error("expected a name (in backticks if it is not a plain word)")
        self._next += 1
        return str(token.text)

    def _type(self) -> DataType:
        if self.at_end:
            raise self._error("expected a type")
        token = self._tokens[self._next]
        word = self._ddl[token.start : token.end + 1].upper()
        word = _SYNONYMS.get(word, word)
        self._next += 1
        if word in _DECIMAL_WORDS:
            return self._decimal()
        if word == "ARRAY":
            self.expect(TokenType.LT, "'<' after ARRAY")
            element = self._type()
            self.expect(TokenType.GT, "'>' that closes ARRAY<")
            return ArrayType(element)
        if word == "MAP":
            return self._map()
        if word == "STRUCT":
            return self._struct()
        try:
            return AtomicType(AtomicName(word))
        except ValueError:
            self._next -= 1
            known = ", ".join(name.value for name in AtomicName)
            raise self._error(f"unknown type; allowed are {known}, DECIMAL(p,s), STRUCT, ARRAY, MAP") from None

    def _decimal(self) -> DecimalType:
        if self._peek() is not TokenType.L_PAREN:
            return DecimalType(*_DEFAULT_DECIMAL)
        self._next += 1
        precision = int(self.expect(TokenType.NUMBER, "the precision").text)
        scale = 0
        if self._peek() is TokenType.COMMA:
            self._next += 1
            scale = int(self.expect(TokenType.NUMBER, "the scale").text)
        self.expect(TokenType.R_PAREN, "')' that closes DECIMAL(")
        try:
            return DecimalType(precision, scale)
        except ValueError as error:
            raise CaseFormatError(f"schema {self._ddl!r}: {error}") from error

    def _map(self) -> MapType:
        self.expect(TokenType.LT, "'<' after MAP")
        key = self._type()
        self.expect(TokenType.COMMA, "',' between key and value type of MAP")
        value = self._type()
        self.expect(TokenType.GT, "'>' that closes MAP<")
        return MapType(key, value)

    def _struct(self) -> StructType:
        self.expect(TokenType.LT, "'<' after STRUCT")
        fields: list[Field] = []
        while self._peek() is not TokenType.GT:
            if fields:
                self.expect(TokenType.COMMA, "',' or '>' in STRUCT<")
            fields.append(self.field())
        self._next += 1
        return StructType(tuple(fields))

    def _error(self, problem: str) -> CaseFormatError:
        if self.at_end:
            return CaseFormatError(f"schema {self._ddl!r}: {problem}, but the text ends")
        token = self._tokens[self._next]
        found = self._ddl[token.start : token.end + 1]
        return CaseFormatError(f"schema {self._ddl!r}: {problem}, found {found!r} at position {token.start}")
