# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/recall.py: a test that passed is not run again until one of its inputs changes.

The tests use a small repository of their own, with the real conftest.py and tools/recall.py.
"""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from tools import recall
from tools.testing.repository import ROOT

COUNTED = """
import pathlib, pytest{imports}
@pytest.mark.parametrize("number", [1, 2])
def test_it(number):
    with open("build/log", "a") as log:
        log.write("{name}\\n")
    assert number == 1 or not pathlib.Path("build/wrong").exists()
"""
FILES = {
    "gateware/dma/h2c.py": "",
    "gateware/Cut.scala": "",
    "software/kernel/main.c": "",
    "firmware/main.c": "",
    "sim/__init__.py": "",
    "sim/board/__init__.py": "",
    "sim/board/board.cpp": "",
    "sim/artefacts.py": 'MAKE = "software/tools"\n',
    "README.md": "",
    "gateware/test/bench.py": "",
    "gateware/test/test_other.py": "",
    "sim/test/wires.py": "",
}
# Modules of the test repository: the path of each, and the text of its source beside the test.
MODULES = {
    "model": ("gateware/test/test_model.py", ", bench\npytestmark = pytest.mark.model"),
    "board": ("sim/test/test_board.py", "\nfrom sim.board import __name__ as _"),
    "stage": ("gateware/test/test_stage.py", "\nfrom sim.board import __name__ as _"),
    "header": ("gateware/test/test_header.py", '\nHEADER = "software/uapi"'),
    "built": ("sim/test/test_built.py", "\nfrom sim import artefacts"),
    "pages": ("tools/test/test_pages.py", '\nPAGE = "README.md"'),
    "beside": ("sim/test/test_beside.py", ", test_built"),
    "lists": ("tools/test/test_lists.py", '\nCOMMAND = "git", "ls-files"'),
    "paths": ("tools/test/test_paths.py", '\nTEST = "gateware/test/test_other.py::test_it"'),
    "names": ("tools/test/test_names.py", '\nTEST = "test_other::test_it"'),
}
# Modules with every file as an input.
ANYTHING = {"built", "header", "pages", "beside", "lists", "paths", "names"}
ALL = set(MODULES)
SIDE_BY_SIDE = ("-n", "2", "--dist", "loadgroup")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Make a repository in which every test has passed once and so has left a stamp."""
    root = tmp_path_factory.mktemp("recall")
    for name in ("conftest.py", "tools/recall.py", "tools/testing/times.py"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    (root / "tools" / "__init__.py").touch()
    (root / "tools" / "testing" / "fixtures.py").touch()
    (root / "pyproject.toml").write_text(
        "[tool.pytest.ini_options]\n"
        'pythonpath = [".", "gateware/test"]\n'
        'markers = ["model: x", "soak: x"]\n'
    )
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    for name, (place, more) in MODULES.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(COUNTED.format(name=name, imports=more))
    (root / "build").mkdir()
    (root / ".gitignore").write_text("build/\n__pycache__/\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    assert run(root, *SIDE_BY_SIDE) == (ALL, 0)
    return root


@pytest.fixture
def repository(prepared, tmp_path):
    """Copy the prepared repository.

    The stamps of passed tests count in the copy, since they do not say where it lies.
    """
    return shutil.copytree(prepared, tmp_path / "copy")


def run(root, *options, seed="0"):
    """Run pytest on the test repository `root`.

    Returns the modules of which a test was run, and the number of tests that, by the summary, were
    not run.
    """
    log = root / "build" / "log"
    log.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", *options],
        cwd=root,
        capture_output=True,
        text=True,
        env={**os.environ, "LANEBOX_SEED": seed, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert re.search(r"\d+ (passed|failed)", done.stdout), done.stdout + done.stderr
    ran = set(log.read_text().split()) if log.exists() else set()
    told = re.search(r"(\d+) of \d+ passed before with the same inputs", done.stdout)
    return ran, int(told[1]) if told else 0


def change(root, name):
    """Change the content of a file of the test repository."""
    with (root / name).open("a") as file:
        file.write("\n" if name.endswith(".py") else "changed\n")


def test_what_passed_is_not_run_again(repository):
    """pytest does not run a test again that has passed, and the summary says so. With
    `--fresh` every test is run.
    """
    assert run(repository) == (set(), 2 * len(MODULES))
    assert run(repository, *SIDE_BY_SIDE) == (set(), 2 * len(MODULES))
    assert run(repository, "--fresh") == (ALL, 0)


@pytest.mark.parametrize(
    "name, ran",
    [
        ("gateware/dma/h2c.py", ALL),
        ("gateware/Cut.scala", ALL - {"model"}),
        ("sim/board/board.cpp", ALL - {"model"}),
        ("software/kernel/main.c", ANYTHING),
        ("firmware/main.c", ALL - {"model"}),
        ("gateware/test/bench.py", ALL),
        ("sim/test/wires.py", ALL),
        ("conftest.py", ALL),
        ("gateware/test/test_model.py", {"model", "lists", "paths", "names"}),
        ("gateware/test/test_other.py", {"lists", "paths", "names"}),
        ("sim/test/test_built.py", {"built", "beside", "lists", "paths", "names"}),
        ("README.md", {"pages"}),
        ("software/kernel/new.c", ANYTHING),
    ],
)
def test_a_change_runs_what_depends_on_it(repository, name, ran):
    """A changed file runs the tests that depend on it, and no others.

    A new file counts before git knows it.
    """
    change(repository, name)
    assert run(repository)[0] == ran
    assert run(repository)[0] == set()


def test_another_seed_is_another_input(repository):
    """Another LANEBOX_SEED makes every test run again, since each test takes its random numbers
    from it.
    """
    assert run(repository, seed="7") == (ALL, 0)
    assert run(repository, seed="7")[0] == run(repository)[0] == set()


def test_what_failed_runs_until_it_passes(repository):
    """A test that fails loses its stamp, and runs until it passes."""
    (repository / "build" / "wrong").touch()
    assert run(repository, "--fresh") == (ALL, 0)
    assert run(repository) == (ALL, len(MODULES))
    (repository / "build" / "wrong").unlink()
    assert run(repository) == (ALL, len(MODULES))
    assert run(repository) == (set(), 2 * len(MODULES))


def test_a_week_is_enough(repository):
    """A test that passed more than MOST_DAYS days ago is run again.

    An old stamp is also removed if it is for other inputs.
    """
    old = time.time() - (recall.MOST_DAYS + 1) * 86400
    stale = repository / "build" / "recalled" / "00" / "stale"
    stale.parent.mkdir(exist_ok=True)
    stale.touch()
    for stamp in (repository / "build" / "recalled").glob("??/*"):
        os.utime(stamp, (old, old))
    assert run(repository) == (ALL, 0)
    assert not stale.exists()
    assert run(repository)[0] == set()


@pytest.mark.parametrize("mark", ["soak", "xfail(strict=False)"])
def test_campaigns_and_expected_failures_always_run(repository, mark):
    """Soak tests and tests marked as expected failures are run even if they have passed.

    Soak tests look for states that no run has reached so far.
    """
    module = repository / MODULES["board"][0]
    module.write_text(module.read_text().replace("@pytest", f"@pytest.mark.{mark}\n@pytest", 1))
    (repository / "build" / "wrong").touch()
    # `lists` and `names` run as well, since the module of another test has changed.
    assert run(repository)[0] - {"lists", "paths", "names"} == {"board"}
    assert run(repository)[0] - {"lists", "paths", "names"} == {"board"}


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess",
        "from sim import board",
        "import test_other",
        "def late():\n    from tools import recall",
    ],
)
def test_a_model_depends_on_nothing_else(repository, text):
    """A test module marked `model` fails if it imports a file that the group `models` does not
    cover.
    """
    module = repository / MODULES["model"][0]
    module.write_text(module.read_text() + text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", module],
        cwd=repository,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "test_model.py is marked `model`, and imports" in done.stdout + done.stderr


def test_packages_are_an_input(monkeypatch, tmp_path):
    """Debian's installed packages are an input: another compiler or QEMU may behave differently."""
    monkeypatch.setattr(recall, "PACKAGES", tmp_path / "status")
    known = {recall._machine.__wrapped__()}
    for text in ("gcc 12", "gcc 13"):
        recall.PACKAGES.write_text(text)
        assert recall._machine.__wrapped__() not in known
        known.add(recall._machine.__wrapped__())


def test_another_tshark_is_another_input(monkeypatch, tmp_path):
    """If PATH leads to another tshark, no test counts as passed. Without this a test that passed
    with one Wireshark would not be run with another."""
    before = recall._machine.__wrapped__()
    program = tmp_path / "tshark"
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert recall._machine.__wrapped__() != before


def test_modules_of_the_board_are_known_as_such():
    """Modules of sim/test that start a guest or the utility belong to the group `all`."""
    board = {
        path.name
        for path in (ROOT / "sim" / "test").rglob("test_*.py")
        if not recall.beyond_board(path)
    }
    assert {"test_board_dma.py", "test_root_order.py", "test_rules.py"} < board
    assert not {name for name in board if re.search("guest|user|util|driver|readme|run", name)}
