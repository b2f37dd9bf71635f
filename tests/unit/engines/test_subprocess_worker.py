"""The child process of an engine: requests and answers, its loss, its silence, and the start of the next one."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mergecheck.harness.compare.answers.rejections import BREAKDOWNS
from mergecheck.harness.engines.duckdb.worker import __file__ as duckdb_worker
from mergecheck.harness.engines.subprocess_worker import WorkerLostError, WorkerProcess, WorkerTimeoutError
from mergecheck.harness.verdict import EngineDownError
from mergecheck.model.outcome import Rejection

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = """
    import json, os, sys, time
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "die":
            print("the last words", file=sys.stderr, flush=True)
            os._exit(7)
        if request["do"] == "abort":
            os.abort()
        if request["do"] == "fill":
            bytearray(request["bytes"])
        if request["do"] == "sleep":
            time.sleep(60)
        print(json.dumps({"pid": os.getpid(), "got": request}), flush=True)
"""


STOPS = """
    import json, sys
    for line in sys.stdin:
        request = json.loads(line)
        stops = request["do"] == "merge"
        print(json.dumps({"stopped": True} if stops else {"ended by": request}), flush=True)
"""


def script(tmp_path: Path, text: str) -> Path:
    """Write a worker's script."""
    path = tmp_path / "worker.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerProcess]:
    """Give a worker that repeats its request."""
    process = WorkerProcess(Path(sys.executable), script(tmp_path, SCRIPT))
    yield process
    process.close()


def test_one_child_answers_all_requests(worker: WorkerProcess) -> None:
    """Starting a child per case would cost more than the case; text crosses as it is."""
    first = worker.ask({"do": "echo", "text": "é\n\u2028"}, timeout=10)
    second = worker.ask({"do": "echo"}, timeout=10)
    assert first["got"]["text"] == "é\n\u2028"
    assert first["pid"] == second["pid"]


def test_a_lost_or_late_child_is_an_answer_that_is_never_right(worker: WorkerProcess) -> None:
    """Its class is one that even a statement which must be refused does not excuse."""
    for what, seconds in (("die", 10.0), ("sleep", 0.5)):
        answer = worker.answer({"do": what}, timeout=seconds)
        assert isinstance(answer, Rejection)
        assert answer.error_class in BREAKDOWNS
    assert isinstance(worker.answer({"do": "echo"}, timeout=10), dict)


def test_a_child_that_dies_says_its_last_words_and_is_replaced(worker: WorkerProcess) -> None:
    """The message must lead to the fault; the next case must not suffer from this one."""
    before = worker.ask({"do": "echo"}, timeout=10)["pid"]
    with pytest.raises(WorkerLostError, match=r"exit code 7: the last words"):
        worker.ask({"do": "die"}, timeout=10)
    assert worker.ask({"do": "echo"}, timeout=10)["pid"] != before


def test_an_abort_is_told_by_its_signal(worker: WorkerProcess) -> None:
    """A panic that aborts ends the child by a signal."""
    with pytest.raises(WorkerLostError, match=r"signal 6"):
        worker.ask({"do": "abort"}, timeout=10)


def test_a_child_that_hangs_is_ended_and_its_late_answer_is_nobodys(worker: WorkerProcess) -> None:
    """Whoever asks next gets the answer to their own request."""
    with pytest.raises(WorkerTimeoutError, match=r"within 1 s"):
        worker.ask({"do": "sleep"}, timeout=1)
    assert worker.ask({"do": "echo", "n": 2}, timeout=10)["got"] == {"do": "echo", "n": 2}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can limit another process")
def test_a_child_cannot_take_all_memory(tmp_path: Path) -> None:
    """A fault that asks for too much is the child's own error."""
    limited = WorkerProcess(Path(sys.executable), script(tmp_path, SCRIPT), max_memory=2**30)
    limited.ask({"do": "fill", "bytes": 2**20}, timeout=10)
    with pytest.raises(WorkerLostError, match="MemoryError"):
        limited.ask({"do": "fill", "bytes": 2**30}, timeout=10)
    limited.close()


def test_a_child_that_does_not_start_is_a_dead_engine(tmp_path: Path) -> None:
    """An import that fails is no evidence about a merge."""
    process = WorkerProcess(Path(sys.executable), script(tmp_path, "import no_such_package"))
    with pytest.raises(EngineDownError, match=r"(?s)does not start.*no_such_package"):
        process.ask({"do": "echo"}, timeout=10)


def test_the_scripts_folder_hides_no_package(tmp_path: Path) -> None:
    """An adapter beside the script may bear the name of the library that the script imports."""
    (tmp_path / "json.py").write_text("raise ImportError('the wrong json')", encoding="utf-8")
    process = WorkerProcess(Path(sys.executable), script(tmp_path, SCRIPT))
    assert process.ask({"do": "echo"}, timeout=10)["got"] == {"do": "echo"}
    process.close()


def test_closing_twice_is_allowed(worker: WorkerProcess) -> None:
    """An engine may be closed after its child was lost."""
    worker.ask({"do": "echo"}, timeout=10)
    worker.close()
    worker.close()


def test_an_engines_worker_ends_with_its_parent() -> None:
    """In the middle of a query, too: a killed run must leave nobody who computes."""
    query = "SELECT sum(hash(range)) FROM range(1000000000000)"
    request = {"steps": [{"do": "open", "path": ":memory:"}, {"do": "run", "sql": query}]}
    with subprocess.Popen([sys.executable, "-I", duckdb_worker], stdin=subprocess.PIPE) as child:  # noqa: S603 - ours
        assert child.stdin is not None
        child.stdin.write(json.dumps(request).encode() + b"\n")
        child.stdin.flush()
        time.sleep(0.5)
        assert child.poll() is None
        child.stdin.close()  # as the end of the parent does
        assert child.wait(60) == 0


def test_a_child_that_stops_goes_on_when_it_may(tmp_path: Path) -> None:
    """An error of the one who waits ends the request first, and comes out then."""
    process = WorkerProcess(Path(sys.executable), script(tmp_path, STOPS))
    stops: list[str] = []
    answer = process.answer({"do": "merge"}, timeout=10, at=lambda: stops.append("a"))
    assert answer == {"ended by": {"do": "go on"}}
    assert stops == ["a"]

    def abandoned() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        process.answer({"do": "merge"}, timeout=10, at=abandoned)
    assert process.ask({"do": "echo"}, timeout=10) == {"ended by": {"do": "echo"}}
    process.close()
