# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Build liblitepcie with make and put it into the Python package, so that no installed library is
needed.
"""

import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).resolve().parents[1]


class BuildLibrary(build_py):
    """Build liblitepcie in the build folder, and copy it into the package.

    The package is the built one, or in editable mode the one in the source tree.
    """

    def run(self):
        """Build the package's modules, then the library, and copy the library into the package."""
        super().run()
        package = Path(
            self.get_package_dir("lanebox_host")
            if self.editable_mode
            else Path(self.build_lib, "lanebox_host")
        ).resolve()
        out = Path(self.get_finalized_command("build").build_temp).resolve()
        command = ["make", "-s", "-C", str(SOURCE), f"OUT={out}", f"{out}/liblitepcie.so"]
        subprocess.run(command, check=True)
        shutil.copy(out / "liblitepcie.so", package / "liblitepcie.so.2")


class Binary(Distribution):
    """Mark the wheel as built for this platform, since it contains the library."""

    def has_ext_modules(self):
        """Return True: the package contains a library, so its wheel is for this platform alone."""
        return True


setup(cmdclass={"build_py": BuildLibrary}, distclass=Binary)
