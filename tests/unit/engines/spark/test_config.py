"""Where Spark runs: the allowed URLs, the order of precedence, and the message for each mistake."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from mergecheck.harness.engines.spark.config import (
    MASTER_VARIABLE,
    REMOTE_VARIABLE,
    TABLE_ROOT_VARIABLE,
    SparkPlace,
    current_place,
    place_options,
    spark_place,
    use_place,
)
from mergecheck.harness.engines.spark.workers import package_of_merge, require_answer
from mergecheck.harness.verdict import EngineDownError, UserInputError


def test_spark_runs_here_unless_told_otherwise() -> None:
    place = spark_place(environment={})
    assert (place.url, place.is_here, place.table_root, place.addresses) == ("local[2]", True, None, ())


@pytest.mark.parametrize(
    ("given", "is_here", "addresses", "is_loopback"),
    [
        ({"master": "local"}, True, (), True),
        ({"master": "local[*]"}, True, (), True),
        ({"master": "spark://a:7077,b:7078"}, False, (("a", 7077), ("b", 7078)), False),
        ({"master": "spark://127.0.0.1:7077"}, False, (("127.0.0.1", 7077),), True),
        ({"remote": "sc://localhost"}, False, (("localhost", 15002),), True),
        ({"remote": "sc://h:9/;token=x;user_id=y"}, False, (("h", 9),), False),
    ],
)
def test_urls_of_both_kinds(
    given: dict[str, str], addresses: tuple[tuple[str, int], ...], *, is_here: bool, is_loopback: bool
) -> None:
    place = spark_place(**given, environment={})  # type: ignore[arg-type] # options by name
    assert (place.is_here, place.addresses, place.is_loopback) == (is_here, addresses, is_loopback)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"master": "sc://h:1"}, "Spark Connect server is given by --remote sc://h:1"),
        ({"master": "spark://h"}, "Allowed: spark://HOST:PORT"),
        ({"master": "localhost"}, "Allowed: spark://HOST:PORT"),
        ({"remote": "spark://h:1"}, "standalone cluster is given by --master spark://h:1"),
        ({"remote": "sc://"}, "Allowed: sc://HOST:PORT"),
        ({"remote": "sc://h:port"}, "Allowed: sc://HOST:PORT"),
        ({"master": "local", "remote": "sc://h"}, "--master and --remote are both given"),
        ({"table_root": "gs://bucket/tables"}, "storage by gs:// is not supported. Allowed: a directory"),
        ({"table_root": "s3a:///tables"}, "no bucket in the path"),
        ({"table_root": "hdfs:/tables"}, "a scheme without //. Allowed: a directory"),
        ({"table_root": "/no/such/place"}, "mkdir -p /no/such/place"),
    ],
)
def test_what_is_no_place(given: dict[str, str], message: str) -> None:
    """The message has the given value, the allowed ones and the next step."""
    with pytest.raises(UserInputError, match=r"(local|spark://h|sc://|gs://|s3a://|hdfs:/|/no/such)") as caught:
        spark_place(**given, environment={})  # type: ignore[arg-type] # options by name
    assert message in str(caught.value)


def test_options_go_before_variables(tmp_path: Path) -> None:
    """One option takes the place of both variables, which cannot both be set otherwise."""
    variables = {MASTER_VARIABLE: "spark://m:1", REMOTE_VARIABLE: "sc://r:2", TABLE_ROOT_VARIABLE: str(tmp_path)}
    assert spark_place(master="local[3]", environment=variables) == SparkPlace(master="local[3]", table_root=tmp_path)
    assert spark_place(remote="sc://o:3", environment=variables).url == "sc://o:3"
    with pytest.raises(UserInputError, match=f"variables {MASTER_VARIABLE} and {REMOTE_VARIABLE} are both given"):
        spark_place(environment=variables)
    assert spark_place(environment={REMOTE_VARIABLE: "sc://r:2", MASTER_VARIABLE: ""}).url == "sc://r:2"


def test_a_table_root_is_a_directory_or_its_uri(tmp_path: Path) -> None:
    root = tmp_path / "two words"
    root.mkdir()
    for text in (str(root), root.as_uri()):
        assert spark_place(table_root=text, environment={}).table_root == root


def test_the_place_is_the_process_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A choice stays, and is written so that the same command can be given again, but for a secret."""
    monkeypatch.setattr("mergecheck.harness.engines.spark.config._Chosen.place", None)
    assert current_place() == spark_place()
    use_place(SparkPlace(remote="sc://h:1/;token=a b;user_id=u", table_root=tmp_path))
    assert place_options() == (("remote", "sc://h:1/;token=TOKEN;user_id=u"), ("table-root", str(tmp_path)))
    use_place(SparkPlace(master="spark://h:1"))
    assert (current_place().url, place_options()) == ("spark://h:1", (("master", "spark://h:1"),))


def test_nobody_there_is_told_at_once() -> None:
    """Spark would try for minutes; one answer of several is enough."""
    with socket.create_server(("127.0.0.1", 0)) as there, socket.create_server(("127.0.0.1", 0)) as once:
        port, gone = there.getsockname()[1], once.getsockname()[1]
        once.close()
        require_answer(SparkPlace(master=f"spark://127.0.0.1:{gone},127.0.0.1:{port}"))
        with pytest.raises(EngineDownError, match=rf"nobody answers at sc://127\.0\.0\.1:{gone} .*On a cluster"):
            require_answer(SparkPlace(remote=f"sc://127.0.0.1:{gone}"))


def test_workers_get_all_of_merge(tmp_path: Path) -> None:
    """The package can be imported from the zip file alone."""
    package = package_of_merge(tmp_path)
    program = (
        f"import sys; sys.path[:0] = [{str(package)!r}, {str(Path(pa.__file__).parents[1])!r}]\n"
        "import mergecheck.merge.table.writing.writer; print(mergecheck.merge.table.writing.writer.__file__)"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)  # noqa: S603 - this interpreter
    assert done.stdout.startswith(str(package))
