"""The options of the verbs that a configuration may set, and the schema of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

# Options for one command line only. --trust is included: a repository may not declare its own cases harmless.
NOT_CONFIGURED = frozenset(
    {
        *("help", "version", "json", "config", "profile", "trust", "list"),
        *("id", "target", "source", "sql", "directory", "into", "before", "after"),
        *("name", "diff", "format", "output", "duplicates", "set-aside", "fixed", "yes", "keep", "save", "remove"),
    }
)


# explain starts no engine unless its own command line asks for one: neither a file nor a folder can make it.
NOT_CONFIGURED_FOR = {"explain": frozenset({"engine", "expressions", "master", "remote", "table-root"})}


def key_of(parameter: click.Parameter) -> str | None:
    """Return the key that sets an option, its name without the dashes; None if no configuration sets it."""
    if not isinstance(parameter, click.Option):
        return None
    names = [name for name in parameter.opts if name.startswith("--")]
    key = names[0].removeprefix("--") if names else ""
    return key if key and key not in NOT_CONFIGURED else None


def configured_options(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a verb that a configuration may set, by key."""
    left_out = NOT_CONFIGURED_FOR.get(command.name or "", frozenset())
    found = ((key_of(one), one) for one in command.params)
    return {key: one for key, one in found if key is not None and key not in left_out and isinstance(one, click.Option)}


def verbs_with_options(group: click.Group, context: click.Context) -> Iterator[tuple[str, click.Command]]:
    """Yield every verb with such options, in groups too, with its name in the configuration."""
    for verb in group.list_commands(context):
        command = group.get_command(context, verb)
        if isinstance(command, click.Group):
            yield from verbs_with_options(command, context)
        elif command is not None and configured_options(command):
            yield getattr(command, "key", verb), command


def option_schema(option: click.Option) -> dict[str, Any]:
    """Return the JSON schema of an option's value."""
    one = {"type": "boolean"} if option.is_flag else _type_schema(option.type)
    help_text = {"description": option.help} if option.help else {}
    default = {"default": shown} if (shown := _default(option)) is not None else {}
    if option.multiple:
        return {"anyOf": [one, {"type": "array", "items": one}], **default, **help_text}
    return {**one, **default, **help_text}


def _default(option: click.Option) -> Any:  # noqa: ANN401 - any value of an option
    """Return the default as JSON; None if there is none."""
    if option.is_flag:
        return False
    default = option.to_info_dict()["default"]
    match default:
        case bool() | int() | float() | str() | None:
            return default
        case tuple() | list():
            return [str(one) for one in default] or None
    return str(default)


def _type_schema(kind: click.ParamType[Any]) -> dict[str, Any]:
    match kind:
        case click.IntRange() | click.FloatRange():
            number: dict[str, Any] = {"type": "integer" if isinstance(kind, click.IntRange) else "number"}
            if kind.min is not None:
                number["exclusiveMinimum" if kind.min_open else "minimum"] = kind.min
            if kind.max is not None:
                number["maximum"] = kind.max
            return number
        case click.Choice():
            return {"type": "string", "enum": list(kind.choices)}
        case click.Path():
            return {"type": "string", "format": "path"}
    return {"type": {"integer": "integer", "float": "number"}.get(kind.name, "string")}
