"""Pictures of HTML reports, in both colour schemes and several widths, and whether a page is wider than its window.

    python -m tools.benchmarks.screenshots FOLDER               a mismatch and a run of random cases, on DuckDB
    python -m tools.benchmarks.screenshots FOLDER report.html   reports of your own
    python -m tools.benchmarks.screenshots --docs               the pictures in docs/images

Run it in the root of the repository, with Chromium or Chrome on the PATH. The name of a picture gives
page, width and scheme: ``mismatch-360-dark.png``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import click

from mergecheck.harness.cli import main as mergecheck

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTHS = (360, 800, 1280, 1920)
HEIGHT = 3000
SCHEMES = {"light": "1", "dark": "0"}
MISMATCH = Path("harness/deviations/cases/duckdb-negative-zero.json")
_POLICY = re.compile(r"<meta http-equiv=\"Content-Security-Policy\"[^>]*>")
_TELL = "<script>parent.postMessage(document.documentElement.scrollWidth, '*')</script></body>"
_FRAME = (
    "<!DOCTYPE html><title>no answer</title>"
    "<script>addEventListener('message', event => document.title = event.data)</script>"
    '<iframe src="{page}" style="width: {width}px; height: 900px; border: 0"></iframe>'
)


def browser() -> str:
    """Find a browser.

    Raises:
        ClickException: there is none.
    """
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        raise click.ClickException(
            f"no browser on the PATH (looked for {', '.join(BROWSERS)}). "
            "Debian, Ubuntu: apt-get install chromium    Fedora: dnf install chromium"
        )
    return found


def headless(command: str, *arguments: str) -> str:
    """Run the browser without a window, with a profile of its own, and return its output."""
    with tempfile.TemporaryDirectory() as profile:
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb")
        done = subprocess.run(  # noqa: S603 - the browser that was found
            [command, *flags, f"--user-data-dir={profile}", *arguments], capture_output=True, text=True, check=True
        )
    return done.stdout


def picture(command: str, page: Path, image: Path, *, width: int, height: int, scheme: str) -> None:
    """Take a picture of the top of a page."""
    headless(
        command,
        f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
        f"--window-size={width},{height}",
        f"--screenshot={image}",
        page.resolve().as_uri(),
    )


def width_of(command: str, page: Path, width: int) -> int:
    """Measure how wide a page is in a window of this width, on a copy that may run the script that measures."""
    with tempfile.TemporaryDirectory() as name:
        copy, frame = Path(name) / "copy.html", Path(name) / "frame.html"
        text = _POLICY.sub("", page.read_text(encoding="utf-8")).replace("</body>", _TELL)
        copy.write_text(text, encoding="utf-8")
        frame.write_text(_FRAME.format(page=copy.as_uri(), width=width), encoding="utf-8")
        shown = headless(command, "--virtual-time-budget=5000", "--window-size=2000,1000", "--dump-dom", frame.as_uri())
    title = re.search(r"<title>(\d+)</title>", shown)
    if title is None:
        raise click.ClickException(f"the browser did not report the width {page} is")
    return int(title[1])


def mismatch_page(folder: Path) -> Path:
    """Make a report of a mismatch, on an engine that needs no Spark."""
    page = folder / "mismatch.html"
    mergecheck(["replay", str(MISMATCH), "--engine", "duckdb", "--no-deviations", "--html", str(page)])
    return page


def fuzz_page(folder: Path) -> Path:
    """Make a report of random cases."""
    page = folder / "fuzz.html"
    random = ("fuzz", "--engine", "duckdb", "--seed", "1", "--max-cases", "60", "--floor", "0.1", "--quiet")
    mergecheck([*random, "--findings", str(folder / "findings"), "--html", str(page)])
    return page


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path, file_okay=False))
@click.argument("pages", nargs=-1, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--docs", is_flag=True, help="Make the pictures in docs/images anew.")
def main(folder: Path | None, pages: tuple[Path, ...], *, docs: bool) -> None:
    """Take pictures of HTML reports."""
    command = browser()
    if docs:
        with tempfile.TemporaryDirectory() as name:
            mismatch = mismatch_page(Path(name))
            IMAGES.mkdir(exist_ok=True)
            for scheme in SCHEMES:
                image = IMAGES / f"html-report-{scheme}.png"
                picture(command, mismatch, image, width=1000, height=1680, scheme=scheme)
                print(image)
        return
    if folder is None:
        raise click.UsageError("give FOLDER, or --docs")
    folder.mkdir(parents=True, exist_ok=True)
    too_wide = 0
    for page in pages or (mismatch_page(folder), fuzz_page(folder)):
        for width in WIDTHS:
            for scheme in SCHEMES:
                image = folder / f"{page.stem}-{width}-{scheme}.png"
                picture(command, page, image.resolve(), width=width, height=HEIGHT, scheme=scheme)
            measured = width_of(command, page, width)
            too_wide += measured > width
            print(f"{page.name} in {width} px: {measured} px wide")
    if too_wide:
        raise click.ClickException("a page is wider than its window")


if __name__ == "__main__":
    main()
