# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/campaigns.py: each file's change asks for longer tests or needs none."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tools import campaigns

ROOT = campaigns.ROOT
FILES = subprocess.run(
    ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.splitlines()
# Folders down to this level need a row of their own in TABLE. Deeper folders may share a row.
DEPTH = 2


def test_every_file_has_a_row():
    """Every file of the repository belongs to a row of the table in tools/campaigns.py.

    So a new file or folder at the top of the repository needs a new row.
    """
    for file in FILES:
        assert campaigns.row(file)


def test_every_folder_has_a_row_of_its_own():
    """Each folder of the first two levels has a row of the table.

    Each row names a file or folder.
    """
    folders = {"/".join(Path(file).parts[:DEPTH]) for file in FILES if file.count("/") >= DEPTH}
    folders |= {Path(file).parts[0] for file in FILES if "/" in file}
    assert folders - campaigns.TABLE.keys() == set()
    for path in campaigns.TABLE:
        assert any(file == path or file.startswith(path + "/") for file in FILES), path


def test_a_file_without_a_row_is_an_error():
    """row() raises KeyError for a file without a row in TABLE. Such a file must not count as one
    that needs no campaign.
    """
    with pytest.raises(KeyError, match=r"new/thing\.py: .* no row"):
        campaigns.row("new/thing.py")


def test_a_file_that_is_gone_needs_no_row(monkeypatch):
    """A removed file asks for the campaigns of its folder's row, if the folder still has a row.

    A file that exists and has no row stays in the list, so that it is an error.
    """
    listed = "old/gone.py\nsoftware/kernel/gone.c\nsim/gone.py\nREADME.md\n"
    monkeypatch.setattr(campaigns, "git", lambda *words: listed)
    assert campaigns.changed("base") == ["software/kernel/gone.c", "sim/gone.py", "README.md"]
    monkeypatch.setattr(campaigns, "TABLE", {})
    assert campaigns.changed("base") == ["README.md"]


def soak_files():
    """Return the test files that have a soak test.

    The mark may come by a list of kernels, which other test files import.
    """
    mark = "mark." + "soak"
    tests = {path: path.read_text() for path in campaigns.test_files("test_*.py")}
    kernels = "|".join(
        path.stem
        for path, text in tests.items()
        if re.search(rf"^KERNELS = .*{re.escape(mark)}", text, re.M)
    )
    imported = re.compile(rf"^from \S*\b(?:{kernels}) import .*\bKERNELS\b", re.M)
    found = [path for path, text in tests.items() if mark in text or imported.search(text)]
    return {str(path.relative_to(ROOT)) for path in found}


def test_every_soak_test_is_in_one_campaign():
    """Every soak test is in exactly one campaign.

    In two campaigns the test would run twice, and in none it would never run.
    """
    selected = [file for campaign in campaigns.CAMPAIGNS.values() for file in campaign.files()]
    assert len(selected) == len(set(selected))
    assert soak_files() <= set(selected)
    for name, campaign in campaigns.CAMPAIGNS.items():
        assert soak_files().intersection(campaign.files()), f"{name} has no soak test"


def test_the_readme_says_what_is_left_to_soak():
    """The table of README.md has exactly one line for each campaign, in the same order."""
    table = (ROOT / "README.md").read_text().partition("\n| campaign |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \| \w", table, re.M) == [*campaigns.CAMPAIGNS]


def test_every_campaign_is_asked_for_by_a_change_outside_the_tests():
    """Each campaign is in a row of the table that is not about tests.

    So a change of the product can ask for it.
    """
    rows = [names for names in campaigns.TABLE.values() if names is not campaigns.TESTS]
    assert {name for names in rows for name in names} == campaigns.CAMPAIGNS.keys()


GUEST_DRIVER = ("driver", "kernels", "library", "utility", "stock", "cost")


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("software/kernel/dma/dma.c", {*GUEST_DRIVER, "planted", "long"}),
        ("software/tools/litepcie_util/cmd_info.c", {"planted", "utility"}),
        ("bringup/jtag/spi_proxy.py", {"programming", "netlist"}),
        ("sim/differential/compare.py", {"models"}),
        ("sim/test/link/test_fault_campaign.py", {"faults"}),
        ("gateware/test/formal/credits.sv", {"proofs"}),
        ("CHANGELOG.md", set()),
    ],
)
def test_a_change_asks_for_what_proves_it(file, expected):
    """A changed file asks for the campaigns of the row of TABLE with the longest path that begins
    the file's path.
    """
    assert campaigns.choose([file]).keys() == expected


def test_a_helper_asks_for_the_tests_that_import_it():
    """A change of a helper runs the campaigns whose tests import it, directly or indirectly."""
    assert "driver" in campaigns.choose(["sim/test/driver/driver_guest.py"])
    assert "proofs" not in campaigns.choose(["sim/test/driver/driver_guest.py"])


def test_the_program_says_what_it_would_run_and_why():
    """tools/campaigns.py runs with the system's Python. It prints the commit since which changes
    count, and each campaign.
    """
    command = ["python3", "tools/campaigns.py"]
    environment = {**os.environ, "CI_BASE": "HEAD"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "since HEAD, which CI_BASE names" in done.stdout


def test_the_reason_is_kept():
    """choose() returns the rows that asked for each campaign, in the order of the campaigns."""
    chosen = campaigns.choose(["sim/differential/known.py", "software/kernel/dma/dma.c"])
    assert chosen["models"] == ["sim/differential"] and next(iter(chosen)) == "driver"


def test_the_base_is_the_newest_commit_that_is_old_enough():
    """base() takes the newest commit that is more than four hours older than HEAD, by its date.

    Without such a commit aged() returns None.
    """
    hour = 3600
    log = "head 100000\nnear {}\nold {}\nolder {}\n"
    assert campaigns.aged(log.format(100000 - hour, 100000 - 5 * hour, 100000 - 9 * hour)) == "old"
    assert campaigns.aged(f"head 100000\nedge {100000 - 4 * hour}\n") is None


def test_the_environment_names_the_base(monkeypatch):
    """CI_BASE names the commit to compare with.

    If the repository lacks that commit, every file counts as changed.
    """
    monkeypatch.setenv("CI_BASE", "HEAD")
    commit, words = campaigns.base()
    assert campaigns.changed(commit) == [] and "CI_BASE" in words
    monkeypatch.setenv("CI_BASE", "f" * 40)
    commit, words = campaigns.base()
    assert "no commit here" in words and set(campaigns.changed(commit)) == set(FILES)


@pytest.fixture
def pytest_calls(monkeypatch):
    """Record the pytest commands of campaigns.py in place of running them.

    Each command passes, but the one that runs the campaign "models" fails.
    """
    calls = []

    def run(command, cwd):
        calls.append(command[command.index("--durations=3") + 1 :])
        failed = "sim/test/model/test_differential.py" in calls[-1]
        return subprocess.CompletedProcess(command, 1 if failed else 0)

    monkeypatch.setattr(campaigns.subprocess, "run", run)
    return calls


def test_what_does_not_fit_is_left_out_and_named(pytest_calls, capsys):
    """campaigns.py leaves out a campaign whose minutes do not fit into --minutes, and names it.

    A shorter campaign may still run.
    """
    minutes = campaigns.CAMPAIGNS["hosts"].minutes + 0.1
    assert campaigns.carry_out(["driver", "hosts"], minutes) == 0
    assert pytest_calls == [["sim/test/link/test_root_campaign.py"]]
    left_out = f"left out, they do not fit into {minutes:g} min: driver"
    assert left_out in capsys.readouterr().out


def test_a_campaign_that_fails_fails_the_run(pytest_calls, capsys):
    """If a campaign fails, campaigns.py still runs the others, and ends with status 1."""
    assert campaigns.carry_out(["models", "hosts"], 1000) == 1
    assert len(pytest_calls) == 2
    assert "failed: models" in capsys.readouterr().out
