// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests that the driver refuses a ring in unsuitable memory, and charges memory that it has pinned.
 */
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "calls.h"
#include "memory.h"

/* Tests of memory that the driver must refuse ------------------------------------------------- */

static void refuse_request(const char *what, struct litepcie_ring_memory request, int error)
{
	refused(ioctl(fd, LITEPCIE_IOCTL_RING_MEMORY, &request), error, what);
}

static void refuse_numbers(char *huge)
{
	const struct litepcie_ring_memory good = {
		.setup = { LITEPCIE_WAY_C2H, 8192, 16, 1, 0, 0, 0, 0 }, .address = (uintptr_t)huge,
	};
	struct litepcie_ring_memory bad = good;

	bad.reserved = 1;
	refuse_request("reserved", bad, EINVAL);
	bad = good;
	bad.setup.reserved = 1;
	refuse_request("setup reserved", bad, EINVAL);
	bad = good;
	bad.setup.flags = LITEPCIE_RING_MEMORY;
	refuse_request("flags", bad, EINVAL);
	bad = good;
	bad.setup.way = 2;
	refuse_request("way", bad, EINVAL);
	bad = good;
	bad.setup.buffer_size = 12288;
	refuse_request("size", bad, EINVAL);
	bad = good;
	bad.address += 512;
	refuse_request("address", bad, EINVAL);
	bad = good;
	/* the address range of the requested ring wraps round the end of the address space */
	bad.address = 0xffffffffffffe000u;
	refuse_request("wrapped", bad, EFAULT);
}

int refuse(void)
{
	char *huge = memory(2 * HUGE, MADV_HUGEPAGE), *small = memory(HUGE, MADV_NOHUGEPAGE);
	char *shared = mmap(NULL, HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char *file = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct litepcie_export export = { .way = LITEPCIE_WAY_C2H };

	refused(set_up(LITEPCIE_WAY_C2H, huge, 8192, 16), EBUSY, "without owning");
	take();
	refuse_numbers(huge);
	refused(set_up(LITEPCIE_WAY_C2H, small, 8192, 16), EMSGSIZE, "small pages");
	refused(set_up(LITEPCIE_WAY_C2H, huge + 4096, HUGE / 4, 4), EMSGSIZE, "across huge pages");
	refused(set_up(LITEPCIE_WAY_C2H, shared, 4096, 16), EOPNOTSUPP, "shared memory");
	refused(set_up(LITEPCIE_WAY_C2H, file, 4096, 16), EOPNOTSUPP, "the driver's own ring");
	refused(set_up(LITEPCIE_WAY_C2H, NULL, 4096, 16), EFAULT, "nothing");
	need(!mprotect(small, HUGE, PROT_READ), "mprotect");
	refused(set_up(LITEPCIE_WAY_H2C, small, 4096, 16), EFAULT, "memory to read");
	need(!set_up(LITEPCIE_WAY_C2H, huge, 8192, 16), "a ring in own memory");
	refused(mmap(NULL, 16 * 8192, PROT_READ, MAP_SHARED, fd,
		     (off_t)info_of(1).ring_offset) == MAP_FAILED ? -1 : 0, EADDRINUSE, "mmap");
	refused(ioctl(fd, LITEPCIE_IOCTL_EXPORT, &export), EADDRINUSE, "export");
	need(!run_c2h(fd, 1, NULL), "start");
	refused(set_up(LITEPCIE_WAY_C2H, huge, 8192, 16), EBUSY, "while running");
	printf("refuse: ok\n");
	return 0;
}

/*
 * If every access of the card goes through a bounce buffer, the driver refuses a ring in the
 * program's own memory.
 */
int bounce(void)
{
	char *small = memory(HUGE, MADV_NOHUGEPAGE);

	take();
	refused(set_up(LITEPCIE_WAY_C2H, small, 4096, 16), EOPNOTSUPP, "bounced");
	printf("bounce: ok\n");
	return 0;
}

/* Tests of the user's charge for pinned memory ------------------------------------------------ */

/* Returns how many KiB of memory the process has pinned, as VmPin in /proc/self/status says. */
long pinned(void)
{
	char line[128];
	long found = -1;
	FILE *status = fopen("/proc/self/status", "r");

	need(status, "/proc/self/status");
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "VmPin: %ld", &found) == 1)
			break;
	fclose(status);
	return found;
}

void need_pinned(long kib, const char *when)
{
	if (pinned() != kib)
		fail("%s: %ld KiB are pinned, not %ld", when, pinned(), kib);
}

int charge(void)
{
	const struct rlimit limit = { 3 * HUGE / 2, 3 * HUGE / 2 };
	char *huge = memory(2 * HUGE, MADV_HUGEPAGE);

	take();
	need(!set_up(LITEPCIE_WAY_C2H, huge, HUGE / 4, 8), "as root");
	need_pinned(2 * HUGE / 1024, "a ring of two pages");
	release();
	need_pinned(0, "after the release");
	take();
	need(!setrlimit(RLIMIT_MEMLOCK, &limit) && !setuid(65534), "a user");
	refused(set_up(LITEPCIE_WAY_C2H, huge, HUGE / 4, 8), ENOMEM, "beyond the limit");
	need_pinned(0, "after the refusal");
	need(!set_up(LITEPCIE_WAY_C2H, huge, HUGE / 4, 4), "below the limit");
	need_pinned(HUGE / 1024, "a ring of one page");
	refused(set_up(LITEPCIE_WAY_H2C, huge + HUGE, HUGE / 4, 4), ENOMEM, "both");
	refused(set_up(LITEPCIE_WAY_C2H, huge, 3 * 4096, 4), EINVAL, "what is wrong");
	need_pinned(HUGE / 1024, "with two refused");
	need(!small_ring(fd, LITEPCIE_WAY_H2C), "the driver's");
	close(fd);
	need_pinned(0, "after close()");
	printf("charge: ok\n");
	return 0;
}
