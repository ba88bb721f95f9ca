# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds liblitepcie with make and puts it into the package, which then needs nothing else."""

import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).resolve().parents[1] / "user"


class BuildLibrary(build_py):
    """The shared library first, built aside and copied beside the modules."""

    def run(self):
        super().run()
        package = Path(self.get_package_dir("lanebox_host") if self.editable_mode
                       else Path(self.build_lib, "lanebox_host")).resolve()  # fmt: skip
        out = Path(self.get_finalized_command("build").build_temp).resolve()
        command = ["make", "-s", "-C", str(SOURCE), f"OUT={out}", f"{out}/liblitepcie.so"]
        subprocess.run(command, check=True)
        shutil.copy(out / "liblitepcie.so", package / "liblitepcie.so.1")


class Binary(Distribution):
    """A wheel for this platform, whatever its modules are made of."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": BuildLibrary}, distclass=Binary)
