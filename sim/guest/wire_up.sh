#!/bin/sh
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

# Sets up both ends of the wire in a guest. The card's net device gets its address. The second
# network card moves into a network namespace of its own, in which the command `far` runs others.
# The card's net device is eth0 from then on and the second network card eth1. Before that it depends
# on the kernel which one has which name.
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
[ $name = eth1 ] || ip link set $name name eth1
ip addr add $far/24 dev eth1; ip link set eth1 up; ip link set lo up"
fi
name=$(interface "$near_mac")
if [ "$name" != eth0 ]; then
	ip link set "$name" down
	ip link set "$name" name eth0
fi
echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6
ip addr replace "$near/24" dev eth0
ip link set eth0 up
for try in $(seq 100); do
	[ "$(cat /sys/class/net/eth0/carrier)" = 1 ] && exit
	sleep 0.1
done
echo "wire_up: the link of eth0 stays down: the wire has no other end" >&2
exit 1
