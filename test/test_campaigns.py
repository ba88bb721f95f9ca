# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""tools/campaigns.py: each file's change asks for longer tests or is said to need none."""

import os
import subprocess
from pathlib import Path

import pytest

from tools import campaigns

ROOT = campaigns.ROOT
FILES = subprocess.run(
    ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.splitlines()  # fmt: skip
DEPTH = 2  # folders with a row of their own; what lies deeper may share one


def test_every_file_has_a_row():
    """A new file at the top, or a new folder there, needs one."""
    for file in FILES:
        assert campaigns.row(file)


def test_every_folder_has_a_row_of_its_own():
    """The first two levels; a row that names nothing is stale."""
    folders = {"/".join(Path(file).parts[:DEPTH]) for file in FILES if file.count("/") >= DEPTH}
    folders |= {Path(file).parts[0] for file in FILES if "/" in file}
    assert folders - campaigns.TABLE.keys() == set()
    for path in campaigns.TABLE:
        assert any(file == path or file.startswith(path + "/") for file in FILES), path


def test_a_file_without_a_row_is_an_error():
    """It is not taken for one that asks for nothing."""
    with pytest.raises(KeyError, match=r"new/thing\.py: .* no row"):
        campaigns.row("new/thing.py")


def soak_files():
    places = [ROOT / folder for folder in (campaigns.UNIT_TESTS, campaigns.SIM_TESTS)]
    tests = [path for place in places for path in place.glob("test_*.py")]
    mark = "mark." + "soak"
    return {str(path.relative_to(ROOT)) for path in tests if mark in path.read_text()}


def test_every_soak_test_is_in_one_campaign():
    """No more and no less: else it would run twice, or never where only campaigns run."""
    selected = [file for campaign in campaigns.CAMPAIGNS.values() for file in campaign.files()]
    assert len(selected) == len(set(selected))
    assert soak_files() <= set(selected)
    for name, campaign in campaigns.CAMPAIGNS.items():
        assert soak_files().intersection(campaign.files()), f"{name} has no soak test"


def test_every_campaign_is_asked_for_by_a_change_outside_the_tests():
    """Otherwise a change of what it proves would not run it."""
    rows = [names for names in campaigns.TABLE.values() if names is not campaigns.TESTS]
    assert {name for names in rows for name in names} == campaigns.CAMPAIGNS.keys()


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("software/kernel/dma.c", {"driver", "kernels", "library", "utility", "stock", "cost"}),
        ("software/user/litepcie_util/cmd_info.c", {"utility"}),
        ("gateware/jtag/spi_proxy.py", {"programming", "netlist"}),
        ("sim/differential/compare.py", {"models"}),
        ("sim/test/test_fault_campaign.py", {"faults"}),
        ("test/formal/credits.sv", {"proofs"}),
        ("CHANGELOG.md", set()),
    ],
)
def test_a_change_asks_for_what_proves_it(file, expected):
    """The row of the longest path counts."""
    assert campaigns.choose([file]).keys() == expected


def test_a_helper_asks_for_the_tests_that_import_it():
    """At first or second hand: a change of the driver's helper runs the driver's campaign."""
    assert "driver" in campaigns.choose(["sim/test/driver_guest.py"])
    assert "proofs" not in campaigns.choose(["sim/test/driver_guest.py"])


def test_the_program_says_what_it_would_run_and_why():
    """By the system's own Python, without the environment: the base, then a line a campaign."""
    command = ["python3", "tools/campaigns.py"]
    environment = {**os.environ, "CI_BASE": "HEAD"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "since HEAD, which CI_BASE names" in done.stdout


def test_the_reason_is_kept():
    """The rows that asked for it, in the order of the campaigns."""
    chosen = campaigns.choose(["sim/differential/known.py", "software/kernel/dma.c"])
    assert chosen["models"] == ["sim/differential"] and next(iter(chosen)) == "driver"


def test_the_base_is_the_newest_commit_that_is_old_enough():
    """By their own dates, however they are listed; none at all where all are new."""
    hour = 3600
    log = "head 100000\nnear {}\nold {}\nolder {}\n"
    assert campaigns.aged(log.format(100000 - hour, 100000 - 5 * hour, 100000 - 9 * hour)) == "old"
    assert campaigns.aged(f"head 100000\nedge {100000 - 4 * hour}\n") is None


def test_the_environment_names_the_base(monkeypatch):
    """CI_BASE comes first; a commit that is not here makes all of it changed, and that is said."""
    monkeypatch.setenv("CI_BASE", "HEAD")
    commit, words = campaigns.base()
    assert campaigns.changed(commit) == [] and "CI_BASE" in words
    monkeypatch.setenv("CI_BASE", "f" * 40)
    commit, words = campaigns.base()
    assert "no commit here" in words and set(campaigns.changed(commit)) == set(FILES)


@pytest.fixture
def pytest_calls(monkeypatch):
    """Campaigns that take no time and pass, but for "models"."""
    calls = []

    def run(command, cwd):
        calls.append(command[command.index("--durations=3") + 1 :])
        failed = "sim/test/test_differential.py" in calls[-1]
        return subprocess.CompletedProcess(command, 1 if failed else 0)

    monkeypatch.setattr(campaigns.subprocess, "run", run)
    return calls


def test_what_does_not_fit_is_left_out_and_named(pytest_calls, capsys):
    """By its stated minutes; a shorter one behind it may still fit."""
    minutes = campaigns.CAMPAIGNS["hosts"].minutes + 0.1
    assert campaigns.carry_out(["driver", "hosts"], minutes) == 0
    assert pytest_calls == [["sim/test/test_root_campaign.py"]]
    left_out = f"left out, they do not fit into {minutes:g} min: driver"
    assert left_out in capsys.readouterr().out


def test_a_campaign_that_fails_fails_the_run(pytest_calls, capsys):
    """After the others had their turn."""
    assert campaigns.carry_out(["models", "hosts"], 1000) == 1
    assert len(pytest_calls) == 2
    assert "failed: models" in capsys.readouterr().out
