"""The values that a configuration sets for a verb, each with its origin.

A profile's value wins over the configuration's own, and the table of a verb over the keys at the top of it.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mergecheck.harness.configuration.bounds import reason_for_trust
from mergecheck.harness.configuration.files import ConfigFile, find_file, read_file
from mergecheck.harness.configuration.schema import PROFILES, check, closest, keys_of, load_schema, shared_keys
from mergecheck.harness.configuration.trusted import TrustedFiles
from mergecheck.harness.verdict import UserInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

CONFIG_VARIABLE = "MERGECHECK_CONFIG"
"""Environment variable that names the configuration's file, as ``--config`` does."""
PROFILE_VARIABLE = "MERGECHECK_PROFILE"
"""Environment variable that names a profile, as ``--profile`` does."""
EXCLUSIVE = (("deviations", "no-deviations"), ("master", "remote"), ("steer", "jobs"))
"""Options of which one verb takes one only: the option of a command line also takes the place of the others."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value and where it comes from, for example ``mergecheck.toml, profile ci``.

    Attributes:
        folder: of the configuration whose value it is; None for one that is packaged, a default or a variable's.
    """

    value: Any
    origin: str
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class NeedsTrust:
    """A setting of a file that only a trusted file may have.

    Attributes:
        name: with its tables, such as ``profiles.ci.fuzz.events``.
        reason: its effect, such as ``imports code``.
    """

    name: str
    value: Any
    reason: str

    def __str__(self) -> str:
        """Return it as the file has it, with the reason."""
        return f"{self.name} = {json.dumps(self.value, ensure_ascii=False, default=str)}, which {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The settings of the user's configuration and the packaged profiles.

    Attributes:
        file: the file that is used, if any.
        profile: the profile that is used, if any.
        outside: a file that lies above the project and is not used.
        is_named: whether the user names the file; else it was found by searching.
        trusted: the files that the user trusts.
    """

    schema: Mapping[str, Any]
    file: ConfigFile | None = None
    profile: str | None = None
    outside: Path | None = None
    is_named: bool = False
    trusted: TrustedFiles | None = None
    packaged: Mapping[str, Any] = field(default_factory=dict)

    def settings(self, verb: str, *, given: Iterable[str] = ()) -> dict[str, Setting]:
        """Return what applies to a verb, by the names of its options.

        Args:
            verb: for example ``fuzz`` or ``cases show``, or ``pytest``.
            given: options that the command line or the environment gives; they and those that exclude them are left
                out.
        """
        keys = keys_of(self.schema, verb)
        found: dict[str, Setting] = {}
        for origin, folder, table in self._layers(verb):
            for key, value in table.items():
                if key not in keys:
                    continue
                found = {name: one for name, one in found.items() if name not in _rivals(key)}
                found[key] = Setting(_adapted(value, keys[key], folder), origin, folder)
        out = {rival for name in given for rival in (name, *_rivals(name))}
        return {key: setting for key, setting in found.items() if key not in out}

    @property
    def needs_trust(self) -> tuple[NeedsTrust, ...]:
        """All settings of the file that only a trusted file may have, whichever verb or profile they are for."""
        if self.file is None:
            return ()
        prefix, folder, profiles = self.file.prefix, self.file.folder, self.file.table.get(PROFILES, {})
        tables = {prefix: self.file.table, **{f"{prefix}{PROFILES}.{name}.": one for name, one in profiles.items()}}
        verbs = self.schema["$defs"]
        tables |= {
            f"{where}{verb}.": part
            for where, table in tables.items()
            for verb, part in table.items()
            if verb in verbs and isinstance(part, dict)
        }
        parts = {key: part for verb in verbs.values() for key, part in verb["properties"].items() if "$ref" not in part}
        return tuple(
            NeedsTrust(f"{where}{key}", value, reason)
            for where, table in tables.items()
            for key, value in table.items()
            if key in parts and not isinstance(value, dict)
            if (reason := reason_for_trust(key, _adapted(value, parts[key], folder), folder)) is not None
        )

    @property
    def is_trusted(self) -> bool:
        """Whether the file may set anything: the user has named it, or trusts it as it is."""
        if self.file is None or self.is_named:
            return True
        needing = [(one.name, one.value) for one in self.needs_trust]
        return not needing or (self.trusted is not None and self.trusted.has(self.file, needing))

    def require_trust(self, settings: Mapping[str, Setting]) -> None:
        """Refuse settings that only a trusted file may have.

        Args:
            settings: what applies to a verb, by key.

        Raises:
            UserInputError: there is one; the message names it, the file, and how to trust it.
        """
        for key, one in settings.items():
            reason = None if one.folder is None else reason_for_trust(key, one.value, one.folder)
            if reason is None or self.file is None or self.is_trusted:
                continue
            folder, path = shlex.quote(str(self.file.folder.resolve())), shlex.quote(str(self.file.path))
            changed = self.trusted is not None and self.trusted.knows(self.file)
            raise UserInputError(
                f"{NeedsTrust(f'{self.file.path}: {self.file.prefix}{key}', one.value, reason)} ({one.origin}). "
                + ("Its settings have changed since you trusted it. " if changed else "")
                + "A configuration that was found by searching may not do that until you trust its folder: "
                f"mergecheck config trust {folder}. For this command alone, name the file: --config {path}"
            )

    @property
    def profiles(self) -> tuple[str, ...]:
        """The names of all profiles."""
        own = {} if self.file is None else self.file.table.get(PROFILES, {})
        return tuple(sorted({*own, *self.packaged}))

    @property
    def title(self) -> str:
        """The file and profile in use, for the head of a run; empty without any."""
        parts = [] if self.file is None else [f"configuration {self.file.path}"]
        parts += [] if self.profile is None else [f"profile {self.profile}"]
        return ", ".join(parts)

    def _layers(self, verb: str) -> Iterator[tuple[str, Path | None, Mapping[str, Any]]]:
        """Yield what may set a value, the weakest first: where it stands, its folder, and its keys."""
        shared = shared_keys(self.schema)
        own: Mapping[str, Any] = {} if self.file is None else self.file.table
        folder, name = (None, "") if self.file is None else (self.file.folder, self.file.path.name)
        profile = self.profile or ""
        for origin, place, table in (
            (name, folder, own),
            (f"built-in profile {profile}", None, self.packaged.get(profile, {})),
            (f"{name}, profile {profile}", folder, own.get(PROFILES, {}).get(profile, {})),
        ):
            if verb in self.schema["x-mergecheck-shared"]:
                yield origin, place, {key: value for key, value in table.items() if key in shared}
            yield origin, place, table.get(verb.replace(" ", "-"), {})


def load_configuration(
    start: Path, *, environment: Mapping[str, str], config: Path | None = None, profile: str | None = None
) -> Configuration:
    """Find, read and check the configuration.

    Args:
        start: the working folder, where the search begins.
        environment: the environment variables.
        config: the file that the user names; None to search for one.
        profile: the profile that the user names.

    Raises:
        UserInputError: the file cannot be used, or there is no such profile; nothing of it is used then.
    """
    schema = load_schema()
    text = (resources.files("mergecheck.harness.configuration") / "profiles.toml").read_text(encoding="utf-8")
    packaged = tomllib.loads(text)
    named = config or (Path(variable) if (variable := environment.get(CONFIG_VARIABLE)) else None)
    file, outside = read_file(named) if named is not None else None, None
    if named is None:
        search = find_file(start, home=Path(environment.get("HOME") or "/"))
        file, outside = search.file, search.outside
    if file is not None:
        check(file.table, schema, where=str(file.path), prefix=file.prefix)
    profile = profile or environment.get(PROFILE_VARIABLE) or None
    found = Configuration(
        schema=schema,
        file=file,
        profile=profile,
        outside=outside,
        is_named=named is not None,
        trusted=TrustedFiles(environment),
        packaged=packaged,
    )
    if profile is not None and profile not in found.profiles:
        where = "there is no configuration" if file is None else f"{file.path} has none of that name"
        raise UserInputError(f"unknown profile {profile!r}; {where}. {closest(profile, found.profiles)}")
    return found


def _rivals(key: str) -> tuple[str, ...]:
    return next((tuple(one for one in group if one != key) for group in EXCLUSIVE if key in group), ())


def _adapted(value: Any, part: Mapping[str, Any], folder: Path | None) -> Any:  # noqa: ANN401 - any value of TOML
    """Make a list of a value whose option may be repeated, and let paths start at the configuration's folder."""
    several = next((one for one in part.get("anyOf", [part]) if one["type"] == "array"), None)
    if several is not None:
        return [_adapted(item, several["items"], folder) for item in (value if isinstance(value, list) else [value])]
    if part.get("format") == "path" and folder is not None:
        return str(folder / Path(value).expanduser())
    return value
