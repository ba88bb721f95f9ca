# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every command in README.md, as it stands there."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from sim.guest import driver
from sim.guest import kernel as guest_kernel

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 900

# Run here only by `make soak` and CI: too long for `make test`, or `make test` itself.
LONG = {
    "make sim", "make bench", "make sim MPS=128", "make sim KERNEL=6.12",
    "make sim ENDPOINT=litepcie", "make sim DRIVER=stock", "make sim MSIX=1",
}  # fmt: skip
ELSEWHERE = {"make test"}  # this is it
INTERACTIVE = {"make shell"}
# What the text around the blocks says to run, and the test that runs it, or what it is made of.
IN_THE_TEXT = {
    "DEBIAN_MIRROR=... make sim": "sim/test/test_guest_mirror.py::test_a_named_mirror_overrides",
    "make bench VM=1": "sim/test/test_host.py::test_the_driver_costs_less_than_litepcie_s",
    "make soak": "test/test_campaigns.py::test_every_soak_test_is_in_one_campaign",
    "make soak SOAK=full": "sim/test/test_guest_driver_soak.py::test_surprise_removals",
    "make soak SOAK=kernels": "sim/test/test_user_iommufd.py::test_iommufd_passes_the_same_suite",
    "make -C software/kernel": "sim/test/test_readme.py::test_the_driver_is_built_by_its_makefile",
    "man software/user/litepcie_util.1":
        "test/test_software_util.py::test_the_manual_page_is_well_formed",
    "pip install ./software/python":
        "sim/test/test_python_host.py::test_pip_builds_and_installs_it",
    "lanebox-live": "sim/test/test_python_host.py::test_pip_builds_and_installs_it",
    "targets/ku5p.py --compat seed000":
        "sim/test/test_compat.py::test_the_memories_are_where_the_seed_has_them",
    "./targets/ku5p.py --synth-only": "test/test_silicon.py::test_the_default_build_fits",
    "python3 tools/campaigns.py":
        "test/test_campaigns.py::test_the_program_says_what_it_would_run_and_why",
    "tools/fresh_root.sh 13 make test":
        "test/test_fresh_root.py::test_ci_takes_either_release_by_the_number_of_commits",
}  # fmt: skip
SPOKEN = r"`((?:DEBIAN_MIRROR=\S+ )?(?:make|man|pip|python3?|sudo) [^`]+|(?:\./)?targets/\S+ -[^`]+"
SPOKEN += r"|tools/[^`\s]+ [^`]+|lanebox-live)`"


def commands() -> list[str]:
    """The lines of README's sh blocks, without their comments."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = "".join(blocks).splitlines()
    return [line.partition("#")[0].strip() for line in lines if line.strip()]


def plain() -> list:
    """Those that need no terminal, the long ones marked."""
    return [
        pytest.param(line, marks=pytest.mark.soak if line in LONG else ())
        for line in commands()
        if line not in ELSEWHERE | INTERACTIVE
    ]


@pytest.mark.parametrize("command", plain())
def test_a_command_of_the_readme_works(command, results_kept):
    """It ends with status 0, in a shell, from the repository's root."""
    done = subprocess.run(
        command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_the_lists_above_are_the_readmes():
    """A command that leaves the README leaves these lists as well."""
    assert LONG | ELSEWHERE | INTERACTIVE <= set(commands())


def test_a_command_in_the_text_is_run_somewhere():
    """Between backquotes, outside the blocks: in a block as well, or by the test that is named."""
    text = re.sub(r"```.*?```", "", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    spoken = set(re.findall(SPOKEN, text))
    assert spoken - set(commands()) == IN_THE_TEXT.keys()
    for place in IN_THE_TEXT.values():
        file, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(), place


@pytest.mark.guest
def test_the_driver_is_built_by_its_makefile(tmp_path):
    """As on a machine whose kernel's headers are installed, but for where these are."""
    kernel = guest_kernel.ensure()
    place = shutil.copytree(ROOT / "software" / "kernel", tmp_path / "kernel")
    command = ["make", "-C", place, f"KDIR={kernel.headers}", f"CC={driver.compiler(kernel)}",
               *driver.OPTIONS]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0 and (place / "litepcie.ko").exists(), done.stderr[-3000:]


@pytest.mark.guest
def test_make_shell_gives_a_guest_to_a_person():
    """On a terminal: a prompt, the driver loaded, the utility in the path; exit powers off."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT)
        os.execvp("make", ["make", "shell"])
    text, typed, deadline = b"", False, time.monotonic() + 120
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            text += os.read(terminal, 4096)
        except OSError:  # the terminal's other end is closed
            break
        if not typed and b"Leave with" in text and text.rstrip().endswith(b"# \x1b[6n"):
            os.write(terminal, b"litepcie_util scratch_test\nexit\n")
            typed = True
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, text[-2000:]
    assert b"38 patterns, 0 errors" in text
