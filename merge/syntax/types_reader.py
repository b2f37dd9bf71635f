"""Types as Spark writes them, for ``CAST`` and ``::``."""

from __future__ import annotations

from typing import Final

from sqlglot import exp
from sqlglot.errors import SqlglotError

from mergecheck.merge.syntax.dialect import MergeDialect
from mergecheck.merge.syntax.lexer import Kind
from mergecheck.merge.syntax.token_cursor import TokenCursor

_PLAIN: Final = frozenset(
    """BOOLEAN TINYINT BYTE SMALLINT SHORT INT INTEGER BIGINT LONG FLOAT REAL DOUBLE DATE TIMESTAMP TIMESTAMP_NTZ
    TIMESTAMP_LTZ STRING BINARY VOID VARIANT""".split()  # noqa: SIM905 - a word list reads better
)
_DECIMALS: Final = ("DECIMAL", "DEC", "NUMERIC")
_TEXTS: Final = ("CHAR", "CHARACTER", "VARCHAR")
_FIELDS: Final = ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND")


class TypeReader(TokenCursor):
    """Reads types."""

    def type(self) -> exp.Expr:
        """Read a type.

        Raises:
            AnalysisError: ``PARSE_SYNTAX_ERROR``; it is none that this reader knows.
        """
        first = self.at
        self._skip_type()
        text = self.text_from(first)
        try:
            return exp.DataType.build(text, dialect=MergeDialect)
        except SqlglotError:
            return exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=text)

    def _skip_type(self) -> None:
        with self.deeper():
            word = self.key() if self.is_name() else ""
            self.at += 1
            if word == "ARRAY":
                self.expect("<")
                self._skip_type()
                self.expect(">")
            elif word == "MAP":
                self.expect("<")
                self._skip_type()
                self.expect(",")
                self._skip_type()
                self.expect(">")
            elif word == "STRUCT":
                self._skip_fields()
            elif word in _DECIMALS:
                if self.accept("("):
                    self._number()
                    if self.accept(","):
                        self._number()
                    self.expect(")")
            elif word in _TEXTS:
                self.expect("(")
                self._number()
                self.expect(")")
            elif word == "INTERVAL":
                self._skip_units()
            elif word not in _PLAIN:
                self.at -= 1
                raise self.wrong("A type is expected here.")

    def _skip_fields(self) -> None:
        if self.accept("<>"):
            return
        self.expect("<")
        if self.accept(">"):
            return
        while True:
            self.part()
            self.accept(":")
            self._skip_type()
            self.accept("NOT", "NULL")
            if self.accept("COMMENT"):
                self._string()
            if not self.accept(","):
                break
        self.expect(">")

    def _skip_units(self) -> None:
        if not self.accept_any(*_FIELDS):
            raise self.wrong("A unit of time is expected here.")
        if self.accept("TO") and not self.accept_any(*_FIELDS):
            raise self.wrong("A unit of time is expected here.")

    def _number(self) -> None:
        token = self.ahead()
        if token is None or not token.text.isdigit():
            raise self.wrong("A whole number is expected here.")
        self.at += 1

    def _string(self) -> None:
        token = self.ahead()
        if token is None or token.kind is not Kind.STRING:
            raise self.wrong("A string is expected here.")
        self.at += 1
