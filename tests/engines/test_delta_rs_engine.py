"""The engine ``delta-rs`` on the installed release: its results of a merge, and its failures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mergecheck.harness.engine import Engine, PrecheckingEngine
from mergecheck.harness.engines.delta_rs import engine as delta_rs
from mergecheck.harness.engines.delta_rs.engine import DeltaRsEngine, error_class
from mergecheck.harness.engines.delta_rs.releases import features_off, feed_takes_comments, requirements
from mergecheck.harness.engines.subprocess_worker import WorkerLostError, WorkerTimeoutError
from mergecheck.harness.lab.concurrency.enumerate import enumerate_interleavings
from mergecheck.harness.lab.concurrency.history import EndingKind
from mergecheck.harness.lab.concurrency.interleaving_text import Tally
from mergecheck.harness.lab.concurrency.scenarios import scenarios
from mergecheck.harness.lab.concurrency.tables import RefusedError
from mergecheck.harness.oracles.reference_oracle import check_case
from mergecheck.harness.search.session import WARM_UP, cases_for
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.case import CDF_PROPERTY, Case, Source, Target
from mergecheck.model.outcome import Outcome, Rejection, Unsupported
from mergecheck.model.storage import SourceLayout, StringType
from mergecheck.model.types.ddl import parse_schema
from mergecheck.reference import MergeReference

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = parse_schema("id INT, v STRING")


@pytest.fixture(scope="module")
def engine() -> Iterator[DeltaRsEngine]:
    """Give the installed release."""
    started = DeltaRsEngine()
    yield started
    started.close()


def case(sql: str, **given: Any) -> Case:
    """Return a case of two and two rows, of which one matches."""
    return Case(
        id="x",
        target=Target(
            schema=given.get("schema", SCHEMA),
            files=(((1, "a"),), ((2, "b"),)),
            partition_by=given.get("partition_by", ()),
            properties=given.get("properties", {}),
        ),
        source=Source(
            schema=SCHEMA, rows=given.get("rows", ((2, "x"), (3, "y"))), layout=given.get("layout", SourceLayout())
        ),
        sql=f"MERGE INTO target t USING source s ON t.id = s.id {sql}",
        conf=given.get("conf", {}),
    )


def test_it_is_an_engine(engine: DeltaRsEngine) -> None:
    """Every feature that it leaves out exists."""
    assert isinstance(engine, Engine)
    cases_for(engine)


def test_a_merge_shows_rows_metrics_and_changes(engine: DeltaRsEngine) -> None:
    """What can be compared is there; the warm-up case has a change feed."""
    result = engine.run(WARM_UP)
    assert isinstance(result, Outcome)
    assert sorted(result.rows) == [(1, "x"), (2, "b"), (3, "y")]
    assert (result.metrics["numTargetRowsUpdated"], result.metrics["numTargetRowsInserted"]) == (1, 1)
    assert sorted(row[-1] for row in result.cdf or ()) == ["insert", "update_postimage", "update_preimage"]
    assert result.committed is True
    # delta-rs counts change files as files of the table; all else agrees
    assert {mismatch.kind for mismatch in check_case(WARM_UP, engine).mismatches} <= {"P-10-files"}


def test_what_cannot_be_said_is_refused_beforehand(engine: DeltaRsEngine) -> None:
    """With the words of the run, which then need not begin."""
    assert isinstance(engine, PrecheckingEngine)
    nested = case("WHEN MATCHED AND array(1) = array(s.id) THEN DELETE")
    assert engine.unsupported_reason(nested) == engine.run(nested) == Unsupported("function array")
    assert engine.unsupported_reason(WARM_UP) is None


MAPPED = {"delta.columnMapping.mode": "name"}


def test_what_it_does_not_do_yet_with_column_mapping_is_unsupported(engine: DeltaRsEngine) -> None:
    """It refuses evolution, and to read the feed, which the log and the files show all the same."""
    evolving = case("WHEN NOT MATCHED THEN INSERT *", properties=MAPPED)
    evolving = replace(evolving, sql=evolving.sql.replace("MERGE INTO", "MERGE WITH SCHEMA EVOLUTION INTO"))
    assert engine.run(evolving) == Unsupported("that merge of a table with column mapping")
    recorded = engine.run(case("WHEN MATCHED THEN DELETE", properties={**MAPPED, CDF_PROPERTY: "true"}))
    assert isinstance(recorded, Outcome)
    assert recorded.cdf == ((2, "b", "delete"),)


@pytest.mark.parametrize("string_type", list(StringType))
@pytest.mark.parametrize("stream", ["false", "true"])
def test_sources_of_every_layout_arrive(engine: DeltaRsEngine, string_type: StringType, stream: str) -> None:
    """Batches of one row have dictionaries of their own, which a stream may replace."""
    layout = SourceLayout(batch_rows=1, string_type=string_type)
    result = engine.run(
        case(
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            layout=layout,
            conf={"delta-rs.stream": stream},
        )
    )
    assert isinstance(result, Outcome)
    assert sorted(result.rows) == [(1, "a"), (2, "x"), (3, "y")]


def test_a_failed_merge_is_a_rejection_that_looked_at_the_table(engine: DeltaRsEngine) -> None:
    """A NOT NULL column cannot take NULL; the class is the exception and its first words."""
    schema = parse_schema("id INT, v STRING NOT NULL")
    result = engine.run(case("WHEN MATCHED THEN UPDATE SET v = NULL", schema=schema))
    assert isinstance(result, Rejection)
    assert result.unchanged is True
    assert result.error_class.split(":")[0] in result.message


def test_a_merge_without_effect_tells_nothing_of_versions(engine: DeltaRsEngine) -> None:
    """delta-rs makes no version where Delta may make one, so the check is not made."""
    result = engine.run(case("WHEN MATCHED AND t.v = 'z' THEN DELETE"))
    assert isinstance(result, Outcome)
    assert result.committed is None


def test_what_it_cannot_say_is_unsupported(engine: DeltaRsEngine) -> None:
    """The reason can be counted."""
    assert engine.run(case("WHEN MATCHED AND length(t.v) = 1 THEN DELETE")) == Unsupported("function length")
    assert engine.run(case("WHEN MATCHED THEN DELETE", conf={"delta-rs.no_such_option": "true"})) == Unsupported(
        "option no_such_option"
    )


@pytest.mark.parametrize(
    ("raised", "error"), [(WorkerLostError("signal 6"), "CRASHED"), (WorkerTimeoutError("60 s"), "TIMED_OUT")]
)
def test_a_lost_process_is_an_answer(raised: Exception, error: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash or a hang while merging is the fault of the system under test."""
    started = DeltaRsEngine()

    def ask(*_: Any, **__: Any) -> dict[str, Any]:
        raise raised

    monkeypatch.setattr(started._worker, "ask", ask)
    result = started.run(WARM_UP)
    assert isinstance(result, Rejection)
    assert (result.error_class, result.unchanged) == (error, True)
    started.close()


def test_an_error_is_named_without_what_differs_from_case_to_case() -> None:
    """Two cases with one cause must have one fingerprint."""
    first = error_class("DeltaError", "Schema error: No field named t.\"x\". Valid fields are s.id, 'a'.\nmore")
    second = error_class("DeltaError", "Schema error: No field named t.\"y 1\". Valid fields are s.id, 'b'.")
    assert first == second == "DeltaError: Schema error No field named t Valid fields"


@pytest.mark.parametrize("version", ["newest", "1", "1.6.x", "../1.0.0"])
def test_what_is_no_version_is_refused(version: str) -> None:
    """Before anything is installed."""
    with pytest.raises(UserInputError, match=r"no version of delta-rs"):
        DeltaRsEngine.at_version(version)


def test_old_releases_get_what_they_were_made_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """They pin neither pyarrow nor numpy, and fail to import with today's."""
    assert requirements("0.12.0") == ["deltalake==0.12.0", "pyarrow<16", "numpy<2"]
    assert requirements("1.6.0")[0] == "deltalake==1.6.0"
    assert [feed_takes_comments(version) for version in ("0.18.2", "0.19.1", "0.24.0", "0.25.5", "1.6.0")] == [
        True,
        False,
        False,
        True,
        True,
    ]
    assert "schema-evolution" in features_off(["writer_properties"])
    assert "schema-evolution" not in features_off(["writer_properties", "merge_schema"])
    asked: list[tuple[str, str, list[str]]] = []

    def made(name: str, version: str, needs: list[str]) -> Any:
        asked.append((name, version, needs))
        import sys  # noqa: PLC0415 - the interpreter of this very run stands for the environment's
        from pathlib import Path  # noqa: PLC0415

        return Path(sys.executable)

    monkeypatch.setattr(delta_rs, "environment_python", made)
    older = DeltaRsEngine.at_version("1.6.0")
    assert asked == [("delta-rs", "1.6.0", requirements("1.6.0"))]
    assert older.version == "1.6.0"
    older.close()


@pytest.mark.parametrize(
    ("name", "num_committed", "num_lost"),
    [
        ("update-update", 6, 2),
        ("insert-insert", 4, 2),
        ("ranges", 8, 0),  # Delta Lake gives up here, and need not
        ("append-only", 4, 1),  # in the third order it reads that the table is append-only, and fails
    ],
)
def test_every_interleaving_equals_a_serial_order(
    engine: DeltaRsEngine, name: str, num_committed: int, num_lost: int
) -> None:
    tally = Tally(next(one for one in scenarios() if one.name == name))
    for one in enumerate_interleavings(tally.scenario, engine, MergeReference()):
        tally.add(one)
    assert tally.findings == []
    assert (tally.endings[EndingKind.COMMITTED], tally.endings[EndingKind.CONFLICT]) == (num_committed, num_lost)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tracked-partitions", "a table protocol"),  # no conflict, though a commit fails
        ("counter", "a source that reads the target"),
    ],
)
def test_what_it_cannot_do_has_no_interleavings(engine: DeltaRsEngine, name: str, why: str) -> None:
    scenario = next(one for one in scenarios() if one.name == name)
    with pytest.raises(RefusedError, match=f"does not support the merge a: {why}"):
        next(enumerate_interleavings(scenario, engine, MergeReference()))
