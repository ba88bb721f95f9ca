# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Make a folder with the sysfs of a machine that has cards. If the environment variable
LITEPCIE_ROOT names the folder, litepcie_util looks there for the files of sysfs, and for the device
files of VFIO.

The folder has only plain files, folders and links. A write to a file changes its contents and does
nothing else: a test must carry out what the kernel would do.
"""

import struct

from gateware import numbers

PCI = "sys/bus/pci"
# offset of the PCI Express capability in the configuration space of this stand-in and of a real
# card
EXPRESS = numbers.CONFIG_EXPRESS


def config_space(
    mps=256,
    mrrs=512,
    gen=3,
    lanes=8,
    possible=(3, 8),
    ext_tag=True,
    relaxed=True,
    mps_supported=512,
    rcb=64,
):
    """Return 4096 bytes of configuration space with a PCI Express capability and no other.

    The arguments become the fields of the capability. mps, mrrs, mps_supported and rcb are in
    bytes. gen and lanes are those of the link. `possible` has the highest generation and the
    largest number of lanes of the card.
    """

    def code(size):
        return (size // 128).bit_length() - 1

    space = bytearray(4096)
    space[0x34] = EXPRESS
    control = code(mps) << 5 | code(mrrs) << 12 | ext_tag << 8 | relaxed << 4
    struct.pack_into("<HHIHH", space, EXPRESS, 0x10, 2, code(mps_supported), control, 0)
    struct.pack_into(
        "<IHH",
        space,
        EXPRESS + 0x0C,
        possible[0] | possible[1] << 4,
        (rcb == 128) << 3,
        gen | lanes << 4,
    )
    return bytes(space)


class Machine:
    """A stand-in for the sysfs of a machine, in the folder `root`.

    `Machine(root).add("0000:22:00.0", driver="vfio-pci")` adds a card that is bound to vfio-pci.
    """

    def __init__(self, root):
        self.root = root
        self.devices = root / PCI / "devices"
        self.devices.mkdir(parents=True)
        self.write(f"{PCI}/rescan", "")
        self.write(f"{PCI}/drivers_probe", "")

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    def read(self, path):
        return (self.root / path).read_text()

    def driver(self, name):
        """Add the folder of the loaded PCI driver `name` to the stand-in for sysfs."""
        self.write(f"{PCI}/drivers/{name}/unbind", "")

    def add(
        self,
        address,
        vendor=0x10EE,
        device=0x9038,
        driver=None,
        group=None,
        below=(),
        config=None,
        numa=0,
        **files,
    ):
        """Add a PCI function, and return its folder.

        `below` has the addresses of the bridges above the function, from the root down.
        """
        place = self.root.joinpath("sys/devices/pci0000:00", *below, address)
        place.mkdir(parents=True)
        (self.devices / address).symlink_to(place)
        named = {
            "vendor": f"{vendor:#06x}",
            "device": f"{device:#06x}",
            "numa_node": numa,
            "driver_override": "(null)",
            "reset": "",
            "remove": "",
            "power_state": "D0",
            **files,
        }
        for name, text in named.items():
            (place / name).write_text(f"{text}\n")
        (place / "config").write_bytes(config_space() if config is None else config)
        if driver:
            self.driver(driver)
            (place / "driver").symlink_to(self.root / PCI / "drivers" / driver)
        if group is not None:
            folder = self.root / "sys/kernel/iommu_groups" / str(group)
            folder.mkdir(parents=True, exist_ok=True)
            (place / "iommu_group").symlink_to(folder)
        return place

    def node(self, minor, place):
        """Add the sysfs class entry of /dev/litepcie`minor` for the PCI function at `place`."""
        folder = self.root / f"sys/class/litepcie/litepcie{minor}"
        folder.mkdir(parents=True)
        (folder / "device").symlink_to(place)
