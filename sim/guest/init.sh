#!/bin/busybox sh
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

# The guest's init process. It mounts file systems, programs the card's payload sizes, loads the
# driver, runs the script, hands over the results and powers off.
#
# The kernel's command line gives it mps, mrrs, shell, rows and columns, as environment variables. A
# user's folder goes back as a tar archive on the disk with the serial number `folder` (folder.py).
# The console (ttyS0) shows `GUEST-UP <release>` and `GUEST-DONE rc=<status>`, for people. The
# results go to ttyS1: a tar archive of /out, with what the script put there and the file `guest`,
# which has lines of name=value.

/bin/busybox mkdir -p /proc /sys /dev /tmp /out /root /sbin
/bin/busybox --install -s /bin
# Debian's programs (debian.py) come before busybox's of the same name.
export PATH=/usr/sbin:/usr/bin:/bin:/sbin HOME=/root TERM="${TERM:-linux}"
[ -f /root/csr.json ] && export LANEBOX_CSR=/root/csr.json
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts && mount -t devpts devpts /dev/pts
. /lib/pcie.sh

echo "GUEST-UP $(uname -r)"
facts=/out/guest
echo "kernel=$(uname -r)" > $facts

# The card is the only device behind the root port.
plug_in() {
	local card port
	for card in /sys/devices/pci0000:*/*/0000:*; do
		[ -e "$card/config" ] || continue
		port=${card%/*}
		# An error at the root port is ignored: its sizes are only programmed so that lspci
		# shows them.
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
	# a serial line does not tell the terminal's size
	stty -F /dev/ttyS0 rows "$rows" columns "$columns"
	cd /root && setsid cttyhack sh -l
fi

# The user's folder goes to a disk and not to ttyS1: a serial port takes a second for some 100 KB.
hand_over_folder() {
	local block serial
	for block in /sys/block/nvme*; do
		read -r serial < "$block/device/serial" && [ "$serial" = folder ] || continue
		tar -c -f "/dev/${block##*/}" -C "$(cat /lib/folder)" . && sync && echo "folder=whole" >> $facts
		return
	done
}
[ -e /lib/folder ] && hand_over_folder

echo "rc=$status" >> $facts
dmesg > /out/dmesg
# In raw mode ttyS1 carries bytes unchanged. Closing ttyS1 waits until all bytes have been sent.
stty -F /dev/ttyS1 raw -echo && tar -c -f - -C /out . > /dev/ttyS1
echo "GUEST-DONE rc=$status"
stty -F /dev/ttyS0 sane # stty returns when the console has sent all its text
poweroff -f
