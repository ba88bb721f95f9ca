# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Fetches Debian packages without root, by an apt with its own state, and unpacks them below
build/.

Promises: no package is installed, and no file of the machine's apt is written. The proxies and
credentials of the machine's apt are used. apt checks every signature against Debian's keyring
(DEBIAN_KEYRING names another file). A folder with a manifest is complete and is never fetched
again. The manifest names its packages (file, size, SHA-256). Maintainer scripts are not run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sim.guest import SetupError
from tools.locks import locked
from tools.needs import KEYRING
from tools.progress import UNREACHABLE, Step, StepError, run, tail

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PATIENCE = 2  # A step that takes less than this many seconds is not shown to the user.

# apt reads this file (option -c) after the machine's own configuration. Proxies stay; hooks and
# pins are removed.
CONFIGURATION = """
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
#clear APT::Architectures;
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; }};
APT::Default-Release "";
APT::Get::AllowUnauthenticated "false";
APT::Install-Recommends "false";
APT::Keep-Downloaded-Packages "true";
APT::Sandbox::User "root"; // the user _apt may not be able to write below build/
Acquire::AllowInsecureRepositories "false";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::Cache "{home}";
Dir::Cache::archives "{home}/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::sourcelist "{home}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "{home}";
Dir::State::lists "{home}/lists";
Dir::State::status "{home}/status";
"""


@dataclass(frozen=True)
class Plan:
    """A download from Debian's archive: apt-get's arguments, and the size in bytes of each file by
    its name."""

    argv: list[str]
    files: dict[str, int]


class Archive:
    """An apt with its state in the folder `home`.

    This apt sees the given suites, and no installed package."""

    def __init__(self, home: Path, sources: list[tuple[str, str]]):
        self.home = home
        self.archives = home / "archives"
        self.suites = ", ".join(f"{mirror} {suite}" for mirror, suite in sources)
        keyring = os.environ.get("DEBIAN_KEYRING", KEYRING)
        if not Path(keyring).exists():
            raise SetupError(
                f"{keyring} is missing, and without it Debian's signatures cannot be checked: "
                "install the package debian-archive-keyring."
            )
        for name in ("lists/partial", "archives/partial"):
            (home / name).mkdir(parents=True)
        (home / "status").touch()
        (home / "sources.list").write_text(
            "".join(f"deb [arch=amd64 signed-by={keyring}] {m} {s} main\n" for m, s in sources)
        )
        (home / "apt.conf").write_text(CONFIGURATION.format(home=home) + _only_packages())

    def _argv(self, program: str, *arguments: str) -> list[str]:
        return [program, "-c", str(self.home / "apt.conf"), "-q", *arguments]

    def _ask(self, program: str, *arguments: str) -> str:
        """Return what the apt program prints.

        Each call reads all package indexes, which takes seconds."""
        try:
            return run(
                self._argv(program, *arguments),
                f"{program} {arguments[0]}",
                patience=PATIENCE,
                cwd=self.archives,
                env=_environment(),
            )
        except StepError as error:
            raise SetupError(
                f"{program} {' '.join(arguments)} failed on {self.suites}:\n{tail(error.output)}"
            ) from None

    def update(self, what: str) -> None:
        """Fetch the package indexes of all suites.

        `what` names the purpose in messages to the user."""

        def fetched(line: str) -> str | None:
            amount = re.match(r"Fetched ([\d.,]+ \w+) in", line)
            return amount and amount.group(1)

        argv = self._argv("apt-get", "update", "-o", "APT::Update::Error-Mode=any")
        step = f"{what}: package indexes"
        try:
            run(argv, step, tie=True, note=fetched, env=_environment())
        except StepError as error:
            if UNREACHABLE.search(str(error)):
                raise SetupError(
                    f"apt reaches none of {self.suites}. Is this machine online, and is its proxy "
                    "known (`apt-config dump Acquire`, https_proxy)? Only the first run needs it. "
                    "Go on with the same command once it is, or run `make sim VM=0`."
                ) from None
            raise SetupError(
                f"{error}\n  A guest needs {self.suites}. Name another mirror with "
                "`DEBIAN_MIRROR=<its URL>`, or run `make sim VM=0`."
            ) from None

    def control(self, package: str) -> dict[str, str]:
        """Return the control fields of a package's candidate version.

        The result is {} if the suites lack the package."""
        argv = self._argv("apt-cache", "show", "--no-all-versions", package)
        result = subprocess.run(argv, capture_output=True, text=True, env=_environment())
        first = result.stdout.split("\n\n")[0]
        return dict(re.findall(r"^([\w-]+): (.*)$", first, re.MULTILINE))

    def names(self, prefix: str) -> list[str]:
        """Return the names of all packages of the suites that start with the prefix, sorted."""
        lines = self._ask("apt-cache", "pkgnames", prefix).splitlines()
        return sorted(line for line in lines if line.startswith(prefix))

    def plan_closure(self, suite: str, *names: str) -> Plan:
        """Return the plan to fetch these packages of the suite with all packages that they depend
        on, even libc."""
        return self._plan("install", "--download-only", "-y", "-t", suite, *names)

    def plan_exact(self, packages: list[str]) -> Plan:
        """Return the plan to fetch these packages (`name` or `name=version`) and nothing else."""
        return self._plan("download", *packages)

    def _plan(self, *argv: str) -> Plan:
        output = self._ask("apt-get", *argv, "--print-uris")
        files = re.findall(r"^'\S+' (\S+) (\d+)", output, re.MULTILINE)
        return Plan(list(argv), {name: int(size) for name, size in files})

    def fetch(self, plan: Plan, what: str) -> list[Path]:
        """Fetch the plan's packages and return the .deb files.

        Raise SetupError if one did not come."""
        run(
            self._argv("apt-get", *plan.argv),
            f"{what}: {len(plan.files)} packages",
            tie=True,
            total=sum(plan.files.values()),
            measure=lambda: _size(self.archives),
            cwd=self.archives,
            env=_environment(),
        )
        paths = [self.archives / name for name in sorted(plan.files)]
        for path in paths:
            if not path.exists():
                raise SetupError(
                    f"apt-get fetched no {path.name}: the archive may just have changed. Run the "
                    "command again."
                )
        return paths


def _only_packages() -> str:
    """Return apt settings by which only package indexes are fetched.

    The machine's configuration may ask apt for further indexes for other programs, such as icons.
    """
    known = subprocess.run(
        ["apt-config", "dump", "Acquire::IndexTargets"], capture_output=True, text=True, check=False
    )
    names = set(re.findall(r"IndexTargets::deb::([\w.-]+)::", known.stdout)) - {"Packages"}
    setting = 'Acquire::IndexTargets::deb::{}::DefaultEnabled "false";\n'
    return "".join(setting.format(name) for name in sorted(names))


def _environment() -> dict[str, str]:
    # The output of apt is parsed, so it must be in one language.
    return dict(os.environ, LC_ALL="C.UTF-8", DEBIAN_FRONTEND="noninteractive")


def _size(directory: Path) -> int:
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            # apt may rename a file after the folder was listed and before the file's size is asked
            # for.
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(folder, name)).st_size
    return total


# Unpacking of Debian's packages -------------------------------------------------------------------


def manifest(directory: Path) -> dict | None:
    """Return the manifest of an unpacked folder, or None if it is missing or incomplete."""
    with contextlib.suppress(OSError, ValueError):
        return json.loads((directory / "manifest.json").read_text())
    return None


def unpack(
    directory: Path,
    what: str,
    sources: list[tuple[str, str]],
    choose: Callable[[Archive], Plan],
    finish: Callable[[Path], dict | None] = lambda tree: None,
) -> dict:
    """Unpack the packages that `choose` plans into directory/root, and return the manifest.

    `what` names the packages in messages. `finish` gets the unpacked tree, and returns further
    entries of the manifest. The tree is made beside `directory` and renamed when it is complete, so
    that an interrupted run leaves no folder that looks complete."""
    if platform.machine() != "x86_64":
        raise SetupError(f"the guest is an x86-64 machine, and this one is {platform.machine()}.")
    with locked(BUILD / ".packages.lock"):
        if manifest(directory):
            return manifest(directory)
        directory.parent.mkdir(parents=True, exist_ok=True)
        for stale in directory.parent.glob(f".{directory.name}.*"):
            shutil.rmtree(stale, ignore_errors=True)
        with tempfile.TemporaryDirectory(
            prefix=f".{directory.name}.", dir=directory.parent
        ) as place:
            archive = Archive(Path(place) / "apt", sources)
            archive.update(what)
            files = archive.fetch(choose(archive), what)
            tree = Path(place) / "tree"
            content = {"packages": _extract_all(files, tree / "root", what)}
            content.update(finish(tree) or {})
            (tree / "manifest.json").write_text(json.dumps(content, indent=1) + "\n")
            # A folder without a manifest is incomplete, so it is removed.
            shutil.rmtree(directory, ignore_errors=True)
            tree.rename(directory)
    return content


def _extract_all(files: list[Path], root: Path, what: str) -> list[dict]:
    """Unpack the .deb files into `root`, and return the manifest's entry for each file."""
    root.mkdir(parents=True, exist_ok=True)
    packed = [path.stat().st_size for path in files]
    with Step(f"{what}: unpack", sum(packed), patience=PATIENCE) as step:
        entries = []
        for path in files:
            entries.append(_extract(path, root))
            step.show(sum(packed[: len(entries)]))
    return entries


def _extract(path: Path, root: Path) -> dict:
    subprocess.run(["dpkg-deb", "-x", str(path), str(root)], check=True)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"file": path.name, "size": path.stat().st_size, "sha256": digest}
