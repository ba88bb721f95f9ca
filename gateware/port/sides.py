# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The far sides of the virtio net device, of which a build has one."""

from importlib import import_module

# The module and the class of each far side, by the name that the option --port has for it.
FAR_SIDES = {
    "echo": ("gateware.port.echo", "Echo"),
}

def check_port(port):
    """Raises ValueError if the net device has no far side that is called `port`."""
    if port not in FAR_SIDES:
        raise ValueError(f"--port {port}: there is no such far side of the net device; choose "
            f"{' or '.join(FAR_SIDES)}")

def make_far_side(port, platform):
    """Returns the far side that is called `port` (see gateware/port/__init__.py)."""
    module, name = FAR_SIDES[port]
    return getattr(import_module(module), name)(platform)
