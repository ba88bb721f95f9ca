// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Starts another kernel without a reset of the machine in between, for the tests in sim/test.
 *
 *   kexec KERNEL INITRD OPTIONS
 *
 * Exit status: the program does not return if the other kernel starts; 1 if it cannot be started
 * (with a message on stderr), 2 wrong usage.
 */
#include <linux/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"

int main(int argc, char **argv)
{
	int kernel, initrd;

	if (argc != 4) {
		fprintf(stderr, "usage: kexec KERNEL INITRD OPTIONS\n");
		return 2;
	}
	kernel = open(argv[1], O_RDONLY);
	initrd = open(argv[2], O_RDONLY);
	if (kernel < 0 || initrd < 0)
		fail("%s, %s: %s", argv[1], argv[2], strerror(errno));
	if (syscall(SYS_kexec_file_load, kernel, initrd, strlen(argv[3]) + 1, argv[3], 0))
		fail("kexec_file_load: %s", strerror(errno));
	syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_KEXEC, NULL);
	fail("kexec: %s", strerror(errno));
}
