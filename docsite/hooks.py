"""Called by MkDocs while it builds the site: pages that are not in docs/, and links between pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # MkDocs loads this file by its path

from docsite import findings, specification  # noqa: E402 - only now is the folder on the path
from docsite.links import TOP_PAGES, to_site  # noqa: E402 - only now is the folder on the path
from docsite.offline import loads_of_other_sites  # noqa: E402 - the same

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

_SOURCES = {page: name for name, page in TOP_PAGES.items() if page.startswith("project/")}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the top folder, the specification and the table of findings to those of docs/."""
    pages = {page: (ROOT / name).read_text(encoding="utf-8") for page, name in _SOURCES.items()}
    pages |= specification.specification_pages(ROOT) | {findings.PAGE: findings.listing()}
    for page, text in pages.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - by MkDocs
    """Lead the links of a page to pages of the site."""
    here = page.file.src_uri
    return to_site(markdown, source=_SOURCES.get(here, f"docs/{here}"), page=here)


def on_post_build(config: MkDocsConfig) -> None:
    """Fail the build if a page would load something from another site."""
    found = list(loads_of_other_sites(Path(config.site_dir)))
    if found:
        raise PluginError("Pages load what is not on the site; no network may be needed:\n" + "\n".join(found))
