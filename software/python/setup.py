# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds liblitepcie with make and puts it into the package, which needs no installed library."""

import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).resolve().parents[1] / "user"


class BuildLibrary(build_py):
    """Build the shared library in the build folder, and copy it beside the package's modules."""

    def run(self):
        """Build the package, and the library into it."""
        super().run()
        package = Path(
            self.get_package_dir("lanebox_host")
            if self.editable_mode
            else Path(self.build_lib, "lanebox_host")
        ).resolve()
        out = Path(self.get_finalized_command("build").build_temp).resolve()
        command = ["make", "-s", "-C", str(SOURCE), f"OUT={out}", f"{out}/liblitepcie.so"]
        subprocess.run(command, check=True)
        shutil.copy(out / "liblitepcie.so", package / "liblitepcie.so.1")


class Binary(Distribution):
    """Mark the wheel as built for this platform, since it contains the library."""

    def has_ext_modules(self):
        """Say that the package is not pure Python, so that its wheel is for this machine alone."""
        return True


setup(cmdclass={"build_py": BuildLibrary}, distclass=Binary)
