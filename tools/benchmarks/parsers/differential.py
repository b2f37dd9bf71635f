"""Both parsers of MERGE against Spark's own: ``python -m tools.benchmarks.parsers.differential --texts 20000``.

Each text is given to Spark's parser, to the reference's and to the engine's. All accept it, or all refuse it. What a
parser accepts is written again from its values, with brackets, and Spark must read the same plan in it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any

import click
from sqlglot import exp

from mergecheck.harness.engines.spark.session import PLANS_DESCRIBED, settings_of, start_session
from mergecheck.harness.engines.statement_forms import in_sql_order
from mergecheck.merge.errors import AnalysisError, UnsupportedStatementError
from mergecheck.merge.syntax.expression_reader import parse_expression, span
from mergecheck.merge.syntax.parser import parse_merge
from mergecheck.model.errors import RejectedError, UnsupportedByReferenceError
from mergecheck.reference.syntax.merge_text import plain_merge
from mergecheck.reference.syntax.statement import parse_statement
from tools.benchmarks.parsers.texts import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from mergecheck.merge.syntax.statement import Clause as EngineClause

_NUMBERS = re.compile(r"#\d+L?")
# the reference writes CURRENT_PATH, a word of Spark's grammar, as the call that it means
_REWRITTEN = re.compile(r"^\s*WITH\b|\(\s*(?:VALUES|TABLE)\b|\bCURRENT_PATH\b", re.IGNORECASE)
_OPERANDS = (exp.Identifier, exp.Dot, exp.Bracket, exp.Cast, exp.Collate, exp.Subquery, exp.DataType)
_FIELDS = {"spark.sql.debug.maxToStringFields": "10000"}


PARSERS = ("reference", "engine")


@dataclass(slots=True)
class Comparison:
    """What became of all texts.

    Attributes:
        differences: parser, what differs, text.
    """

    num_texts: int = 0
    num_accepted: int = 0
    unsupported: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SparkParser:
    """Spark's parser; PySpark has no public name for a plan that is only parsed."""

    session: SparkSession

    def plan(self, text: str) -> str | None:
        """Give the parsed plan of a MERGE as text; None if Spark refuses the text, or it is no MERGE."""
        java: Any = self.session._jsparkSession  # noqa: SLF001 - PySpark has no public way to a plan that is only parsed
        try:
            plan = java.sessionState().sqlParser().parsePlan(text).toString()
        except Exception:  # noqa: BLE001 - any refusal, of whatever class of the JVM's
            return None
        return _NUMBERS.sub("#", plan) if "MergeIntoTable" in plan else None


def reference_reading(text: str, _: str | None) -> str | None:
    """Write the statement as the reference reads it; None if it refuses the text."""
    try:
        parse_statement(text)
        return plain_merge(text)
    except RejectedError:
        return None


def engine_reading(text: str, plan: str | None) -> str | None:
    """Write the statement as the engine reads it; None if it refuses the text.

    Raises:
        UnsupportedStatementError: if Spark, whom the engine asks, has a plan for a text that the engine does not read.
    """
    try:
        read = parse_merge(text)
    except AnalysisError as error:
        if plan is None:
            return None
        raise UnsupportedStatementError(f"a text that Spark reads ({error.error_class})") from error
    aliases = [f" AS `{alias}`" if alias else "" for alias in (read.target_alias, read.source_alias)]
    clauses = "".join(map(_engine_clause, read.clauses))
    evolution = "WITH SCHEMA EVOLUTION " if read.with_schema_evolution else ""
    tables = f"INTO {read.target}{aliases[0]} USING {read.source}{aliases[1]}"
    return f"MERGE {evolution}{tables} ON ({bracketed(read.condition)}){clauses}"


def bracketed(text: str) -> str:
    """Write an expression with brackets around each operation that the engine reads, and quotes around its columns."""
    tree = parse_expression(text)
    edits: dict[int, list[str]] = {}
    for node in tree.walk(prune=lambda node: isinstance(node, exp.DataType)):
        if isinstance(node, exp.Column):
            for part in node.parts:
                if isinstance(part, exp.Identifier) and not part.args["quoted"]:
                    _mark(edits, part, "`")
        elif "start" in node.meta and not isinstance(node, _OPERANDS):
            _mark(edits, node, "(", ")")
    return "".join("".join(edits.get(place, ())) + sign for place, sign in enumerate(f"{text} "))


def _mark(edits: dict[int, list[str]], node: exp.Expr, opening: str, closing: str = "") -> None:
    """Put signs around a node: closing ones before opening ones, and inner ones inside outer ones."""
    start, end = span(node)
    edits.setdefault(start, []).append(opening)
    edits.setdefault(end, []).insert(0, closing or opening)


def _engine_clause(clause: EngineClause) -> str:
    condition = None if clause.condition is None else bracketed(clause.condition)
    given = [(".".join(f"`{part}`" for part in one.target), bracketed(one.value)) for one in clause.assignments]
    return _clause(clause.kind.value, clause.action.value, condition or "", given, star=clause.star)


def _clause(kind: str, action: str, condition: str, given: list[tuple[str, str]], *, star: bool) -> str:
    head = f" WHEN {kind}{f' AND ({condition})' if condition else ''} THEN {action.upper()}"
    if action == "delete":
        return head
    if action == "update":
        return f"{head} SET {'*' if star else ', '.join(f'{name} = ({value})' for name, value in given)}"
    names, values = ", ".join(name for name, _ in given), ", ".join(f"({value})" for _, value in given)
    return f"{head} {'*' if star else f'({names}) VALUES ({values})'}"


def compare(given: Iterable[str], session: SparkSession, *, parsers: Sequence[str] = PARSERS) -> Comparison:
    """Compare parsers with Spark's on texts."""
    found = Comparison()
    spark = SparkParser(session)
    with settings_of(session, {**PLANS_DESCRIBED, **_FIELDS}):
        for text in given:
            found.num_texts += 1
            plan = spark.plan(text)
            found.num_accepted += plan is not None
            for name in parsers:
                _one(found, _Given(parser=name, text=text, plan=plan, read=_READERS[name]), spark)
    return found


_READERS = {"reference": reference_reading, "engine": engine_reading}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    parser: str
    text: str
    plan: str | None
    read: Callable[[str, str | None], str | None]


def _one(found: Comparison, given: _Given, spark: SparkParser) -> None:
    name, text, plan = given.parser, given.text, given.plan
    try:
        again = given.read(text, plan)
    except (UnsupportedByReferenceError, UnsupportedStatementError) as error:
        found.unsupported[name] += 1
        found.reasons[f"{name}: {error}"] += 1
        return
    except Exception as error:  # noqa: BLE001 - a defect of a parser is a difference
        found.differences.append((name, f"raises {type(error).__name__}", text))
        return
    if again is None or plan is None:
        if (again is None) is not (plan is None) and not _is_explained(text, again, name, spark):
            found.differences.append((name, "refuses" if again is None else "accepts", text))
    elif not _REWRITTEN.search(text) and spark.plan(again) != plan:
        found.differences.append((name, f"reads {again}", text))


def _is_explained(text: str, again: str | None, name: str, spark: SparkParser) -> bool:
    """Return whether Spark refuses a text with reason that a parser accepts.

    The reference leaves the order of the kinds of clauses open (R-102). The engine leaves queries and literals to
    Spark, which runs them.
    """
    if again is None:
        return False
    return spark.plan(in_sql_order(text)) is not None if name == "reference" else spark.plan(again) is None


@click.command()
@click.option("--texts", "num_texts", default=20_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--skip", default=0, help="Leave out so many texts of the seed, to compare its texts in several runs.")
@click.option("--parser", "parsers", type=click.Choice(PARSERS), multiple=True, default=PARSERS, show_default=True)
def main(num_texts: int, seed: int, skip: int, parsers: tuple[str, ...]) -> None:
    """Compare the parsers and print the counts and the differences."""
    given = islice(texts(Random(seed)), skip, skip + num_texts)  # noqa: S311 - texts, no secrets
    found = compare(given, start_session(), parsers=parsers)
    click.echo(f"{found.num_texts} texts, {found.num_accepted} accepted by Spark")
    for name in parsers:
        own = [difference for difference in found.differences if difference[0] == name]
        share = found.unsupported[name] / max(1, found.num_texts)
        click.echo(f"{name}: {len(own)} differences, {found.unsupported[name]} unsupported ({share:.1%})")
        for _, what, text in own[:40]:
            click.echo(f"  {what}\n    {text}")
    for reason, number in found.reasons.most_common(12):
        click.echo(f"  {number} {reason}")
    sys.exit(bool(found.differences))


if __name__ == "__main__":
    main()
