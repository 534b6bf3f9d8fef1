"""A real browser, without a window: what a page measures of itself, and pictures of it.

`OPSDEBUG_CHROMIUM` names its program where it is not on PATH.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
"""Names it goes by."""

PATIENCE_S = 120
"""For one page; a start takes about two seconds on an idle machine."""

_ANSWER = re.compile(r'<pre id="answer">(.*?)</pre>', re.DOTALL)


def program() -> str | None:
    """The browser; None: there is none on this machine."""
    named = os.environ.get("OPSDEBUG_CHROMIUM")
    return named or next((found for name in PROGRAMS if (found := shutil.which(name))), None)


def answer(page: str, directory: Path) -> Mapping[str, object]:
    """What the script of `page` left in `<pre id="answer">`, as JSON."""
    shown = _run(page, directory, "--dump-dom", "--virtual-time-budget=5000")
    found = _ANSWER.search(shown)
    assert found is not None, shown[-2000:]
    told = json.loads(html.unescape(found[1]))
    assert isinstance(told, dict)
    return told


def picture(page: str, directory: Path, *, width: int, height: int, scale: float = 1) -> Path:
    """A PNG of the page, so many CSS pixels wide and high."""
    file = directory / "page.png"
    _run(
        page,
        directory,
        f"--screenshot={file}",
        f"--window-size={width},{height}",
        f"--force-device-scale-factor={scale}",
    )
    return file


def _run(page: str, directory: Path, *options: str) -> str:
    browser = program()
    assert browser is not None
    file = directory / "page.html"
    file.write_text(page, encoding="utf-8")
    # NOTE: its own sandbox needs rights that a container seldom has; the page is ours and loads nothing.
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={directory / 'profile'}",
        *options,
        file.as_uri(),
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout
