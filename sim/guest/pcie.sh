# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

# Functions for the guest's init: they set the card's Device Control register, as firmware would.
#
# QEMU's root port advertises a Max_Payload_Size of 128 bytes and models no link. By default the
# kernel would limit every card to that. So the kernel is told not to tune (pci=pcie_bus_tune_off),
# and the sizes that the user asked for are programmed here, no larger than the card allows. CONFIG
# is the file of a configuration space in sysfs; BYTES are its first 256 bytes, in decimal.

# bytes CONFIG: print the first 256 bytes, read at once: each access is a message to the board
bytes() {
	dd if="$1" bs=256 count=1 2>/dev/null | hexdump -v -e '1/1 "%u "'
}

# byte OFFSET BYTES...: print the byte at the offset
byte() {
	shift $(($1 + 1))
	echo "$1"
}

# word OFFSET BYTES...: print the two bytes at the offset as a number, the lower one first
word() {
	shift $(($1 + 1))
	echo $(($1 + 256 * $2))
}

# put_word CONFIG OFFSET VALUE: write 2 bytes in one access, so the card never sees half a new value
put_word() {
	printf "$(printf '\\%03o\\%03o' $(($3 & 255)) $(($3 >> 8)))" |
		dd of="$1" bs=2 seek=$(($2 / 2)) count=1 conv=notrunc 2>/dev/null
}

# express BYTES...: print the offset of the PCI Express capability, or 0; the capability list has at
# most 48 entries
express() {
	local at left
	at=$(byte 52 "$@")
	left=48
	while [ "$at" -ge 64 ] && [ $left -gt 0 ]; do
		if [ "$(byte "$at" "$@")" -eq 16 ]; then
			echo "$at"
			return
		fi
		at=$(byte $((at + 1)) "$@")
		left=$((left - 1))
	done
	echo 0
}

# code BYTES: print the encoding of a size in Device Control; 128 is 0, 4096 is 5
code() {
	case $1 in
	128) echo 0 ;; 256) echo 1 ;; 512) echo 2 ;; 1024) echo 3 ;; 2048) echo 4 ;; 4096) echo 5 ;;
	*) echo "guest: $1 is no PCIe size (128, 256, 512, 1024, 2048 or 4096)" >&2; return 1 ;;
	esac
}

# program_sizes CONFIG MPS MRRS: set both sizes, no larger than the device supports, and keep every
# other bit of Device Control
program_sizes() {
	local config mps mrrs cap most old
	config=$1
	mps=$(code "$2") && mrrs=$(code "$3") || return 1
	set -- $(bytes "$config")
	cap=$(express "$@")
	if [ "$cap" -eq 0 ]; then
		echo "guest: $config has no PCI Express capability" >&2
		return 1
	fi
	most=$(($(byte $((cap + 4)) "$@") & 7))
	[ "$mps" -gt $most ] && mps=$most
	old=$(word $((cap + 8)) "$@")
	put_word "$config" $((cap + 8)) $(((old & ~0x70e0) | mps << 5 | mrrs << 12))
}

# sizes CONFIG: print the sizes in Device Control as "MPS MRRS"
sizes() {
	local cap control
	set -- $(bytes "$1")
	cap=$(express "$@")
	control=$(word $((cap + 8)) "$@")
	echo $((128 << (control >> 5 & 7))) $((128 << (control >> 12 & 7)))
}
