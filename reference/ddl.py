"""Read a Spark DDL schema string, ``id BIGINT NOT NULL, `a b` STRUCT<x: INT>``, into types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from reference.errors import CaseFormatError
from reference.types import ArrayType, AtomicName, AtomicType, DecimalType, Field, MapType, Schema, StructType

if TYPE_CHECKING:
    from reference.types import DataType

_SYNONYMS = {"BYTE": "TINYINT", "SHORT": "SMALLINT", "INTEGER": "INT", "LONG": "BIGINT", "REAL": "FLOAT"}
_DECIMAL_WORDS = frozenset({"DECIMAL", "DEC", "NUMERIC"})
_DEFAULT_DECIMAL = (10, 0)


def parse_schema(ddl: str) -> Schema:
    """Parse the columns of a table; the empty string is a table without columns.

    Raises:
        CaseFormatError: where the text is no schema; the message quotes the place.
    """
    reader = _Reader(ddl)
    columns: list[Field] = []
    while not reader.at_end:
        if columns:
            reader.expect(TokenType.COMMA, "','")
        columns.append(reader.field(separator=None))
    return Schema(tuple(columns))


class _Reader:
    """A recursive descent over sqlglot's tokens."""

    def __init__(self, ddl: str) -> None:
        self._ddl = ddl
        self._next = 0
        try:
            self._tokens: list[Token] = list(Databricks().tokenize(ddl))
        except SqlglotError as error:
            raise CaseFormatError(f"schema {ddl!r} cannot be read: {error}") from error

    @property
    def at_end(self) -> bool:
        return self._next == len(self._tokens)

    def field(self, *, separator: TokenType | None) -> Field:
        name = self._name()
        if separator is not None and self._peek() is separator:
            self._next += 1
        data_type = self._type()
        nullable = True
        if self._peek() is TokenType.NOT:
            self._next += 1
            self.expect(TokenType.NULL, "NULL after NOT")
            nullable = False
        if self._peek() is TokenType.COMMENT:
            self._next += 1
            self.expect(TokenType.STRING, "a quoted comment")
        return Field(name, data_type, nullable)

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
            fields.append(self.field(separator=TokenType.COLON))
        self._next += 1
        return StructType(tuple(fields))

    def _error(self, problem: str) -> CaseFormatError:
        if self.at_end:
            return CaseFormatError(f"schema {self._ddl!r}: {problem}, but the text ends")
        token = self._tokens[self._next]
        found = self._ddl[token.start : token.end + 1]
        return CaseFormatError(f"schema {self._ddl!r}: {problem}, found {found!r} at position {token.start}")
