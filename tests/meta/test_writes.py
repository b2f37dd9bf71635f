"""One module writes in folders that may be a stranger's; nothing else in the harness makes, replaces or removes files.

What else does so is listed with the reason why no link that a stranger plants can lead it anywhere.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("harness", "strategies", "reference", "model")
WRITERS = "harness/processes/output_files.py"

_TEMPORARY = "in a new folder of its own among the temporary files"
_CACHE = "in the user's cache, which no project holds"
_UPKEEP = "run by those who work on mergecheck, in its own repository"
ELSEWHERE = {
    "harness/configuration/trusted.py": "among the user's own settings, which no project holds",
    "harness/engines/venvs.py": _CACHE,
    "harness/engines/spark/maven_jars.py": _CACHE,
    "harness/engines/spark/class_archive.py": _CACHE,
    "harness/engines/spark/class_archive_writer.py": _TEMPORARY,
    "harness/cli/configuration_schema.py": _UPKEEP,
    "harness/delta/tables/checkpoints.py": "a table in a folder that the harness made",
    "harness/delta/tables/vectors.py": "the same",
    "harness/delta/write.py": "the same",
    "harness/engines/iceberg/shared_table.py": "the same",
    "harness/engines/iceberg/tables.py": "the same",
    "harness/engines/spark_versions/delta.py": "the same",
    "harness/lab/scale/tables/generate.py": "the same",
    "harness/engines/spark/staging.py": "the same",
    "harness/lab/concurrency/race/spark_clients.py": _TEMPORARY,
    "harness/engines/postgres/worker.py": _TEMPORARY,
    "harness/engines/spark_versions/child.py": _TEMPORARY,
    "harness/lab/scale/reduce.py": _TEMPORARY,
    "harness/lab/scale/scale_run.py": "in a new folder of its own under --work",
    "harness/engines/spark/connect.py": _TEMPORARY,
    "harness/engines/spark/session.py": _TEMPORARY,
    "harness/processes/temp_dirs.py": _TEMPORARY,
    "harness/engines/spark/workers.py": "a name that no one can guess, under the table root that the user names",
    "harness/engines/subprocess_worker.py": _TEMPORARY,
    "harness/search/on_spark.py": _TEMPORARY,
}
_NAMES = {
    *("write_text", "write_bytes", "mkdir", "makedirs", "touch", "unlink", "rmdir", "rmtree", "removedirs", "rename"),
    *("renames", "symlink", "symlink_to", "hardlink_to", "mkfifo", "mknod", "truncate", "chmod", "copyfile"),
    *("copytree", "copy2", "move", "mkstemp", "mkdtemp", "TemporaryDirectory", "NamedTemporaryFile", "TemporaryFile"),
}
_OF_MODULE = {"os": {"remove", "replace", "link"}, "shutil": {"copy", "move"}}


def writes(source: str) -> list[str]:
    """Return the calls in a source that write to a file system, by line."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        owner_name = owner.id if isinstance(owner, ast.Name) else ""
        is_ours = owner_name in {"output_files", "formatter"}
        is_ours |= owner is None and name in {"write_text", "remove", "create"}
        if is_ours or {word.arg for word in node.keywords} & {"path_a"}:  # a listener's method of the name touch
            continue
        if name in _NAMES or name in _OF_MODULE.get(owner_name, set()) or _opens_to_write(node, name, owner_name):
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def _opens_to_write(call: ast.Call, name: str, owner: str) -> bool:
    if name != "open":
        return False
    if owner == "os":
        return any(flag in ast.unparse(call) for flag in ("O_CREAT", "O_TRUNC", "O_APPEND"))
    first = 1 if isinstance(call.func, ast.Name) or owner == "io" else 0
    given = [*call.args[first : first + 1], *(word.value for word in call.keywords if word.arg == "mode")]
    # a prefix of an object store is no mode
    return any(isinstance(mode, ast.Constant) and set("wax+") & set(str(mode.value)) for mode in given)


def test_files_are_written_by_one_module() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): calls
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if (calls := writes(path.read_text(encoding="utf-8")))
    }
    assert found.pop(WRITERS)
    assert {name: calls for name, calls in found.items() if name not in ELSEWHERE} == {}
    unused = {name for name in ELSEWHERE if name not in found}
    assert unused == set(), "listed, and writes nothing"


@pytest.mark.parametrize(
    "call",
    [
        "path.write_text('x')",
        "path.open('w')",
        "path.open(mode='ab')",
        "open(path, 'x')",
        "os.open(path, os.O_WRONLY | os.O_CREAT)",
        "os.replace(a, b)",
        "path.with_name('x').mkdir(parents=True)",
        "path.unlink()",
        "shutil.rmtree(path)",
        "tempfile.mkdtemp()",
        "os.remove(path)",
    ],
)
def test_the_check_sees_a_write(call: str) -> None:
    assert writes(call)


@pytest.mark.parametrize(
    "call", ["path.open()", "open(path, 'rb')", "os.open(path, os.O_RDONLY)", "text.replace(a, b)"]
)
def test_reading_is_no_write(call: str) -> None:
    assert not writes(call)
