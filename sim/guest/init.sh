#!/bin/busybox sh
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

# The guest's init: mount, program the card's sizes, load the driver, run the script, hand over the
# results, power off.
#
# From the kernel's command line come mps, mrrs, shell, rows and columns, as environment variables.
# Console (ttyS0): `GUEST-UP <release>` and `GUEST-DONE rc=<status>`, for people. Results (ttyS1): a
# tar archive of /out, which holds what the script put there and `guest`, lines of name=value.

/bin/busybox mkdir -p /proc /sys /dev /tmp /out /root /sbin
/bin/busybox --install -s /bin
export PATH=/bin:/sbin HOME=/root TERM="${TERM:-linux}"
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts && mount -t devpts devpts /dev/pts
. /lib/pcie.sh

echo "GUEST-UP $(uname -r)"
facts=/out/guest
echo "kernel=$(uname -r)" > $facts

# The card is the one device behind the root port.
plug_in() {
	local card port
	for card in /sys/devices/pci0000:*/*/0000:*; do
		[ -e "$card/config" ] || continue
		port=${card%/*}
		# A port that refuses is no fault: it is only written for the sake of what lspci shows.
		program_sizes "$port/config" "$mps" "$mrrs"
		program_sizes "$card/config" "$mps" "$mrrs" || return 1
		set -- $(sizes "$card/config") $(sizes "$port/config")
		echo "card=${card##*/}
id=$(cat "$card/vendor"):$(cat "$card/device")
mps=$1
mrrs=$2
port_mps=$3" >> $facts
		return 0
	done
	echo "guest: there is no device behind the root port" >&2
	return 1
}

status=0
if [ -n "$mps" ]; then
	plug_in || status=125
fi
for module in /lib/modules/*.ko; do
	[ -e "$module" ] && [ $status -eq 0 ] || continue
	insmod "$module" || { echo "guest: insmod $module failed" >&2; dmesg | tail -n 20; status=125; }
done

if [ $status -eq 0 ] && [ -e /run.sh ]; then
	(cd /root && exec sh -e /run.sh)
	status=$?
fi
if [ -n "$shell" ]; then
	cat /etc/motd
	stty -F /dev/ttyS0 rows "$rows" columns "$columns" # a serial line does not tell
	cd /root && setsid cttyhack sh -l
fi

echo "rc=$status" >> $facts
dmesg > /out/dmesg
# The line must carry bytes, not text; its last close waits until they are out.
stty -F /dev/ttyS1 raw -echo && tar -c -f - -C /out . > /dev/ttyS1
echo "GUEST-DONE rc=$status"
stty -F /dev/ttyS0 sane # returns when the console is drained
poweroff -f
