"""Results of seeds kept in a file, so that a measurement of hours can be interrupted and resumed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mergecheck.harness.processes.output_files import append
from mergecheck.harness.verdict import UserInputError
from mergecheck.model.text_file import read_ordinary
from tools.selfcheck.trial import Kill, SeedResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tools.selfcheck.fault import Fault

_PACKAGES = ("merge", "model", "reference", "strategies", "harness", "tools/selfcheck")
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class KeptResults:
    """A file of JSON lines, one for each seed that is done.

    Only results of the same code, faults and limit are read back; what else the file holds stays as it is.

    Attributes:
        path: the file; made with the first result.
        key: the subject of a result.
    """

    path: Path
    key: str

    @classmethod
    def of(cls, path: Path, faults: Sequence[Fault], *, max_cases: int, of: str = "") -> KeptResults:
        """Keep the results of these faults, this limit and the code as it is now.

        Args:
            path: the file.
            faults: that are looked for.
            max_cases: the limit of a seed.
            of: names the cases, if they are not random ones.
        """
        digest = hashlib.sha256(f"{max_cases} {of}\n{faults!r}\n{code_digest()}".encode()).hexdigest()
        return cls(path, digest[:16])

    def read(self) -> tuple[SeedResult, ...]:
        """Read the results of this key.

        Raises:
            UserInputError: the file cannot be read, or is no file of results.
        """
        if not self.path.exists():
            return ()
        try:
            documents = [json.loads(line) for line in read_ordinary(self.path).splitlines()]
            found = [(document["key"], _from_json(document["result"])) for document in documents]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserInputError(
                f"{self.path} is no file of results ({error}). Give another file, or remove this one."
            ) from None
        return tuple(result for key, result in found if key == self.key)

    def add(self, result: SeedResult) -> None:
        """Append one result.

        Raises:
            UserInputError: the file cannot be written.
        """
        line = json.dumps({"key": self.key, "result": asdict(result)})
        try:
            append(self.path, line + "\n")
        except OSError as error:
            raise UserInputError(
                f"cannot write {self.path}: {error}. Choose another file with --results FILE."
            ) from error


def code_digest(root: Path = _ROOT) -> str:
    """Digest the sources of everything that decides when a fault is found."""
    digest = hashlib.sha256()
    for path in _sources(root):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _sources(root: Path) -> Iterable[Path]:
    return sorted(path for package in _PACKAGES for path in (root / package).rglob("*.py"))


def _from_json(document: dict[str, Any]) -> SeedResult:
    kills = {name: Kill(**{**kill, "checks": tuple(kill["checks"])}) for name, kill in document["kills"].items()}
    return SeedResult(**{**document, "kills": kills, "passed_over": tuple(document["passed_over"])})
