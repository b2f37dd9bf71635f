"""The front door for Python: one case, evaluated, explained or checked in one call.

Nothing is kept between calls and nothing is written. ``Checker`` has all that can be chosen.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from mergecheck import strategies
from mergecheck.harness.checker import NONE_KNOWN, Checker
from mergecheck.harness.configuration.trust.case import require_harmless
from mergecheck.harness.deviations.deviation_file import load_deviations
from mergecheck.harness.engines.spark_values.on_demand import SparkNotStarted
from mergecheck.harness.explanation.explanation_text import MOST_EVALUATED_PAIRS, why_lines
from mergecheck.harness.lab.conformance import Result
from mergecheck.harness.lab.conformance import conform as conform_by
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.processes.time_limit import DEFAULT_SECONDS, TimeLimit
from mergecheck.harness.properties.source_tables import most_source_rows
from mergecheck.harness.report.render import printable, settings_lines, statement_lines, table_lines
from mergecheck.harness.search.session import cases_for, open_engine, reference_for
from mergecheck.harness.variants.saved import check_saved
from mergecheck.harness.variants.variant import without_variant
from mergecheck.model.formatting import LINE_WIDTH
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hypothesis.strategies import SearchStrategy

    from mergecheck.harness.engine import Engine
    from mergecheck.harness.verdict import CaseReport
    from mergecheck.model.case import Case
    from mergecheck.model.outcome import Prediction, Rejection, Unsupported
    from mergecheck.reference.answer import Reference
    from mergecheck.strategies import Profile


def evaluate(case: Case) -> Prediction | Rejection | Unsupported:
    """Return the reference's answer to a case, evaluated in DuckDB.

    Args:
        case: the tables, the statement and the settings.

    Returns:
        A ``Prediction`` (rows, schema, metrics, change feed; several allowed values are a bound), the
        ``Rejection`` that Delta Lake must answer with, or ``Unsupported`` with the reason, for example an expression
        that DuckDB does not evaluate.
    """
    return MergeReference(SparkNotStarted()).evaluate(without_variant(case)).answer


def explain(case: Case) -> str:
    """Explain row by row how a case comes to its result, as ``mergecheck explain`` does.

    Args:
        case: the tables, the statement and the settings.

    Returns:
        A text of some lines: the tables, the statement, what became of each row and why, with the rules' numbers.
    """
    lines = [*table_lines(case, width=LINE_WIDTH), *settings_lines(case), ""]
    lines += [*statement_lines(case.sql, width=LINE_WIDTH), "", *why_lines(case, _evaluated(case), width=LINE_WIDTH)]
    return "\n".join(printable(line).rstrip() for line in lines)


def _evaluated(case: Case) -> Reference:
    num_pairs = len(case.target.rows) * most_source_rows(case)
    reference = MergeReference(SparkNotStarted())
    return reference.evaluate(without_variant(case), every_pair=num_pairs <= MOST_EVALUATED_PAIRS)


def cases(engine: Engine | type[Engine] | None = None, *, profile: Profile | None = None) -> SearchStrategy[Case]:
    """Return a Hypothesis strategy of cases; about one in eight must be rejected.

    A test has few examples, so most of an engine's have NULL keys, which executors get wrong first.

    They shrink to one INSERT clause over ``t.id = s.id``, with few rows of simple values, one file and no settings.

    Args:
        engine: an engine or its class, whose ``capabilities`` name the features that no case has (``features_off``) and
            the switches whose settings cases may carry (``axes``); None draws every feature that does not need an
            engine's consent.
        profile: which features cases have, and how large their tables are, in place of an engine's.

    Raises:
        UserInputError: if the capabilities name an unknown feature.
    """
    if profile is not None or engine is None:
        return strategies.cases(profile=profile or strategies.DEFAULT_PROFILE)
    many_null_keys = frozenset({strategies.Feature.NULL_KEYS.value, strategies.Feature.MANY_NULL_KEYS.value})
    return cases_for(engine, focus=many_null_keys - engine.capabilities.features_off)


def check(
    case: Case,
    engine: Engine | str,
    *,
    known_deviations: bool = True,
    trust: bool = False,
    seconds: float = DEFAULT_SECONDS,
) -> CaseReport:
    """Run a case on an engine and compare every observable with the reference.

    Args:
        case: the tables, the statement and the settings.
        engine: an engine that runs, which stays open; or a name as ``load_engine`` takes it, whose engine is started
            and closed. Start an engine once to check several cases.
        known_deviations: whether a difference that an entry of mergecheck's own explains carries that entry's id.
        trust: whether a case may run that is not shown to touch only its own tables; for cases of your own.
        seconds: how long the engine may take.

    Returns:
        The report: ``verdict``, ``mismatches``, ``reason``, ``deviations``; ``mismatch_report`` makes it a text.

    Raises:
        UserInputError: if there is no such engine, or if the case needs ``trust``.
        MissingExtraError: if the engine needs packages that are not installed; the message has the command.
        EngineDownError: if the engine does not start. One that fails while it runs the case is the verdict
            ``ENGINE_ERROR``.
    """
    if not trust:
        require_harmless(case, "check", advice="For a case of your own, give trust=True.")
    limit = TimeLimit(seconds=seconds)
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(open_engine(engine, limit)) if isinstance(engine, str) else engine
        checker = Checker(
            engine=running,
            deviations=load_deviations() if known_deviations else NONE_KNOWN,
            reference=reference_for(running, starts_spark=True).evaluate,
            limit=limit,
        )
        return check_saved(case, checker)


def conform(engine: Engine) -> Iterator[Result]:
    """Run the fixed conformance suite on an engine.

    Args:
        engine: an engine that runs; it stays open.

    Returns:
        One result per case, as they are checked: ``feature``, ``name``, ``mark`` (``Mark``) and ``report``.
    """
    return conform_by(engine, check_case)
