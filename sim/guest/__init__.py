# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A Linux guest with a real kernel and a real driver, into which a board is plugged.

mirror     where Debian's packages come from on this machine
packages   Debian packages without root, below build/
qemu       a QEMU with the vfio-user client: the machine's own, or a fetched one
kernel     a Debian kernel with matching headers, and a static busybox
driver     our driver, or LitePCIe's, unpatched, as a module for that kernel
debian     Debian's Python, lspci, fio, ... for the guest
fio        Debian's fio alone, for a measurement
initramfs  the guest's root: a newc archive, written without root
folder     a folder of the user's, copied in; what changed in it is copied back
machine    the virtual machine as a QEMU command line
supervise  runs QEMU and watches its console
run        a whole run at a board's socket: `run_guest()`, `python -m sim.guest.run`

Inside the guest: init.sh, and pcie.sh for the card's Device Control.
"""


class SetupError(RuntimeError):
    """Something that a guest needs is missing. The text says what it is, and what to do next."""
