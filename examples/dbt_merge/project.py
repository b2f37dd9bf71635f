"""Renders the models of the project, as dbt does: ``this`` is the model's table, ``ref`` names another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import jinja2

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    undefined=jinja2.StrictUndefined,
    autoescape=False,  # noqa: S701 - the templates make SQL, not HTML
)


def render(model: str, *, this: str, refs: Mapping[str, str]) -> str:
    """Render a model.

    Args:
        model: its name, a file of the folder models.
        this: the table that the model fills.
        refs: the tables that it reads, by the names in ``ref(...)``.
    """
    return _TEMPLATES.get_template(f"models/{model}.sql").render(this=this, ref=refs.__getitem__).strip()
