# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run a command on a fresh Debian 12 or 13, as a reader of the README has it.

    tools/fresh_root.sh 13 make test
    tools/fresh_root.sh --keep 12 sh -c 'make sim VM=0 && make test'

Debian is installed into a folder (debootstrap, its smallest variant) with git, make, python3 and
sudo, which is what the README asks for. An ordinary user there has sudo without a password and a
clone of this repository's HEAD: nothing uncommitted, no build/, no .venv. The command runs as that
user, in the clone. Its output is shown as it comes, and its exit status is returned.

The root gets nothing of this machine but the settings that its package clients need: apt's mirror
of Debian and how to reach it, CA certificates, settings of pip, Maven and sbt, proxies,
resolv.conf. The mirror is the one in this machine's apt configuration, or DEBIAN_MIRROR.

Needs root's rights (sudo will do), util-linux, git and debootstrap, which is installed if it is
missing. Mounts and processes end with the command, for whatever reason it ends. The installed
Debian is kept as build/fresh/*.tar, as it was before the command, so that the next root takes
seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

# Modules of the repository are imported after sys.path is set: for a script Python looks in the
# script's folder, not in the repository's root.
from sim.guest import SetupError, mirror  # noqa: E402
from tools import needs, prepare  # noqa: E402
from tools.progress import StepError, run, tied  # noqa: E402

SUITES = {"12": "bookworm", "13": "trixie"}
# The packages that the README expects on a reader's machine, and the CA certificates that git
# recommends.
PACKAGES = ("git", "make", "python3", "sudo", "ca-certificates")
USER = "reader"
HOME = f"/home/{USER}"
CLONE = f"{HOME}/lanebox"
KEPT = ROOT / "build" / "fresh"
# A folder with a file of this name is one that this program may remove.
MARK = ".lanebox-fresh-root"
NAMESPACES = ("unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--")
ENTER = ROOT / "tools" / "enter_root.sh"

# Matches variables that are settings of package clients: how to reach a registry, which registry to
# use, and which hosts to trust.
CLIENT_VARIABLES = re.compile(
    r"(?i:(https?|ftp|all|no)_proxy)|PIP_(INDEX_URL|EXTRA_INDEX_URL|TRUSTED_HOST|PROXY|CERT)"
    r"|PIP_(DEFAULT_TIMEOUT|RETRIES)|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"
    r"|JAVA_TOOL_OPTIONS|MAVEN_(OPTS|ARGS)|SBT_OPTS|COURSIER_REPOSITORIES"
)
APT_SETTINGS = re.compile(r"Acquire::(Check-|https?::|Retries|ForceIPv)")
SYSTEM_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")
CERTIFICATES = "/usr/local/share/ca-certificates"
USER_FILES = (
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".m2/settings.xml",
    ".mavenrc",
    ".sbt/repositories",
)


class RootError(RuntimeError):
    """The fresh root cannot be made. The text says why, and what to do."""


# Debian -------------------------------------------------------------------------------------------


def archive(release: str) -> list[tuple[str, str]]:
    """Return pairs (mirror, suite) for a Debian release.

    The mirrors are those of this machine; the suites are those of the release.
    """
    suite = SUITES[release]
    own = {mirror.suite(), "stable", "oldstable"}
    pairs = []
    for url, name in mirror.sources():
        stem, dash, part = name.partition("-")
        pairs.append((url, (suite if stem in own else stem) + dash + part))
    return pairs


def apt_settings(dump: str, environment: dict[str, str]) -> str:
    """Return the settings in `apt-config dump` by which the archive is reached, and the proxies.

    `environment` may name proxies, too. The root's sudo does not pass them on to apt, so apt must
    have them in a file.
    """
    kept = [line for line in dump.splitlines() if APT_SETTINGS.match(line)]
    for scheme in ("http", "https"):
        name = f"Acquire::{scheme}::Proxy"
        proxy = environment.get(f"{scheme}_proxy")
        if proxy and not any(line.startswith(f"{name} ") for line in kept):
            kept.append(f'{name} "{proxy}";')
    return "".join(line + "\n" for line in kept)


def debootstrap(release: str, folder: Path) -> None:
    """Install the smallest Debian with PACKAGES into the empty folder `folder`."""
    keyring = os.environ.get("DEBIAN_KEYRING", needs.KEYRING)
    if not Path(keyring).exists():
        raise RootError(f"{keyring}, the keys of Debian's archive, is missing on this machine")
    url = archive(release)[0][0]
    options = ["--variant=minbase", f"--include={','.join(PACKAGES)}", f"--keyring={keyring}"]
    command = ["debootstrap", *options, "--force-check-gpg", SUITES[release], folder, url]
    # debootstrap gets namespaces of its own, since an interrupted debootstrap leaves mounts and
    # processes.
    what = f"debootstrap: Debian {release}"
    run([*NAMESPACES, *command], what, tie=True, note=lambda line: line.removeprefix("I: "))


def base(release: str, folder: Path) -> None:
    """Put a Debian into `folder`.

    If an earlier call has kept this Debian as a tar archive, it is unpacked. Otherwise it is
    installed and kept.
    """
    recipe = repr((archive(release)[0], PACKAGES, "minbase"))
    name = f"debian-{release}-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}.tar"
    kept = KEPT / name
    if kept.exists():
        run(["tar", "-C", folder, "--numeric-owner", "-xpf", kept], f"unpack {kept.name}", tie=True)
        return
    debootstrap(release, folder)
    part = kept.with_suffix(".part")
    command = ["tar", "-C", folder, "--numeric-owner", f"--exclude=./{MARK}", "-cf", part, "."]
    run(command, f"keep {kept.name}", tie=True)
    part.rename(kept)


# What the root gets -------------------------------------------------------------------------------


def client_environment(environment: dict[str, str], folder: Path) -> dict[str, str]:
    """Return the variables of package clients, for use in the root.

    A variable that names a file which the root lacks is left out.
    """
    kept = {name: value for name, value in environment.items() if CLIENT_VARIABLES.fullmatch(name)}
    return {
        name: value
        for name, value in kept.items()
        if not value.startswith("/") or (folder / value.lstrip("/")).exists()
    }


def give(source: Path, target: Path) -> None:
    """Copy a file, or a folder's files, into the root if it exists. Symbolic links are followed."""
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    elif source.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy(source, target)


def give_client_settings(release: str, folder: Path, home: Path) -> None:
    """Write and copy the settings that the package clients in the root need."""
    apt = folder / "etc" / "apt"
    lines = [f"deb {url} {suite} main\n" for url, suite in archive(release)]
    (apt / "sources.list").write_text("".join(lines))
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True).stdout
    (apt / "apt.conf.d" / "90lanebox").write_text(apt_settings(dump, dict(os.environ)))
    for name in (*SYSTEM_FILES, CERTIFICATES):
        give(Path(name), folder / name.lstrip("/"))
    for name in USER_FILES:
        give(home / name, folder / HOME.lstrip("/") / name)


def give_clone(folder: Path) -> None:
    """Clone this repository's HEAD, with its history, into the home of the root's user."""
    # With safe.directory git accepts a repository that belongs to another user. This repository may
    # not belong to root.
    settings = folder / "tmp" / "gitconfig"
    settings.write_text("[safe]\n\tdirectory = *\n[advice]\n\tdetachedHead = false\n")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": str(settings)}
    target = folder / CLONE.lstrip("/")
    command = ["git", "clone", "--quiet", "--no-local", ROOT, target]
    run(command, "clone HEAD", tie=True, env=environment)
    run(["git", "-C", target, "remote", "remove", "origin"], "", patience=60, env=environment)
    settings.unlink()


def fill(release: str, folder: Path, home: Path) -> None:
    """Make the root's user, the user's clone and the settings of the package clients."""
    command = ["useradd", "--create-home", "--uid", "1000", "--shell", "/bin/bash", USER]
    run(["chroot", folder, *command], "", patience=60)
    (folder / "etc" / "sudoers.d" / USER).write_text(f"{USER} ALL=(ALL) NOPASSWD: ALL\n")
    give_client_settings(release, folder, home)
    run(["chroot", folder, "update-ca-certificates"], "CA certificates", patience=10)
    give_clone(folder)
    run(["chroot", folder, "chown", "-R", f"{USER}:{USER}", HOME], "", patience=60)


# Running in it ------------------------------------------------------------------------------------


def inside(folder: Path, command: list[str], environment: dict[str, str]) -> list[str]:
    """Return the command line that runs `command` in the root, as the user, in the clone."""
    variables = {
        "HOME": HOME,
        "USER": USER,
        "LOGNAME": USER,
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "TERM": environment.get("TERM", "dumb"),
        **client_environment(environment, folder),
    }
    user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"]
    clean = ["env", "-i", f"--chdir={CLONE}", *(f"{k}={v}" for k, v in variables.items())]
    return [*NAMESPACES, str(ENTER), str(folder), *user, *clean, *command]


def first_process(unshare: int) -> int | None:
    """Return the PID of the first process in the namespaces of the process `unshare`, or None."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()
        return int(words[0]) if words else None
    return None


def call(command: list[str]) -> int:
    """Run a command that makes namespaces. Return its exit status.

    No process in the namespaces outlives this function.
    """
    child = subprocess.Popen(tied(command))
    try:
        status = child.wait()
    finally:
        if child.poll() is None:
            # When the first process of a PID namespace ends, the kernel ends all other processes in
            # it, and then unshare ends.
            first = first_process(child.pid)
            with contextlib.suppress(ProcessLookupError):
                os.kill(first or child.pid, signal.SIGKILL)
            child.wait()
    return status if status >= 0 else 128 - status


def remove(folder: Path) -> None:
    """Remove a root that this program has made.

    The root's mounts exist in its namespaces only, so nothing else is removed with it.
    """
    if (folder / MARK).exists():
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


def make_folder(folder: Path) -> None:
    """Make an empty folder for a root.

    An earlier root in the same place is removed. Raises RootError if the folder has other files.
    """
    remove(folder)
    if folder.exists() and any(folder.iterdir()):
        raise RootError(f"{folder} is not empty, and no root of this program's. Name another --in")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()


# Command line -------------------------------------------------------------------------------------


def arguments(argv: list[str]) -> argparse.Namespace:
    """Parse the command line and return its options."""
    parser = argparse.ArgumentParser(
        prog="tools/fresh_root.sh",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("release", choices=SUITES, metavar="RELEASE", help="12 or 13")
    place = "where the root is put; default build/fresh/debian-RELEASE"
    parser.add_argument("--in", dest="folder", type=Path, metavar="DIR", help=place)
    parser.add_argument("--keep", action="store_true", help="do not remove the root afterwards")
    again = "run in the root that --keep left there, as it was left; keeps it, too"
    parser.add_argument("--again", action="store_true", help=again)
    # The program, called by an ordinary user, starts itself again under sudo. This hidden option
    # tells that second process in whose home the settings are.
    parser.add_argument("--home", type=Path, default=Path.home(), help=argparse.SUPPRESS)
    what = "what to run in it, e.g. make test; options stand before RELEASE"
    parser.add_argument("command", nargs=argparse.REMAINDER, help=what)
    options = parser.parse_args(argv)
    if not options.command:
        parser.error("no command to run, e.g. `make test`")
    options.folder = (options.folder or KEPT / f"debian-{options.release}").resolve()
    return options


def as_root(argv: list[str]) -> int:
    """Call this program again by sudo, with the variables that sudo would drop.

    Returns the exit status of that call.
    """
    prefix = prepare.privilege()
    if prefix is None:
        raise RootError("a root is made with root's rights, and sudo gives none here")
    names = ("TERM", "DEBIAN_MIRROR", "DEBIAN_SUITE", "DEBIAN_KEYRING")
    kept = [
        f"{name}={value}"
        for name, value in os.environ.items()
        if name in names or CLIENT_VARIABLES.fullmatch(name)
    ]
    own = [sys.executable, __file__, f"--home={Path.home()}", *argv]
    # Ctrl-C reaches the program under sudo through the terminal, and that program cleans up. This
    # process has a handler that does nothing. If it ignored the signal, its child would, too.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    child = subprocess.Popen([*prefix, "env", *kept, *tied(own)])
    try:
        return child.wait()
    # The signal was SIGTERM or SIGHUP, which only this process has got, so the child is ended here.
    except KeyboardInterrupt:
        # The shell's built-in kill is used: a small Debian has no program of that name.
        subprocess.run([*prefix, "sh", "-c", f"kill {child.pid}"])
        child.wait()
        raise


def run_in_fresh_root(options: argparse.Namespace) -> int:
    """Make the root, run the command in it, and remove the root. Return the command's status."""
    folder = options.folder
    if options.again and not (folder / MARK).exists():
        raise RootError(f"there is no root in {folder}: --keep leaves one")
    keep = options.keep or options.again
    try:
        if not options.again:
            prepare.meet(["root"])
            make_folder(folder)
            base(options.release, folder)
            fill(options.release, folder, options.home)
        return call(inside(folder, options.command, dict(os.environ)))
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # A second Ctrl-C must not stop the removal of the root.
            signal.signal(number, signal.SIG_IGN)
        if not keep:
            remove(folder)
        else:
            print(f"The root is kept in {folder}; remove it as root.", file=sys.stderr)


def interrupt(number: int, frame) -> None:
    """Handle a signal: end the program in the same way as Ctrl-C does."""
    raise KeyboardInterrupt


def main(argv: list[str]) -> int:
    """Run a command in a fresh root, as the command line says. Return the exit status."""
    options = arguments(argv)
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    try:
        # The folder is made before sudo, so that build/ belongs to the caller and not to root.
        # Otherwise the caller's make could not write there.
        KEPT.mkdir(parents=True, exist_ok=True)
        if os.geteuid() != 0:
            return as_root(argv)
        return run_in_fresh_root(options)
    except (RootError, SetupError, prepare.PrepareError, StepError) as problem:
        print(f"error: no fresh root: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
