#!/bin/sh
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

# Sets up both ends of the wire in a guest. The card's net device gets its address. The second
# network card moves into a network namespace of its own, in which the command `far` runs others.
#
# A process that sleeps keeps the namespace. /lib/far has its number. Neither end uses IPv6, whose
# frames nobody has asked for.

set -e
. /lib/wire

interface() {
	for path in /sys/class/net/*; do
		[ "$(cat "$path/address")" = "$1" ] && basename "$path" && return
	done
	echo "wire_up: there is no network interface with the address $1" >&2
	return 1
}

if [ ! -e /lib/far ]; then
	name=$(interface "$far_mac")
	unshare -n sleep 1000000 </dev/null >/dev/null 2>&1 &
	echo $! >/lib/far
	while [ "$(readlink "/proc/$!/ns/net")" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done
	ip link set "$name" netns $!
	far sh -e -c "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6
ip addr add $far/24 dev $name; ip link set $name up; ip link set lo up"
fi
name=$(interface "$near_mac")
echo 1 >"/proc/sys/net/ipv6/conf/$name/disable_ipv6"
ip addr replace "$near/24" dev "$name"
ip link set "$name" up
for try in $(seq 100); do
	[ "$(cat "/sys/class/net/$name/carrier")" = 1 ] && exit
	sleep 0.1
done
echo "wire_up: the link of $name stays down: the wire has no other end" >&2
exit 1
