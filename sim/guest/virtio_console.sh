#!/bin/sh
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

# Sends what comes on the standard input to the card's virtio console, and prints as many bytes as
# come back. It ends with status 1 if they do not come within 20 seconds.
#
# The kernel forgets the terminal's raw mode when the console is closed, so it stays open.

set -e
[ -c /dev/hvc0 ] || { echo "virtio_console: there is no /dev/hvc0" >&2; exit 1; }
cat >/tmp/virtio_console.$$
exec 4<>/dev/hvc0
stty raw -echo <&4
cat /tmp/virtio_console.$$ >&4 &
timeout 20 head -c "$(stat -c %s /tmp/virtio_console.$$)" <&4
wait
rm /tmp/virtio_console.$$
