# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/prepare.py: it installs only what is missing, and replaces what is half-made."""

import ast
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
    """Make a stand-in for apt that knows the packages in a file and logs its calls."""
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
        "*' update'*) echo update >> calls; [ -e words ] && cat words\n"
        "  [ -e news ] && cat news >> known; rm -f stale ;;\n"
        '*) echo "$*" >> calls; [ ! -e half ] || { cat half; exit 100; }\n'
        "  [ ! -e stale ] || { echo '404 Not Found'; exit 100; } ;;\n"
        "esac\nexit 0",
    )
    program("dpkg", 'echo "dpkg $*" >> calls; rm -f half')
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(prepare, "privilege", lambda: [])
    (folder / "calls").touch()
    return folder


def calls(apt):
    """Return the commands that the stand-ins for apt and dpkg were called with, without options."""
    return [re.sub(r"(-q|-o \S+) ", "", line) for line in (apt / "calls").read_text().splitlines()]


INSTALL = "install -y --no-install-recommends --no-remove widget-dev"


def test_the_first_package_that_apt_knows_is_installed(apt):
    """The first of a package's names that apt knows is installed, without an update of the indexes.

    A package may have different names in Debian 12 and 13.
    """
    prepare.install([WIDGET])
    assert calls(apt) == [INSTALL]


def test_a_package_that_apt_does_not_know_yet_is_looked_for(apt):
    """If apt does not know a package, its indexes are updated: they may be empty."""
    (apt / "known").write_text("")
    (apt / "news").write_text("widget-dev\n")
    prepare.install([WIDGET])
    assert calls(apt) == ["update", INSTALL]


def test_indexes_out_of_date_are_updated_once(apt):
    """If the archive has dropped the indexed version, the indexes are updated once."""
    (apt / "stale").touch()
    prepare.install([WIDGET])
    assert calls(apt) == [INSTALL, "update", INSTALL]


def test_an_interrupted_installation_is_ended_first(apt):
    """After an interrupted run of apt, `dpkg --configure -a` is run before the installation."""
    words = "you must manually run 'sudo dpkg --configure -a' to correct the problem."
    (apt / "half").write_text(f"E: dpkg was interrupted, {words}\n")
    prepare.install([WIDGET])
    assert calls(apt) == [INSTALL, "dpkg --configure -a", INSTALL]


def test_a_package_that_does_not_exist_is_an_error(apt):
    """If no package meets a need, the error names the need, not the packages that were tried."""
    (apt / "known").write_text("")
    with pytest.raises(prepare.PrepareError, match="no package for: widget"):
        prepare.install([WIDGET])


def test_without_root_the_command_is_printed(apt, monkeypatch, capsys):
    """Without root's rights prepare.py ends with status 2, and prints the commands for root."""
    monkeypatch.setattr(prepare, "privilege", lambda: None)
    with pytest.raises(SystemExit) as caught:
        prepare.install([WIDGET])
    assert caught.value.code == 2
    errors = capsys.readouterr().err
    assert "widget" in errors
    assert "apt-get install -y --no-install-recommends widget-dev\n" in errors
    assert calls(apt) == []


OFFLINE = "W: Failed to fetch http://m.example: Temporary failure resolving 'm.example'"


@pytest.mark.parametrize("known", ["", "widget-dev\n"], ids=["no index", "an old index"])
def test_apt_that_is_offline_says_so(apt, known):
    """If apt reaches no mirror, the error of prepare.py says so.

    It does not say that the package does not exist.
    """
    (apt / "known").write_text(known)
    (apt / "words").write_text(OFFLINE)
    (apt / "half").write_text(OFFLINE)
    with pytest.raises(prepare.PrepareError, match=r"apt reaches no mirror.*online.*same command"):
        prepare.install([WIDGET])


def test_who_may_not_use_sudo_gets_the_command_for_root(apt, monkeypatch, capsys):
    """For a user who may not use sudo, prepare.py prints the command for root, as on a machine
    without sudo.
    """
    sudo = apt / "sudo"
    sudo.write_text("#!/bin/sh\necho 'user is not in the sudoers file.'; exit 1\n")
    sudo.chmod(0o755)
    monkeypatch.setattr(prepare, "privilege", lambda: ["sudo"])
    with pytest.raises(SystemExit) as caught:
        prepare.install([WIDGET])
    assert caught.value.code == 2
    assert "apt-get install -y --no-install-recommends widget-dev\n" in capsys.readouterr().err


def test_an_interrupted_installation_that_dpkg_cannot_end_is_root_s(apt):
    """If dpkg cannot finish an installation, the error has root's command and dpkg's words."""
    (apt / "half").write_text("E: you must manually run 'sudo dpkg --configure -a'\n")
    (apt / "dpkg").write_text("#!/bin/sh\necho 'gadget: its script failed'; exit 1\n")
    with pytest.raises(prepare.PrepareError, match="interrupted.*root.*configure -a") as caught:
        prepare.install([WIDGET])
    assert "gadget: its script failed" in str(caught.value)


def test_how_much_is_fetched_is_said(apt, capsys):
    """prepare.py prints the number of packages and megabytes before the download."""
    prepare.install([WIDGET])
    assert "widget-dev (1 packages, 1.5 MB)" in capsys.readouterr().err


def test_without_apt_the_needs_are_named(monkeypatch, tmp_path):
    """On a distribution without apt the error of prepare.py lists the needs, to be installed by
    hand.
    """
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(prepare.PrepareError, match=r"missing on this machine: widget.*no apt-get"):
        prepare.install([WIDGET])


def test_nothing_is_installed_when_nothing_is_missing(monkeypatch):
    """If no need is missing, prepare.py does not run apt."""
    monkeypatch.setattr(prepare, "missing", lambda groups: [])
    monkeypatch.setattr(prepare, "install", None)
    prepare.meet(["sim"])


def test_what_stays_missing_is_an_error(apt, monkeypatch):
    """If a need is still missing after its installation, the error of prepare.py names the package,
    and PATH.
    """
    monkeypatch.setattr(prepare, "missing", lambda groups: [WIDGET])
    with pytest.raises(
        prepare.PrepareError, match=r"still missing.*widget \(package widget-dev\).*PATH"
    ):
        prepare.meet(["sim"])
    assert calls(apt) == [INSTALL, INSTALL]


def test_what_is_optional_and_unknown_to_apt_stops_nobody(apt, monkeypatch):
    """prepare.py skips an optional need if apt does not know its package, and installs it
    otherwise.
    """
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
    """Make a project in an empty folder. Return the list to which prepare.py's steps for .venv are
    added.
    """
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
            # The virtual environment has a stand-in for pip, by which prepare.py recognises it.
            place = Path(argv[-1])
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
            next(place.glob("lib/python*/site-packages")).joinpath("pip.py").touch()

    monkeypatch.setattr(prepare, "run", run)
    return done


def made(steps, *groups):
    """Return the names of the steps that make_venv() runs for these groups."""
    steps.clear()
    prepare.make_venv(list(groups))
    return list(steps)


def test_the_second_time_nothing_is_done(steps):
    """A second call of make_venv() does nothing: the lock file and the set-up files match their
    stamps.
    """
    assert made(steps) == ["venv", "packages", "project"]
    assert made(steps) == []


def test_another_lock_file_makes_another_venv(steps):
    """A changed lock file makes a new .venv, so that no old package stays."""
    made(steps)
    prepare.LOCK.write_text("litex==2024.13\n")
    assert made(steps) == ["venv", "packages", "project"]


def test_another_setup_py_installs_the_project_again(steps):
    """A changed setup.py makes make_venv() install the project again, and no packages."""
    made(steps)
    (prepare.ROOT / "setup.py").write_text("setup(name='lanebox')\n")
    assert made(steps) == ["project"]


@pytest.mark.parametrize("step", ["venv", "packages", "project"])
@pytest.mark.parametrize("ended", [False, True], ids=["within", "at its end"])
def test_after_ctrl_c_in_any_step_the_next_run_is_whole(steps, monkeypatch, step, ended):
    """After Ctrl-C in any step of make_venv(), the next run removes what is half-made, and repeats
    that step.
    """
    whole = prepare.run

    def broken(argv, what, **rest):
        before = len(steps)
        if ended:
            whole(argv, what, **rest)
        name = "venv" if "venv" in argv else "project" if "--editable" in argv else "packages"
        if name == step:
            del steps[before:]
            prepare.VENV.mkdir(exist_ok=True)
            (prepare.VENV / "half").touch()
            raise KeyboardInterrupt
        if not ended:
            whole(argv, what, **rest)

    monkeypatch.setattr(prepare, "run", broken)
    with pytest.raises(KeyboardInterrupt):
        prepare.make_venv([])
    monkeypatch.setattr(prepare, "run", whole)
    again = ["project"] if step == "project" else ["venv", "packages", "project"]
    assert made(steps) == again
    assert step == "project" or not (prepare.VENV / "half").exists()
    assert made(steps) == []


def test_a_broken_venv_is_made_anew(steps):
    """A .venv whose Python is gone, as after an upgrade of the distribution, is made again."""
    made(steps)
    for name in os.listdir(prepare.VENV / "bin"):
        if name.startswith("python"):
            (prepare.VENV / "bin" / name).unlink()
    (prepare.VENV / "bin" / "python").symlink_to("/nowhere/python3.8")
    assert made(steps) == ["venv", "packages", "project"]


def test_a_moved_venv_is_made_anew(steps, monkeypatch):
    """A moved .venv is made again, since its programs contain the old path."""
    made(steps)
    moved = prepare.ROOT.with_name("moved")
    shutil.move(prepare.ROOT, moved)
    monkeypatch.setattr(prepare, "ROOT", moved)
    monkeypatch.setattr(prepare, "VENV", moved / ".venv")
    monkeypatch.setattr(prepare, "LOCK", moved / "tools" / "requirements.lock")
    assert made(steps) == ["venv", "packages", "project"]


def test_packages_of_a_group_are_installed_when_it_is_asked_for(steps):
    """A group's packages go into the same .venv, again after a change of the group's lock file."""
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
    """A path with a space or colon is refused before anything is installed: make cannot use it."""
    monkeypatch.setattr(prepare, "ROOT", Path("/home/user") / name)
    with pytest.raises(prepare.PrepareError, match=f"{name}.*Move it"):
        prepare.refuse_what_cannot_work(["sim"])


def test_another_processor_can_do_without_a_guest(monkeypatch):
    """On a processor other than x86-64 prepare.py refuses only the group of the guest."""
    monkeypatch.setattr(prepare.platform, "machine", lambda: "aarch64")
    prepare.refuse_what_cannot_work(["sim"])
    with pytest.raises(prepare.PrepareError, match=r"aarch64.*VM=0"):
        prepare.refuse_what_cannot_work(["sim", "guest"])


def test_an_unknown_group_is_a_usage_error(capsys):
    """prepare.py refuses an unknown group of needs with a list of the groups."""
    with pytest.raises(SystemExit):
        prepare.main(["gest"])
    assert f"there are {', '.join(prepare.NEEDS)}" in capsys.readouterr().err


def test_a_failed_step_is_no_traceback(monkeypatch, capsys):
    """A failed step of prepare.py gives status 1 and the step's message, without a traceback."""

    def fail(groups):
        raise StepError("apt: widget-dev: exit status 100")

    monkeypatch.setattr(prepare, "meet", fail)
    assert prepare.main(["sim"]) == 1
    assert "error: apt: widget-dev: exit status 100" in capsys.readouterr().err


def test_a_checkout_that_cannot_be_written_is_no_traceback(monkeypatch, tmp_path, capsys):
    """If prepare.py cannot write build/ (in this test it is a file), the status is 1 and the
    message names the folder.
    """
    (tmp_path / "build").touch()
    monkeypatch.setattr(prepare, "ROOT", tmp_path)
    assert prepare.main(["sim"]) == 1
    error = capsys.readouterr().err
    assert f"error: {tmp_path}/build cannot be written" in error and "Give the folder" in error


def test_a_checkout_without_room_for_the_environment_is_no_traceback(monkeypatch, tmp_path, capsys):
    """If .venv cannot be made in the checkout, prepare.py says so before it installs anything."""
    monkeypatch.setattr(prepare, "ROOT", tmp_path)
    monkeypatch.setattr(prepare, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(prepare, "meet", None)
    monkeypatch.setattr(prepare.os, "access", lambda path, mode: path != tmp_path)
    assert prepare.main(["sim"]) == 1
    error = capsys.readouterr().err
    assert f"error: {tmp_path} cannot be written, and the Python environment" in error


@pytest.mark.parametrize(
    "words, told",
    [
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "a disk is full"),
        ("E: You don't have enough free space in /var/cache/apt/archives/.", "a disk is full"),
        ("E: Could not get lock /var/lib/dpkg/lock. It is held by process 7", "another apt"),
    ],
)
def test_what_a_step_meets_comes_down_to_one_sentence(monkeypatch, capsys, words, told):
    """A known problem in the output of a step of prepare.py becomes one sentence that says what to
    do next.
    """

    def fail(groups):
        raise StepError(f"a step: exit status 1\n    {words}\n  The command was apt")

    monkeypatch.setattr(prepare, "meet", fail)
    assert prepare.main(["sim"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {told}") and error.count("\n") == 1
    assert "run the same command again" in error


OLD = """
import runpy, sys
sys.version_info = (3, 6, 9, "final", 0)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def test_an_old_python_hears_it_in_a_sentence():
    """prepare.py parses in Python 3.6, so an old Python gets to the check of its version."""
    source = Path(prepare.__file__)
    ast.parse(source.read_text(), feature_version=(3, 6))
    assert not re.search(r"^from __future__", source.read_text(), re.MULTILINE)
    command = [sys.executable, "-c", OLD, source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.fullmatch(
        r"error: \S+ is Python \S+, and 3.11 is the least.*`make PYTHON=.*\n", done.stderr
    )


@pytest.mark.parametrize("groups, needed", [(["sim"], 1), (["sim", "guest", "synthesis"], 4)])
def test_a_disk_that_is_too_small_is_told_first(monkeypatch, tmp_path, groups, needed):
    """refuse_a_full_disk() raises an error on a disk with too little space. The error has the space
    that is free and the space that is needed.
    """
    monkeypatch.setattr(prepare, "VENV", tmp_path / ".venv")
    space = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        prepare.shutil, "disk_usage", lambda path: space._replace(free=int(0.9e9 * needed))
    )
    sentence = f"{0.9 * needed:.1f} GB free.*takes {needed} GB"
    with pytest.raises(prepare.PrepareError, match=sentence):
        prepare.refuse_a_full_disk(groups)
    (tmp_path / ".venv").mkdir()
    # Stamps of the first run, which say what was installed.
    for stamp in prepare.wanted_stamps(groups):
        (tmp_path / ".venv" / stamp).touch()
    prepare.refuse_a_full_disk(groups)


def test_a_machine_that_is_offline_hears_it_in_a_sentence(monkeypatch, tmp_path):
    """If pip reaches no index, the error asks whether the machine is online."""
    pip = tmp_path / "pip"
    pip.write_text(
        "#!/bin/sh\necho \"WARNING: Retrying after connection broken by 'NewConnectionError'\"\n"
        "echo 'ERROR: No matching distribution found for certifi==2026.10.18'; exit 1\n"
    )
    pip.chmod(0o755)
    with pytest.raises(prepare.PrepareError, match=r"Is this machine online.*same command"):
        prepare.install_locked([pip], prepare.LOCK)
    pip.write_text("#!/bin/sh\necho 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES'; exit 1\n")
    with pytest.raises(StepError, match="DO NOT MATCH THE HASHES"):
        prepare.install_locked([pip], prepare.LOCK)


# The lock file ------------------------------------------------------------------------------------


LOCKS = [prepare.LOCK, *prepare.group_locks(list(NEEDS)).values()]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_locked_package_has_a_version_and_hashes(lock):
    """Each locked package has a version and hashes, so pip installs nothing else."""
    text = lock.read_text()
    entries = re.findall(r"^[a-zA-Z].*(?:\n    --hash.*)*", text, re.MULTILINE)
    assert entries
    for entry in entries:
        assert re.match(r"[\w.-]+==[\w.]+[ \\]", entry), entry
        assert "--hash=sha256:" in entry, entry
    assert "://" not in text


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_the_lock_file_has_what_is_asked_for(lock):
    """The lock file has each package of requirements.txt in the same version."""
    asked = re.findall(r"^[\w.-]+==\S+", lock.with_suffix(".txt").read_text(), re.MULTILINE)
    locked = re.findall(r"^[\w.-]+==[\w.]+", lock.read_text(), re.MULTILINE)
    assert asked and set(asked) <= set(locked)
