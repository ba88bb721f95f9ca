// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests mappings of the card's BARs, for the test program rings: of the registers, whose mapping
 * ends when the card is removed, and of the memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "uapi/litepcie.h"
#include "uapi/litepcie_capability.h"
#include "rings.h"

/* Tests of accesses to the card's registers in a BAR ------------------------------------------ */

static sigjmp_buf gone;

static void on_sigbus(int number)
{
	(void)number;
	siglongjmp(gone, 1);
}

int bar(const char *flag)
{
	struct litepcie_bar bar = { .bar = 0 };
	volatile uint32_t *registers;
	struct litepcie_ioctl_reg reg = { .addr = 4 };
	void *denied;

	need(!ioctl(fd, LITEPCIE_IOCTL_BAR, &bar) && bar.size == LITEPCIE_BAR0_SIZE &&
	     !bar.write_combining, "bar info");
	registers = map(bar.offset, bar.size);
	need(registers[LITEPCIE_CAP_OFFSET / 4] == LITEPCIE_CAP_MAGIC, "magic");
	registers[1] = 0x5ca1ab1e;
	need(!ioctl(fd, LITEPCIE_IOCTL_REG, &reg) && reg.val == 0x5ca1ab1e, "scratch");
	denied = mmap(NULL, 2 * bar.size, PROT_READ, MAP_SHARED, fd, (off_t)bar.offset);
	need(denied == MAP_FAILED && errno == EINVAL, "beyond the BAR");
	denied = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, (off_t)bar.offset);
	need(denied == MAP_FAILED && errno == EINVAL, "private");
	need(!setuid(65534), "setuid");
	denied = mmap(NULL, bar.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)bar.offset);
	need(denied == MAP_FAILED && errno == EPERM, "DMA registers without privileges");
	denied = mmap(NULL, bar.size, PROT_READ, MAP_SHARED, fd, (off_t)bar.offset);
	need(denied != MAP_FAILED, "to read them");
	need(mprotect(denied, 4096, PROT_READ | PROT_WRITE) && errno == EACCES, "mprotect");
	denied = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		      (off_t)bar.offset + 0x10000);
	need(denied != MAP_FAILED, "the memory");
	signal(SIGBUS, on_sigbus);
	close(open(flag, O_CREAT | O_WRONLY, 0644));
	if (!sigsetjmp(gone, 1))
		for (;;)
			if (registers[LITEPCIE_CAP_OFFSET / 4] != LITEPCIE_CAP_MAGIC)
				fail("a register of a card that has gone can be read");
	printf("bar: SIGBUS when the card had gone\n");
	return 0;
}

/* Tests of accesses to the card's memory in a BAR --------------------------------------------- */

int memory(size_t offset)
{
	struct litepcie_bar bar = { .bar = 2 };
	uint32_t sent[1024];
	uint32_t *card;

	need(!ioctl(fd, LITEPCIE_IOCTL_BAR, &bar) && bar.write_combining, "BAR2 info");
	card = (uint32_t *)((char *)map(bar.offset, bar.size) + offset);
	fill(sent, sizeof(sent) / 4);
	for (size_t i = 0; i < sizeof(sent) / 4; i++)
		card[i] = sent[i];
	__sync_synchronize();
	compare(card, sent, sizeof(sent) / 4, "card memory");
	printf("memory: %zu bytes\n", sizeof(sent));
	fflush(stdout);
	pause();
	return 0;
}
