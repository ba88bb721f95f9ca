#!/usr/bin/env python3
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Set this machine up for Lanebox: install missing system packages, and Python packages in .venv.

Promises: the program looks for tools and headers, not packages, and installs only what is missing.
Python packages have the versions and hashes of tools/requirements.lock. It may be run again at any
time: that takes a fraction of a second when nothing is missing, and completes the work of an
interrupted run. It needs Python 3.11 and the standard library only. QEMU and the guest's kernel are
fetched by sim/guest, not here.

Exit status: 0 everything is there, 1 something failed or (--check) is missing, 2 root is needed.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Optional

PYTHON = (3, 11)
# The check of Python's version must run, and give its message, on Python 3.6, too. So nothing
# before it needs a newer Python, and the rest of the file parses with 3.6. That rules out `from
# __future__ import annotations`, which 3.6 does not know.
if sys.version_info < PYTHON:
    sys.exit(
        f"error: {sys.executable} is Python {platform.python_version()}, and 3.11 is the least "
        "that will do. Name another one: `make PYTHON=python3.11 ...`."
    )

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

# Modules of the repository are imported after sys.path is set: for a script Python looks in the
# script's folder, not in the repository's root.
from tools.needs import NEEDS, Need, missing  # noqa: E402
from tools.progress import UNREACHABLE, StepError, run  # noqa: E402

VENV = ROOT / ".venv"
LOCK = ROOT / "tools" / "requirements.lock"
# GB that a first run needs in the clone: for the simulation (0.6 were measured), and for all tests
# (2.9 were measured).
SPACE, SPACE_FOR_TESTS = 1, 4
FOR_TESTS = "synthesis"  # The group of needs for `make test`, which has Python packages of its own.
NO_RIGHTS = re.compile(
    "not in the sudoers file|may not run sudo|not allowed to execute|incorrect password|"
    "password is required|no password was provided|a terminal is required"
)
# Patterns in the output of a failed step, and the sentence that the user gets for each.
SENTENCES = {
    r"No space left on device|enough free space|Disk quota exceeded": (
        "a disk is full (`df -h` says which one; pip also needs room in $TMPDIR or /tmp, apt in "
        "/var). Make room, and run the same command again: it goes on where it was."
    ),
    r"Could not get lock|is another process using it": (
        "another apt or dpkg is at work on this machine, such as an automatic update. Wait until "
        "it has ended, and run the same command again."
    ),
}


class PrepareError(RuntimeError):
    """The machine cannot be set up. The text says why, and what to do next."""


# System packages ----------------------------------------------------------------------------------


def known_to_apt(names: list[str]) -> set[str]:
    """Return those of these packages that the machine's apt could install."""
    asked = subprocess.run(
        ["apt-cache", "policy", *names],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ, LC_ALL="C.UTF-8"),
    )
    pattern = r"^(\S+):\n(?:  .*\n)*?  Candidate: (?!\(none\))\S+"
    return set(re.findall(pattern, asked.stdout, re.MULTILINE))


def select(needs: list[Need]) -> tuple[list[str], list[str]]:
    """Return the packages that meet these needs, and the needs that no package of apt meets."""
    known = known_to_apt([name for need in needs for name in need.one_of])
    chosen = {need.what: next((p for p in need.one_of if p in known), None) for need in needs}
    packages = sorted({name for name in chosen.values() if name})
    return packages, [what for what, name in chosen.items() if not name]


def privilege() -> Optional[list[str]]:
    """Return the words to put before a command that needs root's rights.

    The result is None if this user cannot get root's rights.
    """
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        if sys.stdin.isatty():
            return ["sudo"]
        if subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
            return ["sudo", "-n"]
    return None


def apt(prefix: list[str], *arguments: str, what: str) -> str:
    """Run apt-get as a step and return its output.

    apt-get tells its progress in lines such as `dlstatus:1:42.0:Retrieving ...`.
    """

    def note(line: str) -> Optional[str]:
        status = re.match(r"(?:dl|pm)status:[^:]*:([\d.]+):(.*)", line)
        if status:
            return f"{float(status.group(1)):.0f} %, {status.group(2)}"
        fetched = re.match(r"Fetched ([\d.,]+ \w+) in", line)
        return fetched and fetched.group(1)

    settings = ["DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1", "LC_ALL=C.UTF-8"]
    options = ["-q", "-o", "APT::Status-Fd=1", "-o", "DPkg::Lock::Timeout=300"]
    return run([*prefix, "env", *settings, "apt-get", *options, *arguments], what, note=note)


def install(needs: list[Need]) -> None:
    """Install the system packages that meet these needs, by apt.

    If the user cannot get root's rights, the commands for root are printed and the program ends.
    """
    if not shutil.which("apt-get"):
        raise PrepareError(
            f"missing on this machine: {', '.join(need.what for need in needs)}. There is no "
            "apt-get here: install them by hand and run the command again."
        )
    prefix = privilege()
    if prefix is None:
        ask_for_root(needs)
    try:
        install_with(prefix, needs)
    except StepError as problem:
        if prefix and NO_RIGHTS.search(str(problem)):
            ask_for_root(needs)
        if UNREACHABLE.search(str(problem)):
            raise offline("apt reaches no mirror", "`apt-config dump Acquire`") from problem
        raise


def install_with(prefix: list[str], needs: list[Need]) -> None:
    """Install the packages that meet these needs. `prefix` are words that give root's rights."""
    packages, unmet = select(needs)
    updated = ""
    if unmet:
        updated = apt(prefix, "update", what="apt: package indexes")
        packages, unmet = select(needs)
    # `apt-get update` succeeds even if it reaches no mirror: it keeps the indexes it had.
    if unmet and UNREACHABLE.search(updated):
        raise offline("apt reaches no mirror", "`apt-config dump Acquire`")
    if unmet:
        raise PrepareError(
            f"this machine's apt has no package for: {', '.join(unmet)}. Install it by hand and "
            "run the command again."
        )
    try:
        install_packages(prefix, packages)
    except StepError as problem:
        if "dpkg --configure -a" in str(problem):
            # An earlier installation was interrupted: dpkg must complete it first.
            finish_interrupted(prefix)
        elif updated or NO_RIGHTS.search(str(problem)):
            raise
        else:
            # The indexes may be out of date, and name files that the archive no longer has.
            apt(prefix, "update", what="apt: package indexes")
        install_packages(prefix, packages)


def offline(what: str, settings: str) -> PrepareError:
    """Return the error for a fetch that reached no server.

    `settings` is a command that shows the machine's proxy.
    """
    return PrepareError(
        f"{what}. Is this machine online, and is its proxy known ({settings}, https_proxy)? Only "
        "the first run needs it: go on with the same command once it is."
    )


def finish_interrupted(prefix: list[str]) -> None:
    """Let dpkg configure the packages that an interrupted installation has only unpacked."""
    settings = ["DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"]
    command = [*prefix, "env", *settings, "dpkg", "--configure", "-a"]
    try:
        run(command, "dpkg: end an interrupted installation")
    except StepError as problem:
        raise PrepareError(
            "an earlier installation on this machine was interrupted, and dpkg cannot end it. Let "
            "root mend that with `dpkg --configure -a`, then run the same command again.\n"
            f"{problem}"
        ) from problem


def ask_for_root(needs: list[Need]) -> None:
    """Print the commands that root must run, and exit with status 2."""
    packages, unmet = select(needs)
    packages += [need.one_of[-1] for need in needs if need.what in unmet and need.one_of]
    print(
        f"Missing on this machine: {', '.join(need.what for need in needs)}.\n"
        "Installing needs root's rights. Let root run this, then run the same command again:\n\n"
        f"    apt-get update && apt-get install -y --no-install-recommends {' '.join(packages)}\n",
        file=sys.stderr,
    )
    raise SystemExit(2)


def install_packages(prefix: list[str], packages: list[str]) -> None:
    """Install packages by apt. The step's name says how many packages and MB are fetched."""
    command = ["install", "-y", "--no-install-recommends", "--no-remove", *packages]
    plan = subprocess.run(
        ["apt-get", *command, "--print-uris"], capture_output=True, text=True, check=False
    )
    sizes = [int(size) for size in re.findall(r"^'\S+' \S+ (\d+)", plan.stdout, re.MULTILINE)]
    amount = f"{len(sizes)} packages, {sum(sizes) / 1e6:.1f} MB"
    apt(prefix, *command, what=f"apt: {', '.join(packages)} ({amount})")


def within_reach(needs: list[Need]) -> list[Need]:
    """Return the needs without the optional ones for which this machine's apt has no package."""
    if not any(need.optional for need in needs):
        return needs
    _, unmet = select(needs)
    return [need for need in needs if not (need.optional and need.what in unmet)]


def meet(groups: list[str]) -> None:
    """Install the packages of all needs of these groups that are not met.

    Two rounds are made: only when Verilator is installed is it known whether it needs lz4.h.
    """
    for _ in range(2):
        lacking = within_reach(missing(groups))
        if not lacking:
            return
        install(lacking)
    lacking = within_reach(missing(groups))
    if lacking:
        raise PrepareError(
            f"still missing after the installation: {', '.join(map(with_package, lacking))}. Is "
            "another version first in PATH?"
        )


def with_package(need: Need) -> str:
    """Return a need as text, with the package whose installation did not meet it."""
    packages, _ = select([need])
    return f"{need.what} (package {packages[0]})" if packages else need.what


# The Python environment ---------------------------------------------------------------------------


def content_hash(*paths: Path) -> str:
    """Return one hash over the contents of these files. A file may be missing."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest() if path.exists() else b"-")
    return digest.hexdigest()


def group_locks(groups: list[str]) -> dict[str, Path]:
    """Return the lock files of those of the groups that have Python packages of their own."""
    locks = {group: LOCK.with_name(f"requirements-{group}.lock") for group in groups}
    return {group: lock for group, lock in locks.items() if lock.exists()}


def wanted_stamps(groups: list[str]) -> dict[str, str]:
    """Return names and texts of the stamps that a complete .venv has: packages, project, groups.

    A stamp contains the path of .venv: programs in a virtual environment contain that path, so a
    moved one must be made again.
    """
    extra = group_locks(groups).items()
    return {
        ".lanebox-packages": f"{VENV} {content_hash(LOCK)}\n",
        ".lanebox-project": f"{VENV} {content_hash(ROOT / 'setup.py', ROOT / 'pyproject.toml')}\n",
        **{f".lanebox-{group}": f"{VENV} {content_hash(lock)}\n" for group, lock in extra},
    }


def stamped(name: str, value: str) -> bool:
    """Return whether .venv has this stamp.

    A stamp is written when the installation for which it stands is complete.
    """
    with contextlib.suppress(OSError):
        return (VENV / name).read_text() == value
    return False


def venv_runs() -> bool:
    """Return whether .venv has a Python that starts, has pip, and takes .venv for its prefix."""
    with contextlib.suppress(OSError):
        asked = subprocess.run(
            [VENV / "bin" / "python", "-I", "-c", "import sys, pip; print(sys.prefix)"],
            capture_output=True,
            text=True,
            check=False,
        )
        return asked.returncode == 0 and Path(asked.stdout.strip()) == VENV
    return False


def make_venv(groups: list[str]) -> None:
    """Make .venv with the packages of the lock files and with the project itself (editable)."""
    packages, project, *extra = wanted_stamps(groups).items()
    pip = [VENV / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install"]
    if not (stamped(*packages) and venv_runs()):
        shutil.rmtree(VENV, ignore_errors=True)
        # If this program runs in another virtual environment, .venv is made with the base Python of
        # that environment, as the other environment may be removed.
        base = getattr(sys, "_base_executable", None) or sys.executable
        run([base, "-m", "venv", VENV], "Python environment .venv")
        install_locked(pip, LOCK)
        (VENV / packages[0]).write_text(packages[1])
    if not stamped(*project):
        if (ROOT / "setup.py").exists():
            local = ["--no-deps", "--no-build-isolation", "--no-index", "--editable", ROOT]
            run([*pip, *local], "pip: lanebox")
        (VENV / project[0]).write_text(project[1])
    for stamp, lock in zip(extra, group_locks(groups).values()):
        if not stamped(*stamp):
            install_locked(pip, lock)
            (VENV / stamp[0]).write_text(stamp[1])


def install_locked(pip: list, lock: Path) -> None:
    """Install the packages of a lock file. pip refuses a package without a hash."""
    options = ["--require-hashes", "--only-binary", ":all:", "-r", lock]
    try:
        run([*pip, *options], f"pip: packages of {lock.relative_to(ROOT)}", note=pip_downloads())
    except StepError as problem:
        if UNREACHABLE.search(str(problem)):
            raise offline("pip reaches no package index", "`pip config list`") from problem
        raise


def pip_downloads() -> Callable[[str], Optional[str]]:
    """Return a function for run() that adds up the downloads in pip's output as "N MB"."""
    total = 0.0

    def note(line: str) -> Optional[str]:
        nonlocal total
        found = re.search(r"Downloading \S+ \(([\d.]+) (kB|MB)", line)
        if found:
            total += float(found.group(1)) * {"kB": 1e-3, "MB": 1}[found.group(2)]
        return f"{total:.1f} MB"

    return note


# Command line -------------------------------------------------------------------------------------


def refuse_what_cannot_work(groups: list[str]) -> None:
    """Raise PrepareError for a path or a machine on which a later step would fail unexplained."""
    if re.search(r"[\s:]", str(ROOT)):
        raise PrepareError(
            f"the repository is in {str(ROOT)!r}, and make and the kernel's build cannot cope with "
            "spaces and colons in a path. Move it."
        )
    if "guest" in groups and platform.machine() != "x86_64":
        raise PrepareError(
            f"this machine is {platform.machine()}, and the guest's driver is built with the "
            "machine's own x86-64 compiler. `make sim VM=0` runs without a guest."
        )


def refuse_a_full_disk(groups: list[str]) -> None:
    """Raise PrepareError, before anything is fetched, if a first run would fill the disk.

    Later runs need little space, and are not checked.
    """
    stamps = list(wanted_stamps([group for group in groups if group == FOR_TESTS]))
    if all((VENV / stamp).exists() for stamp in stamps):
        return
    needed = SPACE_FOR_TESTS if FOR_TESTS in groups else SPACE
    free = shutil.disk_usage(ROOT).free / 1e9
    if free < needed:
        raise PrepareError(
            f"{ROOT} has {free:.1f} GB free, and a first run takes {needed} GB there. Make "
            "room, or clone the repository to a larger disk."
        )


def refuse_a_folder_that_cannot_be_written() -> None:
    """Raise PrepareError if .venv cannot be made.

    build_lock() checks the folder build/ in the same way.
    """
    if not VENV.exists() and not os.access(ROOT, os.W_OK):
        raise PrepareError(
            f"{ROOT} cannot be written, and the Python environment .venv goes there. Give the "
            "folder to your user, or clone the repository to another place."
        )


def sentence(problem: Exception) -> Optional[str]:
    """Return the sentence for a known cause in a failed step's output, otherwise None."""
    if isinstance(problem, PrepareError):
        return None
    found = (text for pattern, text in SENTENCES.items() if re.search(pattern, str(problem)))
    return next(found, None)


def build_lock():
    """Return the open file in build/ that a set-up locks.

    Raises PrepareError if build/ cannot be written.
    """
    lock = ROOT / "build" / ".prepare.lock"
    try:
        lock.parent.mkdir(exist_ok=True)
        return open(lock, "w")
    except OSError as problem:
        raise PrepareError(
            f"{lock.parent} cannot be written ({problem.strerror}), and everything that is built "
            "goes there. Give the folder to your user, or clone the repository to another place."
        ) from problem


def check(groups: list[str]) -> bool:
    """Print for each need of the groups whether it is met. Return True if nothing is missing."""
    complete = True
    for group in groups:
        for need in NEEDS[group]:
            found = need.probe()
            complete = complete and found
            hint = f"  (package {need.one_of[-1]})" if need.one_of and not found else ""
            print(f"{'ok' if found else 'missing':8} {group:7} {need.what}{hint}")
    ready = all(stamped(*stamp) for stamp in wanted_stamps(groups).items()) and venv_runs()
    print(f"{'ok' if ready else 'missing':8} {'python':7} .venv as the lock files in tools/ say")
    return complete and ready


def main(argv: Optional[list[str]] = None) -> int:
    """Install what the groups on the command line need. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ", ".join(NEEDS)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {names}; default sim guest")
    parser.add_argument("--check", action="store_true", help="only say what is there")
    options = parser.parse_args(argv)
    groups = options.groups or ["sim", "guest"]
    unknown = [group for group in groups if group not in NEEDS]
    if unknown:
        parser.error(f"no group {unknown[0]!r}; there are {names}")
    try:
        refuse_what_cannot_work(groups)
        refuse_a_full_disk(groups)
        if options.check:
            return 0 if check(groups) else 1
        refuse_a_folder_that_cannot_be_written()
        with build_lock() as handle:
            # A second `make` waits here until the set-up of the first one is done.
            fcntl.flock(handle, fcntl.LOCK_EX)
            meet(groups)
            make_venv(groups)
    except (PrepareError, StepError) as problem:
        print(f"error: {sentence(problem) or problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run the command again to go on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
