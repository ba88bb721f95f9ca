# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Every command in README.md and in the READMEs of software and software/python works
unchanged."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sim.guest import driver
from sim.guest import kernel as guest_kernel
from sim.test.guest.guest_terminal import shell

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 900

# Commands of the READMEs that are too long for `make test`. They run in `make soak` and in CI.
LONG = {
    "make sim",
    "make bench",
    "make sim MPS=128",
    "make sim KERNEL=6.12",
    "make sim ENDPOINT=litepcie",
    "make sim DRIVER=stock",
    "make sim MSIX=1",
    "make sim VIRTIO=1",
    "make bench VIRTIO=1",
}
# Commands of the READMEs that no test runs. The tests of this file themselves run in `make test`.
ELSEWHERE = {"make test"}
# Commands that need a terminal. test_serve.py runs `make board`, test_virtio.py runs the one with
# VIRTIO=1, and test_guest_example.py runs parts of the one with an example.
INTERACTIVE = {
    "make shell",
    "make board",
    "make board CAPTURE=4",
    "make shell EXAMPLE=scale GUEST=debian",
    "make shell VIRTIO=1",
}
# {command in the text of a README, outside its blocks: the test that runs the command or its parts}
IN_THE_TEXT = {
    "DEBIAN_MIRROR=... make sim": "sim/test/guest/test_mirror.py::test_a_named_mirror_overrides",
    "make shell EXAMPLE=~/my_block": "sim/test/guest/test_guest_example.py::test_the_user_s_things_are_in_the_guest_and_come_back",
    "make bench VM=1": "sim/test/rows/test_host.py::test_the_driver_costs_less_than_litepcie_s",
    "make new NAME=crc": "tools/test/test_new.py::test_a_bare_name_is_a_folder_of_the_home",
    "make soak": "tools/test/test_campaigns.py::test_every_soak_test_is_in_one_campaign",
    "make soak SOAK=full": "sim/test/driver/test_guest_driver_soak.py::test_surprise_removals",
    "make soak SOAK=kernels": "sim/test/util/test_user_iommufd.py::test_iommufd_passes_the_same_suite",
    "make -C software": "software/test/library/test_software_installed.py::test_programs_that_were_built_are_installed",
    "make -C software/kernel": "sim/test/commands/test_readme.py::test_the_driver_is_built_by_its_makefile",
    "man software/tools/litepcie_util.1": "software/test/util/test_util_main.py::test_the_manual_page_is_well_formed",
    "man software/tools/lanebox-capture.1": "software/test/capture/test_capture_main.py::test_the_manual_page_is_well_formed",
    "pip install ./software/python": "sim/test/python/test_python_host.py::test_pip_builds_and_installs_it",
    "lanebox-live": "sim/test/python/test_python_host.py::test_pip_builds_and_installs_it",
    "targets/ku5p.py --compat seed000": "sim/test/mmio/test_compat.py::test_the_memories_are_where_the_seed_has_them",
    "./targets/ku5p.py --synth-only": "targets/test/test_silicon.py::test_the_default_build_fits",
    "python3 tools/campaigns.py": "tools/test/test_campaigns.py::test_the_program_says_what_it_would_run_and_why",
    "tools/fresh_root.sh 13 make test": "tools/test/test_fresh_root.py::test_ci_takes_either_release_by_the_number_of_commits",
}
SPOKEN = r"`((?:DEBIAN_MIRROR=\S+ )?(?:make|man|pip|python3?|sudo) [^`]+|(?:\./)?targets/\S+ -[^`]+"
SPOKEN += r"|tools/[^`\s]+ [^`]+|lanebox-live)`"


# The READMEs whose commands are tested. software/examples/README.md has a test of its own,
# test_software_examples.py.
PAGES = ("README.md", "software/README.md", "software/python/README.md")


def commands() -> list[str]:
    """Return the commands in the READMEs' sh blocks, without their comments. Each command is in the
    list once."""
    text = "".join((ROOT / page).read_text() for page in PAGES)
    lines = "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).splitlines()
    return list(dict.fromkeys(line.partition("#")[0].strip() for line in lines if line.strip()))


def plain() -> list:
    """Return the commands of the READMEs that need no terminal, as pytest parameters. Those in LONG
    run in `make soak` only."""
    return [
        pytest.param(line, marks=pytest.mark.soak if line in LONG else ())
        for line in commands()
        if line not in ELSEWHERE | INTERACTIVE
    ]


@pytest.mark.parametrize("command", plain())
def test_a_command_of_the_readme_works(command, results_kept):
    """Each command of the READMEs ends with status 0 when a shell runs it in the repository's
    root."""
    done = subprocess.run(
        command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_the_lists_above_are_the_readmes():
    """LONG, ELSEWHERE and INTERACTIVE name only commands that are in the READMEs' code blocks."""
    assert LONG | ELSEWHERE | INTERACTIVE <= set(commands())


def test_a_command_in_the_text_is_run_somewhere():
    """Each command in the text of a README is also in a block, or IN_THE_TEXT names a test for it.
    The named test exists."""
    text = "".join((ROOT / page).read_text() for page in PAGES)
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    spoken = set(re.findall(SPOKEN, text))
    assert spoken - set(commands()) == IN_THE_TEXT.keys()
    for place in IN_THE_TEXT.values():
        file, _, name = place.partition("::")
        assert f"def {name}(" in (ROOT / file).read_text(), place


def test_a_link_leads_somewhere():
    """Each relative link in a README leads to a file or folder that exists. If the link has an
    anchor, that file has a heading for it."""
    for page in PAGES:
        text = (ROOT / page).read_text()
        for place, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
            target = (ROOT / page).parent / place if place else ROOT / page
            assert target.exists(), f"{page}: {place}"
            if anchor:
                heads = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
                names = [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads]
                assert anchor in names, f"{page}: {place}#{anchor}"


def test_the_first_screen_has_the_two_commands_and_what_comes_out():
    """The first 40 lines of README.md have the purpose, the audience, both main commands and the
    head of the table of results."""
    first = "\n".join((ROOT / "README.md").read_text().splitlines()[:40])
    words = ("board in a box", "It is for people who", "make sim", "make test", "measured  unit")
    assert all(word in first for word in words)


@pytest.mark.guest
def test_the_driver_is_built_by_its_makefile(tmp_path):
    """The Makefile of the driver builds litepcie.ko with the headers of the guest's kernel."""
    kernel = guest_kernel.ensure()
    place = shutil.copytree(ROOT / "software" / "kernel", tmp_path / "kernel")
    shutil.copytree(ROOT / "software" / "uapi", tmp_path / "uapi")
    command = [
        "make",
        "-C",
        place,
        f"KDIR={kernel.headers}",
        f"CC={driver.compiler(kernel)}",
        *driver.OPTIONS,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0 and (place / "litepcie.ko").exists(), done.stderr[-3000:]


@pytest.mark.guest
def test_make_shell_gives_a_guest_to_a_person():
    """`make shell` on a terminal gives a shell prompt in a guest, with the driver loaded and
    litepcie_util in the path. The command `exit` powers the guest off."""
    text = shell(["make", "shell"], "litepcie_util scratch_test\nexit\n", ROOT, {**os.environ})
    assert "38 patterns, 0 errors" in text
