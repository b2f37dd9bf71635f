"""Texts for the comparison of parsers: MERGE statements drawn from the grammar, and the same with tokens changed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

_KEYWORDS = tuple(Path(__file__).with_name("spark_keywords.txt").read_text(encoding="utf-8").split())
_TOKENS = re.compile(r"'(?:[^']|'')*'|`[^`]*`|\d+\.\d+|\w+|<=>|<>|<=|>=|!=|==|\|\||<<|::|\S")
_COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>", "==", "!=")
_ARITHMETIC = ("+", "-", "*", "/", "%", "||", "DIV", "&", "|", "^", "<<")
_LITERALS = ("1", "2.5", "'x'", "NULL", "TRUE", "DATE '2024-01-31'", "1e3", "7L", "X'1f'", "'it''s'")
_QUERIES = (
    "SELECT {n} FROM {t}",
    "SELECT * FROM {t} {n} WHERE {e}",
    "SELECT {n} AS {m}, {e} {k} FROM {t} AS {n} JOIN {u} ON {e}",
    "SELECT DISTINCT {n} FROM {t} UNION ALL SELECT {m} FROM {u}",
    "WITH {n} AS (SELECT {m} FROM {t}) SELECT * FROM {n}",
    "SELECT {n}, count(*) AS {m} FROM {t} GROUP BY {n} HAVING {e}",
    "SELECT {n} FROM {t} ORDER BY {m} DESC LIMIT 3",
    "SELECT {n}, row_number() OVER (PARTITION BY {m} ORDER BY {k} DESC) AS {m} FROM {t}",
    "VALUES (1, 'a'), (2, 'b') AS {n}(c, d)",
    "SELECT * FROM {t} QUALIFY row_number() OVER (PARTITION BY {m} ORDER BY {k} DESC) = 1",
    "SELECT {n} FROM {t} GROUP BY {n} HAVING {e} WINDOW {m} AS (ORDER BY {n}) QUALIFY {n} > 1 LIMIT 1",
    "SELECT sum({n}) OVER (ORDER BY {m} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM {t} {k}",
    "SELECT * FROM {t} {n} PIVOT (sum({n}) AS {m}, max({k}) FOR ({m}, {n}) IN ((1, 2) AS {u}, (3, 4) {k})) {u}",
    "SELECT * FROM {t} PIVOT (sum({n}) FOR {m} IN (1, 'x' AS {k})), {u} {m}",
    "SELECT * FROM {t} AS {n} UNPIVOT INCLUDE NULLS ({m} FOR {k} IN ({n}, {m} AS {u}, {t}.{k})) {n}",
    "SELECT * FROM {t} UNPIVOT (({n}, {m}) FOR {k} IN (({n}, {m}) AS {u}, ({k}, {t}.{n})))",
    # sqlglot does not read an alias behind the sample of a query, so the second one has none.
    "SELECT {n} FROM {t} TABLESAMPLE (5 PERCENT) REPEATABLE (1) {m} JOIN (SELECT 1) TABLESAMPLE (2 ROWS)",
    "SELECT {n} FROM {t} {m} LATERAL VIEW OUTER explode({n}) {k} AS {u}, {m} WHERE {e}",
    "SELECT listagg(DISTINCT {n}, ',') WITHIN GROUP (ORDER BY {m} DESC) FILTER (WHERE {e}) {k} FROM {t}",
    "SELECT stack(2, {n}, {m}) AS ({k}, {u}), mask({n}, upperChar => 'x') FROM {t}",
)
# Every place where a name may be; {0} becomes each word of the language.
_PLACES = (
    "MERGE INTO {0} USING s ON a = b WHEN MATCHED THEN DELETE",
    "MERGE INTO t {0} USING s ON a = b WHEN MATCHED THEN DELETE",
    "MERGE INTO t AS {0} USING {0} ON a = b WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s {0} ON {0}.a = b.{0} WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON {0} WHEN MATCHED AND {0} THEN DELETE",
    "MERGE INTO t USING s ON {0} = a AND b = {0} OR {0} IS NULL WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON NOT {0} AND a + {0} - {0} * 2 > 1 WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON a BETWEEN {0} AND {0} AND a IN ({0}, {0}) WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON a LIKE {0} OR a = -{0} WHEN MATCHED THEN UPDATE SET {0} = {0}, a.{0} = {0}",
    "MERGE INTO t USING s ON a = b WHEN NOT MATCHED THEN INSERT ({0}, a) VALUES ({0}, ({0}))",
    "MERGE INTO t USING s ON CASE {0} WHEN {0} THEN {0} ELSE {0} END WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON CASE WHEN {0} THEN {0} END = f({0}, {0}) WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON {0}[{0}] = CAST({0} AS INT) WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING (SELECT {0} FROM {0}) AS {0} ON {0}.{0} = 1 WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON {0}(a) WHEN MATCHED THEN DELETE",
)


@dataclass(frozen=True, slots=True)
class _Draw:
    random: Random

    def happens(self, percent: int) -> bool:
        """Draw whether something happens."""
        return self.random.random() < percent / 100

    def merge(self) -> str:
        """Draw a statement that Spark reads, but for words that are no aliases."""
        parts = ["MERGE INTO", self.name(), self.alias(), "USING"]
        parts += [f"({self.query()})" if self.happens(25) else self.name(), self.alias(), "ON", self.condition()]
        if self.happens(5):
            parts.insert(0, f"WITH {self.word()} AS (SELECT 1 AS id)")
        for kind in ("MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"):
            parts += [self.clause(kind)] if self.happens(60) else []
        return " ".join(part for part in parts if part)

    def clause(self, kind: str) -> str:
        condition = f" AND {self.condition()}" if self.happens(50) else ""
        if kind == "NOT MATCHED":
            names = [self.word() for _ in range(self.random.randint(1, 3))]
            values = ", ".join(self.expression() for _ in names)
            action = self.random.choice(("INSERT *", f"INSERT ({', '.join(names)}) VALUES ({values})"))
        else:
            pairs = ", ".join(f"{self.name()} = {self.expression()}" for _ in range(self.random.randint(1, 2)))
            stars = ("UPDATE SET *",) if kind == "MATCHED" else ()
            action = self.random.choice(("DELETE", f"UPDATE SET {pairs}", f"UPDATE SET {pairs}", *stars))
        return f"WHEN {kind}{condition} THEN {action}"

    def alias(self) -> str:
        return self.random.choice(("", f"AS {self.word()}", self.word()))

    def query(self) -> str:
        given = {"n": self.word(), "m": self.word(), "k": self.word(), "t": self.word(), "u": self.word()}
        return self.random.choice(_QUERIES).format(e=self.condition(), **given)

    def word(self) -> str:
        """Draw a name, often one that is a word of the language."""
        if self.happens(90):
            return self.random.choice(("a", "b", "t", "s", "id", "v_1", "`q r`"))
        word = self.random.choice(_KEYWORDS)
        return self.random.choice((word, word.lower()))

    def name(self) -> str:
        return self.word() if self.happens(50) else f"{self.word()}.{self.word()}"

    def condition(self) -> str:
        """Draw an expression without brackets, of all levels."""
        one = self.random
        parts = [self.predicate() for _ in range(one.randint(1, 3))]
        text = parts[0]
        for part in parts[1:]:
            text += f" {one.choice(('AND', 'OR'))} {part}"
        return text

    def predicate(self) -> str:
        value = self.value()
        form = self.random.choice(
            (
                "{0} {op} {1}",
                "{0} {op} {1}",
                "{0} {op} {1} {op2} {2}",
                "{0} {op} {1} IS NULL",
                "{0} IS NOT NULL",
                "NOT {0} {op} {1}",
                "{0} BETWEEN {1} AND {2}",
                "{0} NOT IN ({1}, {2})",
                "{0} LIKE {1}",
                "{0} IS NOT DISTINCT FROM {1}",
            )
        )
        op, op2 = self.random.choice(_COMPARISONS), self.random.choice(_COMPARISONS)
        return form.format(value, self.value(), self.value(), op=op, op2=op2)

    def expression(self) -> str:
        return self.value() if self.happens(80) else self.condition()

    def value(self) -> str:
        text = self.operand()
        for _ in range(self.random.choice((0, 0, 0, 1, 2))):
            text += f" {self.random.choice(_ARITHMETIC)} {self.operand()}"
        return text

    def operand(self) -> str:
        one = self.random
        if self.happens(60):
            return self.name()
        if self.happens(50):
            return one.choice(_LITERALS)
        return one.choice(
            (
                f"-{self.name()}",
                f"coalesce({self.name()}, {self.name()})",
                f"CAST({self.name()} AS {one.choice(('INT', 'DECIMAL(5, 2)', 'STRING', 'ARRAY<INT>'))})",
                f"CASE WHEN {self.name()} = 1 THEN {self.name()} ELSE 2 END",
                f"CASE {self.name()} WHEN 1 THEN {self.name()} END",
                f"{self.name()}[0]",
                f"({self.name()} + 1)",
                f"{self.name()}::INT",
                f"if({self.name()} = 1, {self.name()}, 2)",
            )
        )


def texts(random: Random) -> Iterator[str]:
    """Yield an endless stream of texts.

    One in three is as drawn, one the same with a token removed, doubled, swapped or replaced, and one has a word of
    the language in the place of a name. Words and places come in an order that is drawn, and all of them before any
    comes twice.
    """
    draw = _Draw(random)
    words = [place.format(word) for word in _KEYWORDS for place in _PLACES]
    random.shuffle(words)
    for word in cycle(words):
        text = draw.merge()
        yield text
        yield changed(text, random)
        yield word


def changed(text: str, random: Random) -> str:
    """Change one token of a text."""
    tokens = _TOKENS.findall(text)
    at = random.randrange(len(tokens) - 1)
    how = random.randrange(4)
    if how == 0:
        del tokens[at]
    elif how == 1:
        tokens.insert(at, tokens[at])
    elif how == 2:  # noqa: PLR2004 - the third way
        tokens[at], tokens[at + 1] = tokens[at + 1], tokens[at]
    else:
        tokens[at] = random.choice((*_KEYWORDS, ",", "(", ")", "=", "*", ".", "!"))
    return " ".join(tokens)
