"""Read a Spark DDL schema string, ``id BIGINT NOT NULL, `a b` STRUCT<x: INT>, n INT DEFAULT 5``, into types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from mergecheck.model.errors import CaseFormatError
from mergecheck.model.types.column_expressions import rewritten_part
from mergecheck.model.types.data_types import (
    BIGINT,
    ELEMENT,
    INTEGER_BITS,
    KEY,
    STRING,
    VALUE,
    ArrayType,
    AtomicName,
    AtomicType,
    DecimalType,
    Field,
    Identity,
    MapType,
    Schema,
    StructType,
    TextLimit,
)

if TYPE_CHECKING:
    from mergecheck.model.types.data_types import DataType

_SYNONYMS = {"BYTE": "TINYINT", "SHORT": "SMALLINT", "INTEGER": "INT", "LONG": "BIGINT", "REAL": "FLOAT"}
_DECIMAL_WORDS = frozenset({"DECIMAL", "DEC", "NUMERIC"})
_DEFAULT_DECIMAL = (10, 0)
_DIALECT = Databricks()


def parse_schema(ddl: str) -> Schema:
    """Parse the columns of a table; the empty string is a table without columns.

    Args:
        ddl: as in CREATE TABLE: ``id BIGINT NOT NULL, v STRING``.

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
        self._path: list[str] = []  # from the column to this place in its type
        self._limits: list[TextLimit] = []  # of the column so far
        try:
            self._tokens: list[Token] = list(_DIALECT.tokenize(ddl))
        except SqlglotError as error:
            raise CaseFormatError(f"schema {ddl!r} cannot be read: {error}") from error

    @property
    def at_end(self) -> bool:
        return self._next == len(self._tokens)

    def column(self) -> Field:
        """Read a column: name, type, then NOT NULL, GENERATED ... AS, INVARIANT, COMMENT and DEFAULT in any order."""
        self._limits = []
        name, data_type = self._name(), self._type()
        nullable, default, generated, invariant = True, None, None, None
        identity: Identity | None = None
        while not self.at_end and self._peek() is not TokenType.COMMA:
            if self._word_is("DEFAULT"):
                default = self._default()
            elif self._word_is("GENERATED"):
                found = self._generated()
                generated, identity = (None, found) if isinstance(found, Identity) else (found, None)
            elif self._words("INVARIANT"):
                invariant = self._in_brackets("INVARIANT")
            elif not self._comment():
                nullable = self._nullable()
        self._check_expression(name, "DEFAULT", default)
        self._check_expression(name, "generation expression", generated)
        if sum(value is not None for value in (default, generated, identity)) > 1:
            raise CaseFormatError(f"schema {self._ddl!r}: column {name!r} has a DEFAULT and is GENERATED; give one")
        if identity is not None and data_type != BIGINT:
            raise CaseFormatError(
                f"schema {self._ddl!r}: the identity column {name!r} is {data_type.ddl()}; it must be BIGINT"
            )
        return Field(name, data_type, nullable, default, generated, identity, invariant, tuple(self._limits))

    def field(self) -> Field:
        """Read a field of a struct: name, colon, type, then NOT NULL and COMMENT."""
        name = self._name()
        if self._peek() is TokenType.COLON:
            self._next += 1
        data_type = self._inside(name)
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

    def _generated(self) -> str | Identity:
        self._next += 1
        if self._words("BY", "DEFAULT"):
            if not self._words("AS", "IDENTITY"):
                raise self._error("expected AS IDENTITY after GENERATED BY DEFAULT")
            return self._identity(by_default=True)
        if not self._words("ALWAYS", "AS"):
            raise self._error("expected ALWAYS AS or BY DEFAULT AS IDENTITY after GENERATED")
        if self._words("IDENTITY"):
            return self._identity(by_default=False)
        return self._in_brackets("GENERATED ALWAYS AS")

    def _check_expression(self, column: str, what: str, text: str | None) -> None:
        """Refuse an expression that no CREATE TABLE accepts."""
        part = None if text is None else rewritten_part(_DIALECT.tokenize(text))
        if part is not None:
            raise CaseFormatError(
                f"schema {self._ddl!r}: the {what} of column {column!r} has {part}, so that no statement creates the "
                "table; allowed are expressions without subqueries, generators, aggregates, window and grouping "
                "functions and windows of time. Compute the value in the source query"
            )

    def _in_brackets(self, after: str) -> str:
        self.expect(TokenType.L_PAREN, f"'(' after {after}")
        text = self._text_until({TokenType.R_PAREN}, f"an expression after {after} (")
        self.expect(TokenType.R_PAREN, f"')' that closes {after} (")
        return text

    def _has_limit(self) -> bool:
        """Read CHAR or VARCHAR and its length; return whether the type is either."""
        padded = self._words("CHAR")
        if not padded and not self._words("VARCHAR"):
            return False
        if padded and self._path:
            self._next -= 1
            raise self._error("CHAR inside of another type; only a column may be one. Write VARCHAR or STRING")
        self.expect(TokenType.L_PAREN, "'(' and the most characters of the text")
        length = self._integer()
        self.expect(TokenType.R_PAREN, "')' after the most characters of the text")
        if length < 1:
            raise CaseFormatError(f"schema {self._ddl!r}: a text of at most {length} characters; it must be 1 or more")
        self._limits.append(TextLimit(length, padded, tuple(self._path)))
        return True

    def _identity(self, *, by_default: bool) -> Identity:
        """Read START WITH, INCREMENT BY and HIGH WATER MARK, in any order, in brackets; without brackets 1 and 1."""
        found: dict[str, int] = {}
        if self._peek() is TokenType.L_PAREN:
            self._next += 1
            while self._peek() is not TokenType.R_PAREN:
                if self._words("START", "WITH"):
                    found["start"] = self._integer()
                elif self._words("INCREMENT", "BY"):
                    found["step"] = self._integer()
                elif self._words("HIGH", "WATER", "MARK"):
                    found["mark"] = self._integer()
                else:
                    raise self._error("expected START WITH, INCREMENT BY, HIGH WATER MARK or ')'")
            self._next += 1
        if found.get("step") == 0:
            raise CaseFormatError(f"schema {self._ddl!r}: INCREMENT BY 0; it must not be 0")
        return Identity(**found, by_default=by_default)

    def _integer(self) -> int:
        sign = -1 if self._peek() is TokenType.DASH else 1
        self._next += sign == -1
        number = sign * int(self.expect(TokenType.NUMBER, "a whole number").text)
        limit = 2 ** (INTEGER_BITS[BIGINT] - 1)
        if not -limit <= number < limit:
            raise CaseFormatError(f"schema {self._ddl!r}: {number} is no BIGINT")
        return number

    def _words(self, *words: str) -> bool:
        """Skip some words if all of them come next; return whether they do."""
        start = self._next
        for word in words:
            if not self._word_is(word):
                self._next = start
                return False
            self._next += 1
        return True

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

    def _inside(self, step: str) -> DataType:
        """Read a type that is inside of another."""
        self._path.append(step)
        found = self._type()
        self._path.pop()
        return found

    def _type(self) -> DataType:
        if self.at_end:
            raise self._error("expected a type")
        if self._has_limit():
            return STRING
        token = self._tokens[self._next]
        word = self._ddl[token.start : token.end + 1].upper()
        word = _SYNONYMS.get(word, word)
        self._next += 1
        if word in _DECIMAL_WORDS:
            return self._decimal()
        if word == "ARRAY":
            self.expect(TokenType.LT, "'<' after ARRAY")
            element = self._inside(ELEMENT)
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
        key = self._inside(KEY)
        self.expect(TokenType.COMMA, "',' between key and value type of MAP")
        value = self._inside(VALUE)
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
