#!/usr/bin/env bash
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
#
# Run a command with the folder $1 as "/": tools/fresh_root.py calls this as the first process of
# new mount, PID and IPC namespaces (unshare). When this process ends, for whatever reason, the
# kernel undoes every mount below and ends every process of the namespaces.
set -euo pipefail
root=$1
shift

# pivot_root needs a root that is a mount of its own. A mere chroot would not do: in a chroot the
# kernel refuses user namespaces, which browsers need.
mount --rbind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
	touch "dev/$device"
	mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
mount -t tmpfs -o mode=755 tmpfs run
pivot_root . mnt
cd /
umount -l /mnt

# The first process of a PID namespace inherits orphans and must reap them. bash does that. Without
# the `exit` bash would replace itself by the command, which does not.
# shellcheck disable=SC2016
exec /bin/bash -c '"$@"; exit $?' enter_root "$@"
