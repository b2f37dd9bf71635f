"""Classes of the JVM that are looked up once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest import mock

from py4j.java_gateway import GatewayClient, JavaClass, JavaPackage

from mergecheck.harness.spark.java_classes import remember_classes
from mergecheck.merge.table.storage.workers import run_in_workers

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession


def test_a_merge_asks_for_no_class_by_its_name(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """What PySpark calls in each query is there already; a lookup would be a message that begins with "r" and "u"."""
    asked: list[str] = []
    client: Any = spark._sc._gateway._gateway_client
    send = type(client).send_command

    def listening(self: GatewayClient, command: str, *rest: Any, **options: Any) -> Any:
        asked.append(command)
        return send(self, command, *rest, **options)

    monkeypatch.setattr(type(client), "send_command", listening)
    frame = spark.range(3).selectExpr("id + 1 AS n").coalesce(1)
    assert len(run_in_workers(frame, lambda batches: batches, "n BIGINT").collect()) == 3
    assert asked
    assert [command for command in asked if command.startswith("r\nu\n")] == []


def test_a_name_that_means_no_class_is_left_alone() -> None:
    """Another release of Spark may call a class otherwise; then PySpark asks as before."""
    session: Any = mock.MagicMock()
    jvm = session.sparkContext._jvm = mock.MagicMock()
    package = mock.MagicMock(spec=JavaPackage)
    known = mock.MagicMock(spec=JavaClass)
    jvm.PythonUtils, jvm.functions = package, known
    known.expr = known.col = known.lit = known.broadcast = mock.sentinel.method
    remember_classes(session)
    assert jvm.PythonUtils is package
    assert jvm.functions is known


def test_lists_of_texts_arrive_as_they_are(spark: SparkSession) -> None:
    """Whether they go over in one message or one by one: the JVM gets the same list."""
    jvm: Any = spark._sc._jvm
    for given in (["a", "b c", "d,e", "'f'"], ("x",), [], ["", "a"], ["a\0b"]):
        seq = jvm.PythonUtils.toSeq(given)
        assert [seq.apply(i) for i in range(seq.size())] == list(given)
    frame = spark.range(1).selectExpr("id", "'a,b' AS t", *(f"{n} AS c{n}" for n in range(12)))
    assert frame.collect()[0].asDict() == {"id": 0, "t": "a,b", **{f"c{n}": n for n in range(12)}}
