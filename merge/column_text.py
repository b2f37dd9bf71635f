"""Columns of the builder's callers as SQL text (R-103).

A ``Column`` of classic Spark is a tree of ``ColumnNode``. What Spark writes of it cannot be read again, so this module
writes it: every operator in parentheses, every name in backticks. Delta Lake's own Python API takes the same tree from
``Column._jc``. The columns of Spark Connect have no such tree and are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.classic.column import Column as ClassicColumn
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.syntax.dialect import quote_name, without_final_comment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from py4j.java_gateway import JavaObject
    from pyspark.sql import Column, DataFrame, SparkSession

TARGET_NAME: Final = "merge target"
"""The target's name in texts of columns if it has no alias. It has a space, so that it is no column's name."""
SOURCE_NAME: Final = "merge source"
"""The source's name in texts of columns if it has no alias."""

_INFIX: Final = frozenset({"=", "<=>", "<", ">", "<=", ">=", "and", "or", "+", "-", "*", "/", "%", "&", "|", "^"})
_WORDED: Final = {"like": "LIKE", "ilike": "ILIKE", "rlike": "RLIKE"}
_PREFIX: Final = {"!": "NOT", "not": "NOT", "negative": "-", "~": "~"}
_SUFFIX: Final = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnTexts:
    """Writes the columns of one merge as SQL.

    Attributes:
        source: the source's columns by the identity that Spark gave them: their names, in backticks and qualified.
        target: the same of what ``DeltaTable.toDF`` returned.
    """

    spark: SparkSession
    source: Mapping[str, str]
    target: Mapping[str, str]

    def text(self, column: Column, what: str) -> str:
        """Write a column as SQL; ``what`` names the argument in messages.

        Raises:
            AnalysisError: it refers to a column of a DataFrame that is neither side (R-121).
            UnsupportedStatementError: it is a column of Spark Connect, or has no equivalent in SQL, such as a UDF.
        """
        if not isinstance(column, ClassicColumn):
            raise UnsupportedStatementError(
                f"a Column of Spark Connect for {what}",
                hint="Give the expression as SQL text instead, as in 's.value + 1'.",
            )
        node = column._jc.node()  # noqa: SLF001 - as Delta's own API does
        while _kind(node) == "Alias":  # which a value or a condition does not need
            node = node.child()
        # F.expr("...") is the user's own text.
        return str(node.expression()) if _kind(node) == "SqlExpression" else self._text(node, what)

    def _text(self, node: JavaObject, what: str) -> str:
        match _kind(node):
            case "Literal":
                return self._literal(node)
            case "UnresolvedAttribute" if not node.isMetadataColumn():
                return _quoted(_items(node.nameParts()))
            case "SqlExpression":
                return f"({without_final_comment(str(node.expression()))})"
            case "UnresolvedFunction" if not node.isInternal():
                return self._function(node, what)
            case "Cast":
                name = "TRY_CAST" if str(node.sql()).startswith("TRY_CAST") else "CAST"
                return f"{name}({self._text(node.child(), what)} AS {node.dataType().sql()})"
            case "CaseWhenOtherwise":
                return self._case(node, what)
            case "UnresolvedExtractValue":
                return f"{self._text(node.child(), what)}[{self._text(node.extraction(), what)}]"
            case "Alias":
                return self._text(node.child(), what)
            case "LambdaFunction":
                names = [str(name.sql()) for name in _items(node.arguments())]
                before = names[0] if len(names) == 1 else f"({', '.join(names)})"
                return f"{before} -> {self._text(node.function(), what)}"
            case "UnresolvedNamedLambdaVariable":
                return str(node.sql())
            case "ExpressionColumnNode":
                return self._resolved(node.expression(), what)
        raise UnsupportedStatementError(
            f"the column {node.sql()} (in {what})", hint="Give the expression as SQL text, or compute it in the source."
        )

    def _literal(self, node: JavaObject) -> str:
        # The catalyst literal's SQL text has its type; the text of the node itself loses it.
        session: Any = self.spark
        # No public door leads from a node to its literal.
        classic = session._jvm.org.apache.spark.sql.classic  # noqa: SLF001
        literal = getattr(getattr(classic, "ColumnNodeToExpressionConverter$"), "MODULE$").apply(node)
        if str(literal.dataType().sql()) == "TIMESTAMP" and literal.value() is not None:
            return f"timestamp_micros({literal.value()})"  # a text of a moment would depend on the session's zone
        text = str(literal.sql())
        return f"({text})" if text.startswith("-") else text

    def _function(self, node: JavaObject, what: str) -> str:
        name = str(node.functionName())
        key = name.lower()
        if key == "struct":
            return f"struct({', '.join(self._field(argument, what) for argument in _items(node.arguments()))})"
        values = [self._text(argument, what) for argument in _items(node.arguments())]
        if len(values) == 2 and (key in _INFIX or key in _WORDED):  # noqa: PLR2004 - a pattern may have an escape
            return f"({values[0]} {_WORDED.get(key, key.upper())} {values[1]})"
        if len(values) == 1 and key in _PREFIX:
            return f"({_PREFIX[key]} {values[0]})"
        if len(values) == 1 and key in _SUFFIX:
            return f"({values[0]} {_SUFFIX[key]})"
        if key == "in" and len(values) > 1:
            return f"({values[0]} IN ({', '.join(values[1:])}))"
        distinct = "DISTINCT " if node.isDistinct() else ""
        if not all(_PLAIN_NAME.fullmatch(part) for part in name.split(".")):
            raise UnsupportedStatementError(
                f"the column {node.sql()} (in {what})", hint="Give the expression as SQL text."
            )
        return f"{name}({distinct}{', '.join(values)})"

    def _field(self, node: JavaObject, what: str) -> str:
        if _kind(node) != "Alias":
            return self._text(node, what)
        return f"{self._text(node.child(), what)} AS {_quoted(_items(node.name()))}"

    def _case(self, node: JavaObject, what: str) -> str:
        pairs = [branch.productIterator() for branch in _items(node.branches())]
        branches = "".join(f" WHEN {self._text(p.next(), what)} THEN {self._text(p.next(), what)}" for p in pairs)
        otherwise = node.otherwise()
        last = f" ELSE {self._text(otherwise.get(), what)}" if otherwise.isDefined() else ""
        return f"CASE{branches}{last} END"

    def _resolved(self, expression: JavaObject, what: str) -> str:
        """Write a column that a DataFrame has resolved, as in ``frame["a"]`` or ``frame["a.b"]``."""
        match _kind(expression):
            case "Alias":
                return self._resolved(expression.child(), what)
            case "GetStructField":
                name = expression.childSchema().fields()[expression.ordinal()].name()
                return f"{self._resolved(expression.child(), what)}.{quote_name(str(name))}"
            case "AttributeReference":
                return self._attribute(expression)
        raise UnsupportedStatementError(
            f"the column {str(expression.sql())[:80]} (in {what})",
            hint="A user-defined function is no SQL text. Compute its value in the source.",
        )

    def _attribute(self, attribute: JavaObject) -> str:
        identity = str(attribute.exprId())
        source, target = self.source.get(identity), self.target.get(identity)
        if source is not None and target is not None:
            # the source derives from the target's DataFrame, so that only the name remains.
            return _quoted([*_items(attribute.qualifier()), str(attribute.name())])
        found = source or target
        if found is None:
            name = ".".join(map(str, (*_items(attribute.qualifier())[-1:], attribute.name())))
            raise AnalysisError(
                "DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT",
                f"The column {name} belongs to a DataFrame that is neither the source nor the target of this merge. "
                'Take it of the source that is merged, or name it: col("s.id").',
            )
        return found


def columns_of(frame: DataFrame, unnamed: str) -> dict[str, str]:
    """List a DataFrame's columns: Spark's identity of each, and its qualified name in backticks.

    Args:
        frame: a DataFrame of classic Spark; of Spark Connect, nothing is listed.
        unnamed: the qualifier if not all columns have the same one.
    """
    if not isinstance(frame, ClassicDataFrame):
        return {}
    columns = _items(frame._jdf.queryExecution().analyzed().output())  # noqa: SLF001 - Spark shows no qualifiers else
    qualifiers = {tuple(map(str, _items(column.qualifier()))) for column in columns}
    common = qualifiers.pop() if len(qualifiers) == 1 else ()
    qualifier = common[-1] if common else unnamed
    return {str(column.exprId()): _quoted([qualifier, str(column.name())]) for column in columns}


def _quoted(parts: Sequence[object]) -> str:
    return ".".join(quote_name(str(part)) for part in parts)


def _kind(node: JavaObject) -> str:
    return str(node.getClass().getSimpleName())


def _items(sequence: JavaObject) -> list[JavaObject]:
    """Read a sequence of Scala."""
    return [sequence.apply(place) for place in range(sequence.length())]
