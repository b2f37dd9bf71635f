"""The tree of verbs: the module of each, its short help, and the former names of verbs."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import click

from mergecheck.harness.cli.configured.command import configured
from mergecheck.harness.cli.output.terminal import notice
from mergecheck.harness.configuration.similar_names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, which is imported when it is used: engines and libraries load slowly.

    Attributes:
        summary: one line for the help of its group.
        place: module below ``mergecheck.harness.cli.verbs``, and the command in it: ``saved.cases:list_cases``.
        key: the name of its table in the configuration; no other verb has it.
        shown: the options that its help describes, by section; all if it is None. The rest are settings of the
            configuration that the help names only.
    """

    summary: str
    place: str
    key: str
    shown: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Verbs that belong together."""

    summary: str
    verbs: Mapping[str, Verb]


_Sections: TypeAlias = "Mapping[str, Mapping[str, Verb | Group]]"

_FUZZ_OPTIONS = {
    "Budget": ("max-cases", "max-time", "max-findings"),
    "What is drawn": ("seed", "features-off", "focus"),
    "What is checked": ("engine", "check", "oracle", "expressions", "deviations"),
    "Reports": ("findings", "html", "json", "quiet", "baseline", "fail-if-worse"),
    "How it runs": ("jobs", "config", "help"),
}
_CASES = {
    "list": Verb("List saved cases.", "saved.cases:list_cases", "cases-list"),
    "show": Verb("Show a case, as tables, SQL or JSON.", "saved.cases:show_case", "cases-show"),
    "diff": Verb("Compare two cases, or the results of two runs.", "saved.cases:diff_cases", "cases-diff"),
    "shrink": Verb("Make a failing case smaller.", "saved.shrink:shrink", "shrink"),
    "export": Verb("Write a case as a script for another system.", "saved.export:export", "export"),
    "import": Verb("Make a case of two versions of a Delta table.", "saved.import_case:import_case", "import"),
    "adopt": Verb("Make a finding a test of your project.", "saved.adopt:adopt", "adopt"),
    "prune": Verb("Remove saved cases that are fixed, or there twice.", "saved.prune:prune_cases", "cases-prune"),
}
_ENGINE = {
    "list": Verb("List the engines that are installed.", "engines.list_engines:list_engines", "engine-list"),
    "new": Verb("Write the template of an engine of your own.", "new_engine:new_engine", "new-engine"),
    "conform": Verb("Run the fixed suite, write a certificate.", "conform:conform", "conform"),
    "mutants": Verb("How soon wrong answers of an engine are noticed.", "engines.mutants:mutants", "engine-mutants"),
}
_CONFIG = {
    "show": Verb("Show each value and where it comes from.", "project.config:show_config", "config-show"),
    "trust": Verb("Let the configuration of a folder do more.", "project.config:trust", "config-trust"),
    "schema": Verb("Print the JSON schema, for editors.", "project.config:schema", "config-schema"),
    "ci": Verb("Write a CI workflow, or report results to CI.", "project.ci:ci", "ci"),
}
_LAB = {
    "sequences": Verb("Several merges and other writes on one table.", "sequencing.sequences:sequences", "sequences"),
    "concurrency": Verb(
        "Writers that run at the same time on one table.", "concurrency.concurrency:concurrency", "concurrency"
    ),
    "scale": Verb("Merges of large generated tables.", "scale:scale", "scale"),
    "matrix": Verb("Several engines, feature by feature.", "matrix:matrix", "matrix"),
    "scoreboard": Verb("Stored runs of engines and releases together.", "engines.scoreboard:scoreboard", "scoreboard"),
    "merge-runs": Verb("The runs of several machines as one.", "merge_runs:merge_runs_of_machines", "merge-runs"),
    "bisect": Verb("The configuration that changes an outcome.", "variants.bisect:bisect", "bisect"),
    "rules": Verb("The specification's rules, and cases that reach them.", "rules:rules", "rules"),
}
_GROUPS = {"cases": _CASES, "engine": _ENGINE, "config": _CONFIG, "lab": _LAB}
SECTIONS: _Sections = {
    "Check an engine": {
        "run": Verb("Check one case, or a merge of your own tables, and explain it.", "run:run", "run"),
        "fuzz": Verb("Check random cases until a budget is spent.", "fuzzing.fuzz:fuzz", "fuzz", _FUZZ_OPTIONS),
        "exhaust": Verb("Check every merge of a small scope.", "exhaust:exhaust", "exhaust"),
        "replay": Verb("Check saved cases and findings again.", "replay:replay", "replay"),
        "variants": Verb("Check that an optimisation changes no outcome.", "variants.variants:variants", "variants"),
    },
    "Look closer": {
        "explain": Verb("Show row by row how a case comes to its result.", "explaining.explain:explain", "explain"),
        "cases": Group("Saved cases: list, show, diff, shrink, export, import, adopt, prune.", _CASES),
        "lab": Group("Sequences, concurrency, scale, engines side by side, rules.", _LAB),
    },
    "Set up": {
        "engine": Group("Engines: list them, write your own, certify one.", _ENGINE),
        "doctor": Verb("Check that this machine has what a run needs.", "doctor:doctor", "doctor"),
        "config": Group("The configuration, and workflows for CI.", _CONFIG),
    },
}

RENAMED: Mapping[str, str] = {
    **{name: f"cases {name}" for name in ("adopt", "export", "import", "shrink")},
    **{name: f"lab {name}" for name in _LAB if name != "merge-runs"},
    "ci": "config ci",
    "compare": "cases diff --runs",
    "conform": "engine conform",
    "learn": "engine conform --learned",
    "new-engine": "engine new",
}
"""Former names of verbs, and their present ones. An old name works in this release, with a notice."""
_KEPT = {
    "compare": Verb("", "project.compare:compare", "compare"),
    "learn": Verb("", "engines.learn:learn", "learn"),
}
"""Old verbs that are options now: their command lines differ from the new ones."""
GONE = {"selfcheck": "mutants of our own merge are for maintainers: run python -m tools.selfcheck in a checkout"}


class VerbGroup(click.Group):
    """A group of verbs by sections, none of which is imported for the help.

    Args:
        name: what stands before the verbs on the command line.
        sections: the verbs; one section without a title for a group below the top.
    """

    def __init__(self, name: str, sections: _Sections = SECTIONS, *, help: str | None = None) -> None:  # noqa: A002 - click's
        super().__init__(name, help=help, context_settings={"help_option_names": ["-h", "--help"]})
        self._sections = sections
        self._verbs = {verb: found for section in sections.values() for verb, found in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all verbs, without the old ones."""
        return list(self._verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a verb; None if there is none of that name."""
        found = self._verbs.get(cmd_name)
        if found is None and self._sections is SECTIONS and cmd_name in RENAMED:
            return _renamed(cmd_name)
        return None if found is None else _command(cmd_name, found)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Look up the verb; for an unknown one, the message names similar verbs."""
        name = args[0] if args else ""
        known = {*self._verbs, *(RENAMED if self._sections is SECTIONS else ())}
        if name and not name.startswith("-") and name not in known:
            ctx.fail(f"no verb {name!r} in {ctx.command_path}. {self._advice(name)}")
        return super().resolve_command(ctx, args)

    def _advice(self, name: str) -> str:
        if self._sections is not SECTIONS:
            return did_you_mean(name, self._verbs) or f"Choose from {', '.join(self._verbs)}."
        if name in GONE:
            return GONE[name][0].upper() + GONE[name][1:] + "."
        below = {
            f"{group} {verb}": verb
            for group, found in self._verbs.items()
            if isinstance(found, Group)
            for verb in found.verbs
        }
        if places := [place for place, verb in below.items() if verb == name]:
            return f"Did you mean {' or '.join(map(repr, places))}?"
        similar = did_you_mean(name, [*self._verbs, *below.values()])
        for place, verb in below.items():
            similar = similar.replace(repr(verb), repr(place))
        return similar or f"Choose from {', '.join(self._verbs)}."

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the verbs by section."""
        for title, section in self._sections.items():
            with formatter.section(title or "Verbs"):
                formatter.write_dl([(name, found.summary) for name, found in section.items()])


def _command(name: str, found: Verb | Group) -> click.Command:
    if isinstance(found, Group):
        return VerbGroup(name, {"": found.verbs}, help=found.summary)
    return configured(_import(found), found.key, found.shown)


def _import(verb: Verb) -> click.Command:
    module, _, function = verb.place.partition(":")
    command: click.Command = getattr(importlib.import_module(f"mergecheck.harness.cli.verbs.{module}"), function)
    return command


def _renamed(old: str) -> click.Command:
    new = RENAMED[old]
    notice(f"mergecheck {old} is now: mergecheck {new}. The old name works in this release only.")
    if old in _KEPT:
        return _import(_KEPT[old])
    group, verb = new.split(maxsplit=1)
    return _command(verb, _GROUPS[group][verb])
