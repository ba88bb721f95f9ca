# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

# Functions for the guest's init: what firmware would do to the card's Device Control register.
#
# QEMU's root port advertises a Max_Payload_Size of 128 bytes and models no link; by default the
# kernel would limit every card to that. So it is told not to tune (pci=pcie_bus_tune_off), and the
# sizes that the user asked for are programmed here, no larger than the card's capability allows.
# CONFIG is a configuration space as sysfs shows it; BYTES are its first 256 bytes, in decimal.

# bytes CONFIG: read them at once, because each access is a message to the board
bytes() {
	dd if="$1" bs=256 count=1 2>/dev/null | hexdump -v -e '1/1 "%u "'
}

# byte OFFSET BYTES...
byte() {
	shift $(($1 + 1))
	echo "$1"
}

# word OFFSET BYTES...: two bytes, the lower one first
word() {
	shift $(($1 + 1))
	echo $(($1 + 256 * $2))
}

# put_word CONFIG OFFSET VALUE: one access of 2 bytes, so that the card never sees half a new value
put_word() {
	printf "$(printf '\\%03o\\%03o' $(($3 & 255)) $(($3 >> 8)))" |
		dd of="$1" bs=2 seek=$(($2 / 2)) count=1 conv=notrunc 2>/dev/null
}

# express BYTES...: the offset of the PCI Express capability, or 0; the list has at most 48 entries
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

# code BYTES: the encoding of a size in Device Control; 128 is 0, 4096 is 5
code() {
	case $1 in
	128) echo 0 ;; 256) echo 1 ;; 512) echo 2 ;; 1024) echo 3 ;; 2048) echo 4 ;; 4096) echo 5 ;;
	*) echo "guest: $1 is no PCIe size (128, 256, 512, 1024, 2048 or 4096)" >&2; return 1 ;;
	esac
}

# program_sizes CONFIG MPS MRRS: set both, no larger than the device can, and keep every other bit
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

# sizes CONFIG: what Device Control says now, as "MPS MRRS"
sizes() {
	local cap control
	set -- $(bytes "$1")
	cap=$(express "$@")
	control=$(word $((cap + 8)) "$@")
	echo $((128 << (control >> 5 & 7))) $((128 << (control >> 12 & 7)))
}
