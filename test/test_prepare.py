# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""tools/prepare.py: only what is missing is installed, and nothing half-made is trusted."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import prepare
from tools.needs import NEEDS, Need
from tools.progress import StepError

WIDGET = Need("widget", lambda: False, ("widget-ng", "widget-dev"))


@pytest.fixture
def apt(monkeypatch, tmp_path):
    """A machine with an apt that knows the packages in a file, and writes down what it is told."""
    folder = tmp_path / "apt"
    folder.mkdir()
    (folder / "known").write_text("widget-dev\n")

    def program(name, text):
        (folder / name).write_text(f"#!/bin/bash\ncd {folder}\n{text}\n")
        (folder / name).chmod(0o755)

    program(
        "apt-cache",
        'for p in "${@:2}"; do grep -qx "$p" known && '
        'printf "%s:\\n  Installed: (none)\\n  Candidate: 1.0\\n" "$p"; done',
    )
    program(
        "apt-get",
        'case "$*" in\n'
        "*--print-uris*) echo \"'http://m.example/w.deb' w.deb 1500000 SHA256:0\" ;;\n"
        "*' update'*) echo update >> calls; [ -e news ] && cat news >> known; rm -f stale ;;\n"
        "*) echo \"$*\" >> calls; [ ! -e half ] || { cat half; exit 100; }\n"
        "  [ ! -e stale ] || { echo '404 Not Found'; exit 100; } ;;\n"
        "esac\nexit 0",
    )
    program("dpkg", 'echo "dpkg $*" >> calls; rm -f half')
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(prepare, "privilege", lambda: [])
    (folder / "calls").touch()
    return folder


def calls(apt):
    """What apt was told, the options left out."""
    return [re.sub(r"(-q|-o \S+) ", "", line) for line in (apt / "calls").read_text().splitlines()]


INSTALL = "install -y --no-install-recommends --no-remove widget-dev"


def test_the_first_package_that_apt_knows_is_installed(apt):
    """Debian 12 and 13 call some libraries differently; without a need to, nothing is updated."""
    prepare.install([WIDGET])
    assert calls(apt) == [INSTALL]


def test_a_package_that_apt_does_not_know_yet_is_looked_for(apt):
    """A machine that never ran an update has empty indexes."""
    (apt / "known").write_text("")
    (apt / "news").write_text("widget-dev\n")
    prepare.install([WIDGET])
    assert calls(apt) == ["update", INSTALL]


def test_indexes_out_of_date_are_updated_once(apt):
    """The archive may have dropped the version that the machine's indexes name."""
    (apt / "stale").touch()
    prepare.install([WIDGET])
    assert calls(apt) == [INSTALL, "update", INSTALL]


def test_an_interrupted_installation_is_ended_first(apt):
    """After Ctrl-C in apt, dpkg wants its `--configure -a` before it does anything else."""
    words = "you must manually run 'sudo dpkg --configure -a' to correct the problem."
    (apt / "half").write_text(f"E: dpkg was interrupted, {words}\n")
    prepare.install([WIDGET])
    assert calls(apt) == [INSTALL, "dpkg --configure -a", INSTALL]


def test_a_package_that_does_not_exist_is_an_error(apt):
    """The message names what is missing, not what was tried."""
    (apt / "known").write_text("")
    with pytest.raises(prepare.PrepareError, match="no package for: widget"):
        prepare.install([WIDGET])


def test_without_root_the_command_is_printed(apt, monkeypatch, capsys):
    """Exit status 2, and a line that root can paste."""
    monkeypatch.setattr(prepare, "privilege", lambda: None)
    with pytest.raises(SystemExit) as caught:
        prepare.install([WIDGET])
    assert caught.value.code == 2
    errors = capsys.readouterr().err
    assert "widget" in errors
    assert "apt-get install -y --no-install-recommends widget-dev\n" in errors
    assert calls(apt) == []


def test_how_much_is_fetched_is_said(apt, capsys):
    """Number of packages and megabytes, before the wait."""
    prepare.install([WIDGET])
    assert "widget-dev (1 packages, 1.5 MB)" in capsys.readouterr().err


def test_without_apt_the_needs_are_named(monkeypatch, tmp_path):
    """Another distribution: the reader installs by hand."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(prepare.PrepareError, match=r"missing on this machine: widget.*no apt-get"):
        prepare.install([WIDGET])


def test_nothing_is_installed_when_nothing_is_missing(monkeypatch):
    """Not even apt is asked."""
    monkeypatch.setattr(prepare, "missing", lambda groups: [])
    monkeypatch.setattr(prepare, "install", None)
    prepare.meet(["sim"])


def test_what_stays_missing_is_an_error(apt, monkeypatch):
    """An old Verilator first in PATH, for example; the package that did not help is named."""
    monkeypatch.setattr(prepare, "missing", lambda groups: [WIDGET])
    with pytest.raises(
        prepare.PrepareError, match=r"still missing.*widget \(package widget-dev\).*PATH"
    ):
        prepare.meet(["sim"])
    assert calls(apt) == [INSTALL, INSTALL]


def test_what_is_optional_and_unknown_to_apt_stops_nobody(apt, monkeypatch):
    """A distribution without the package goes without; one that has it gets it."""
    wanted = Need("gadget", lambda: False, ("gadget",), optional=True)
    monkeypatch.setattr(prepare, "missing", lambda groups: [wanted])
    prepare.meet(["readers"])
    assert calls(apt) == []
    (apt / "known").write_text("gadget\n")
    with pytest.raises(prepare.PrepareError, match="still missing.*gadget"):
        prepare.meet(["readers"])
    assert calls(apt)[0].endswith("--no-remove gadget")


# .venv --------------------------------------------------------------------------------------------


@pytest.fixture
def steps(monkeypatch, tmp_path):
    """A project in an empty directory, and the steps that would have been run for its .venv."""
    root = tmp_path / "project"
    (root / "tools").mkdir(parents=True)
    (root / "tools" / "requirements.lock").write_text("litex==2024.12\n")
    (root / "setup.py").write_text("setup()\n")
    monkeypatch.setattr(prepare, "ROOT", root)
    monkeypatch.setattr(prepare, "VENV", root / ".venv")
    monkeypatch.setattr(prepare, "LOCK", root / "tools" / "requirements.lock")
    done = []

    def run(argv, what, **_):
        step = "venv" if "venv" in argv else "project" if "--editable" in argv else "packages"
        if "-r" in argv and argv[-1] != prepare.LOCK:
            step = Path(argv[-1]).stem
        done.append(step)
        if step == "venv":
            # A virtual environment without pip's files, which is enough to be recognised by.
            place = Path(argv[-1])
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
            next(place.glob("lib/python*/site-packages")).joinpath("pip.py").touch()

    monkeypatch.setattr(prepare, "run", run)
    return done


def made(steps, *groups):
    """Which steps this call took."""
    steps.clear()
    prepare.make_venv(list(groups))
    return list(steps)


def test_the_second_time_nothing_is_done(steps):
    """The stamps say that the lock file and the project's set-up files are as they were."""
    assert made(steps) == ["venv", "packages", "project"]
    assert made(steps) == []


def test_another_lock_file_makes_another_venv(steps):
    """From the beginning: what is no longer asked for must not stay."""
    made(steps)
    prepare.LOCK.write_text("litex==2024.13\n")
    assert made(steps) == ["venv", "packages", "project"]


def test_another_setup_py_installs_the_project_again(steps):
    """And leaves the packages alone."""
    made(steps)
    (prepare.ROOT / "setup.py").write_text("setup(name='lanebox')\n")
    assert made(steps) == ["project"]


def test_an_interrupted_installation_is_not_trusted(steps, monkeypatch):
    """What pip left half-made is removed by the next run."""
    whole = prepare.run

    def broken(argv, what, **rest):
        if "--require-hashes" in argv:
            (prepare.VENV / "half").touch()
            raise KeyboardInterrupt
        whole(argv, what, **rest)

    monkeypatch.setattr(prepare, "run", broken)
    with pytest.raises(KeyboardInterrupt):
        prepare.make_venv([])
    monkeypatch.setattr(prepare, "run", whole)
    assert made(steps) == ["venv", "packages", "project"]
    assert not (prepare.VENV / "half").exists()


def test_a_broken_venv_is_made_anew(steps):
    """Its Python was removed, as by an upgrade of the distribution."""
    made(steps)
    for name in os.listdir(prepare.VENV / "bin"):
        if name.startswith("python"):
            (prepare.VENV / "bin" / name).unlink()
    (prepare.VENV / "bin" / "python").symlink_to("/nowhere/python3.8")
    assert made(steps) == ["venv", "packages", "project"]


def test_a_moved_venv_is_made_anew(steps, monkeypatch):
    """The programs in it name the place where they were installed."""
    made(steps)
    moved = prepare.ROOT.with_name("moved")
    shutil.move(prepare.ROOT, moved)
    monkeypatch.setattr(prepare, "ROOT", moved)
    monkeypatch.setattr(prepare, "VENV", moved / ".venv")
    monkeypatch.setattr(prepare, "LOCK", moved / "tools" / "requirements.lock")
    assert made(steps) == ["venv", "packages", "project"]


def test_packages_of_a_group_are_installed_when_it_is_asked_for(steps):
    """Into the same .venv, once per state of their lock file; groups without one need nothing."""
    lock = prepare.LOCK.with_name("requirements-synthesis.lock")
    lock.write_text("yosys==1\n")
    assert made(steps, "sim") == ["venv", "packages", "project"]
    assert made(steps, "sim", "synthesis") == ["requirements-synthesis"]
    assert made(steps, "sim", "synthesis") == []
    lock.write_text("yosys==2\n")
    assert made(steps, "synthesis") == ["requirements-synthesis"]


# What cannot work ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["with space", "with:colon"])
def test_a_path_that_make_cannot_take_is_refused(monkeypatch, name):
    """Before anything is installed, and not by a riddle from kbuild."""
    monkeypatch.setattr(prepare, "ROOT", Path("/home/user") / name)
    with pytest.raises(prepare.PrepareError, match=f"{name}.*Move it"):
        prepare.refuse_what_cannot_work(["sim"])


def test_another_processor_can_do_without_a_guest(monkeypatch):
    """Only the guest is bound to x86-64."""
    monkeypatch.setattr(prepare.platform, "machine", lambda: "aarch64")
    prepare.refuse_what_cannot_work(["sim"])
    with pytest.raises(prepare.PrepareError, match=r"aarch64.*VM=0"):
        prepare.refuse_what_cannot_work(["sim", "guest"])


def test_an_unknown_group_is_a_usage_error(capsys):
    """The message lists the groups."""
    with pytest.raises(SystemExit):
        prepare.main(["gest"])
    assert f"there are {', '.join(prepare.NEEDS)}" in capsys.readouterr().err


def test_a_failed_step_is_no_traceback(monkeypatch, capsys):
    """Exit status 1 and the step's own words."""

    def fail(groups):
        raise StepError("apt: widget-dev: exit status 100")

    monkeypatch.setattr(prepare, "meet", fail)
    assert prepare.main(["sim"]) == 1
    assert "error: apt: widget-dev: exit status 100" in capsys.readouterr().err


def test_a_checkout_that_cannot_be_written_is_no_traceback(monkeypatch, tmp_path, capsys):
    """Exit status 1, and the folder that has to be given to the user; here it is a file."""
    (tmp_path / "build").touch()
    monkeypatch.setattr(prepare, "ROOT", tmp_path)
    assert prepare.main(["sim"]) == 1
    error = capsys.readouterr().err
    assert f"error: {tmp_path}/build cannot be written" in error and "Give the folder" in error


# The lock file ------------------------------------------------------------------------------------


LOCKS = [prepare.LOCK, *prepare.group_locks(list(NEEDS)).values()]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_locked_package_has_a_version_and_hashes(lock):
    """pip takes nothing else, whatever the index offers."""
    text = lock.read_text()
    entries = re.findall(r"^[a-zA-Z].*(?:\n    --hash.*)*", text, re.MULTILINE)
    assert entries
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.]+[ \\]", entry), entry
        assert "--hash=sha256:" in entry, entry
    assert "://" not in text


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_the_lock_file_has_what_is_asked_for(lock):
    """Version by version; a change in requirements.txt must be locked."""
    asked = re.findall(r"^[\w.-]+==\S+", lock.with_suffix(".txt").read_text(), re.MULTILINE)
    locked = re.findall(r"^[\w.-]+==[\w.]+", lock.read_text(), re.MULTILINE)
    assert asked and set(asked) <= set(locked)
