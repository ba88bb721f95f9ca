# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of litepcie_virtio.ko share: the modules that go into a guest, and shell functions
for the guest."""

from __future__ import annotations

import re

from sim.guest import driver, modules, virtio
from sim.guest import kernel as guest_kernel
from sim.test.driver.driver_guest import CARD, PROGRAMS

# Shell functions for a guest:
#   load        loads Debian's drivers and ours
#   ready       waits for the console and for the net device, which gets an address
#   console     opens the console as descriptor 4, in raw mode; the kernel forgets the mode when
#               the console is closed
#   echoed WORD sends a line to the console, which must come back
#   pinged N    sends N pings, all of which must be answered
#   carrier N   waits until the link's state is N, 0 or 1
#   busy        starts pings and console traffic in the background; `idle` ends them
SHELL = f"""
card={CARD}
driver=/sys/bus/pci/drivers/litepcie
load() {{
	for module in /virtio/*.ko; do
		name=$(basename $module .ko)
		[ -d /sys/module/${{name#*-}} ] || insmod $module
	done
}}
unload() {{ rmmod litepcie_virtio; }}
ready() {{
	for try in $(seq 100); do
		[ -d /sys/class/net/eth0 -a -c /dev/hvc0 -a -d /sys/class/tty/hvc0 ] && break
		sleep 0.1
	done
	ip link set eth0 up
	ip addr replace 10.0.0.1/24 dev eth0
}}
console() {{ exec 4<>/dev/hvc0; stty raw -echo <&4; }}
echoed() (
	console
	while read -r -t 1 rest <&4; do :; done
	echo "line $1" >&4
	read -r -t 20 answer <&4
	[ "$answer" = "line $1" ]
)
pinged() {{
	ping -q -c $1 -i 0.01 -s 1400 -W 20 10.0.0.2 >/out/ping
	grep -q ' 0% packet loss' /out/ping
}}
carrier() {{
	for try in $(seq 100); do
		[ $(cat /sys/class/net/eth0/carrier) = $1 ] && return
		sleep 0.1
	done
	return 1
}}
talk() (
	set +e
	while [ ! -e /tmp/idle ]; do
		[ -c /dev/hvc0 ] && (console
			while [ ! -e /tmp/idle ]; do
				echo 0123456789012345678901234567890123456789 >&4 || break
				read -r -t 1 back <&4 || break
			done)
		sleep 0.05
	done
)
busy() {{
	rm -f /tmp/idle
	(set +e; while [ ! -e /tmp/idle ]; do ping -q -c 50 -i 0.01 -W 1 10.0.0.2; sleep 0.05; done) \\
		>/dev/null 2>&1 &
	talk >/dev/null 2>&1 &
	sleep 0.5
}}
idle() {{ touch /tmp/idle; wait; }}
"""
# Matches a line of the kernel log in which a virtio driver or ours has something to complain about.
COMPLAINT = re.compile(r"^.*(Errors adding|virtio.*(?:fail|error|cannot|broken|NULL)).*$", re.M)


def files(series: str | None) -> list[tuple]:
    """Return the files for a guest with this kernel: the modules in the order in which the shell
    function `load` loads them, and those for virtio_mmio."""
    kernel = guest_kernel.ensure(series)
    order = virtio.in_order(kernel)
    found = [(path, f"virtio/{number:02}-{path.name}") for number, path in enumerate(order)]
    other = [p for p in modules.ensure(kernel, "virtio_mmio") if p not in order]
    other.append(helper(kernel, "mmio"))
    found += [(path, f"mmio/{number:02}-{path.name}") for number, path in enumerate(other)]
    return [*found, (helper(kernel, "sleep"), "litepcie_sleep.ko")]


def helper(kernel: guest_kernel.Kernel, name: str):
    """Build the module litepcie_NAME.ko of software/kernel/test for this kernel; returns its
    path."""
    folder = PROGRAMS / name
    sources = {file: folder / file for file in ("Kbuild", f"litepcie_{name}.c")}
    return driver.ensure_module(kernel, sources, f"litepcie_{name}")


def check_quiet(found: dict[str, bytes]) -> None:
    """Fail if the kernel log of a test has a complaint of a virtio driver or of ours."""
    log = found["dmesg"].decode()
    complaint = COMPLAINT.search(log)
    assert not complaint, complaint.group(0)
