# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The commands in targets/README.md, for the tests that run them."""

import re

from tools.testing.repository import ROOT


def commands():
    """Return the shell commands in targets/README.md, one string for each, without comments."""
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "targets" / "README.md").read_text(), re.DOTALL)
    return [line.partition("#")[0].strip() for line in "".join(blocks).splitlines()]
