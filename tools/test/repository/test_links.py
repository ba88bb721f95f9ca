# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Links between the files of the repository lead somewhere."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Return the names by which links reach the headings of a Markdown page, formed as GitHub
    does.
    """
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-") for text in headings}


def dead_links(page: Path) -> list[str]:
    """Return the links of a page that lead to no file, or to no heading of one."""
    dead = []
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        name, _, heading = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (heading and heading not in anchors(target)):
            dead.append(link)
    return dead


def test_links_of_all_pages_lead_somewhere():
    """Each link in a Markdown page of the repository leads to a file, and to a heading if it names
    one.
    """
    command = ["git", "ls-files", "*.md"]
    pages = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    dead = {name: dead_links(ROOT / name) for name in pages.split()}
    assert len(dead) > 10
    assert not {name: links for name, links in dead.items() if links}


def test_dead_links_are_found(tmp_path):
    """A link to a missing file or heading is found. Links to headings that exist, and to other
    sites, are not.
    """
    page = tmp_path / "page.md"
    page.write_text(
        "# What it's for\n[a](page.md) [b](#what-its-for) [c](https://example.org)\n"
        "[d](other.md) [e](#what) [f](page.md#no)\n"
    )
    assert dead_links(page) == ["other.md", "#what", "page.md#no"]
