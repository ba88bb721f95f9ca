# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/net_programs.py, which packs Debian's network programs for a guest.

sim/test/port/test_guest_wire.py runs them in a guest.
"""

import pytest

from sim.guest import SetupError, net_programs


@pytest.mark.parametrize("missing", net_programs.PROGRAMS)
def test_a_tree_without_a_program_is_refused(tmp_path, missing):
    """A tree of Debian's packages without one of the programs is refused. The message names
    the missing program."""
    for name in net_programs.PROGRAMS:
        if name != missing:
            (tmp_path / "usr" / "bin").mkdir(parents=True, exist_ok=True)
            (tmp_path / "usr" / "bin" / name).write_text("")
    with pytest.raises(SetupError, match=f"has no {missing} where it was before"):
        net_programs.closure(tmp_path)


def test_a_program_is_found_in_either_folder(tmp_path):
    """program() finds a program in bin or sbin, with or without /usr, since Debian's releases
    differ in that."""
    (tmp_path / "sbin").mkdir()
    (tmp_path / "sbin" / "ethtool").write_text("")
    assert net_programs.program(tmp_path, "ethtool") == tmp_path / "sbin" / "ethtool"
