// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests the calls of a 32-bit program, and a direction that does not stop.
 */
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "member.h"

/* Tests of calls of a 32-bit program ---------------------------------------------------------- */

/* The argument of LITEPCIE_IOCTL_DMA_WRITER and _DMA_READER, as a compiler for i386 lays it out. */
struct run32 {
	uint8_t		enable;
	int64_t		hw_count __attribute__((packed, aligned(4)));
	int64_t		sw_count __attribute__((packed, aligned(4)));
};

_Static_assert(sizeof(struct run32) == 20, "i386 aligns a long long to 4 bytes");

#define WRITER32	_IOWR(LITEPCIE_IOCTL, 21, struct run32)
#define READER32	_IOWR(LITEPCIE_IOCTL, 22, struct run32)

/* Make an ioctl() as a 32-bit program does. @argument must lie below 4 GiB. */
static int ioctl32(int fd, unsigned long request, void *argument)
{
	long rc = 54;	/* number of the system call ioctl on i386 */

	__asm__ volatile("int $0x80" : "+a"(rc)
			 : "b"((long)fd), "c"(request), "d"(argument)
			 : "memory", "r8", "r9", "r10", "r11");
	if ((int)rc < 0)
		errno = -(int)rc;
	return (int)rc < 0 ? -1 : 0;
}

/*
 * Make the ioctl @request as a 64-bit and as a 32-bit program with the same @argument, and compare
 * the answers. The 32-bit call needs its argument below 4 GiB, at @low.
 */
static void same_for_both(int fd, unsigned long request, void *low, const void *argument,
			  size_t size, const char *what)
{
	char wide[128];

	memcpy(low, argument, size);
	memcpy(wide, argument, size);
	need(!ioctl(fd, request, wide), what);
	need(!ioctl32(fd, request, low), what);
	if (memcmp(wide, low, size))
		fail("%s: 32-bit programs get another answer", what);
}

/*
 * Test calls about a held run of h2c (LITEPCIE_RUN_HELD), in which the card uses only the buffers
 * that ADVANCE hands over. PACKETS, FEATURES, EVENT, COUNTS, and ADVANCE of no buffer are made as a
 * 64-bit and as a 32-bit program. ADVANCE of one buffer is made only as a 32-bit program.
 */
static void held_calls(int fd, void *low)
{
	const struct litepcie_packets packets = { .flags = LITEPCIE_PACKETS_ON };
	const struct litepcie_event event = { .fd = eventfd(0, EFD_CLOEXEC) };
	const struct litepcie_advance none = { .flags = LITEPCIE_ADVANCE_NOTIFY };
	const struct litepcie_counts counts = { .way = 0 };
	const struct litepcie_features features = { 0 };
	struct litepcie_advance *one = low;
	uint32_t *length = low + 256;

	need(event.fd >= 0, "eventfd");
	same_for_both(fd, LITEPCIE_IOCTL_PACKETS, low, &packets, sizeof(packets), "PACKETS");
	same_for_both(fd, LITEPCIE_IOCTL_FEATURES, low, &features, sizeof(features), "FEATURES");
	same_for_both(fd, LITEPCIE_IOCTL_EVENT, low, &event, sizeof(event), "EVENT");
	same_for_both(fd, LITEPCIE_IOCTL_ADVANCE, low, &none, sizeof(none), "ADVANCE");
	same_for_both(fd, LITEPCIE_IOCTL_COUNTS, low, &counts, sizeof(counts), "COUNTS");
	if (((struct litepcie_counts *)low)->run != LITEPCIE_RUN_HELD)
		fail("ADVANCE of no buffer has started no held run");
	*length = 64;
	*one = (struct litepcie_advance){ .count = 1, .lengths = (uintptr_t)length };
	need(!ioctl32(fd, LITEPCIE_IOCTL_ADVANCE, one), "ADVANCE by a 32-bit program");
	if (one->advanced != 1)
		fail("a 32-bit program handed %llu buffers over, not one",
		     (unsigned long long)one->advanced);
}

int compat(const char *device)
{
	static const char nothing[128];
	void *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
			 -1, 0);
	struct run32 *run = low;
	int fd = open_or_fail(device);

	need(low != MAP_FAILED, "memory below 4 GiB");
	same_for_both(fd, LITEPCIE_IOCTL_REG, low, nothing, sizeof(struct litepcie_ioctl_reg),
		      "REG");
	same_for_both(fd, LITEPCIE_IOCTL_MMAP_DMA_INFO, low, nothing,
		      sizeof(struct litepcie_ioctl_mmap_dma_info), "MMAP_DMA_INFO");
	same_for_both(fd, LITEPCIE_IOCTL_RING_INFO, low, nothing, sizeof(struct litepcie_ring_info),
		      "RING_INFO");
	same_for_both(fd, LITEPCIE_IOCTL_BAR, low, nothing, sizeof(struct litepcie_bar), "BAR");
	for (int way = 0; way < 2; way++) {
		*run = (struct run32){ .enable = 1, .hw_count = -1, .sw_count = -1 };
		need(!ioctl32(fd, way ? WRITER32 : READER32, run), "start by a 32-bit program");
		if (run->hw_count < 0 || run->sw_count < 0)
			fail("a 32-bit program gets no counts");
		*run = (struct run32){ .enable = 0 };
		need(!ioctl32(fd, way ? WRITER32 : READER32, run), "stop by a 32-bit program");
	}
	held_calls(fd, low);
	printf("compat: ok\n");
	return 0;
}

/* Tests of a DMA direction that does not stop ------------------------------------------------- */

static void say(const char *parameter, const char *value)
{
	int fd = open(parameter, O_WRONLY);

	need(fd >= 0 && write(fd, value, strlen(value)) > 0, parameter);
	close(fd);
}

/*
 * Returns true if the command register in the card's config space, which is the file @config, has
 * bus mastering on.
 */
static bool is_master(const char *config)
{
	int fd = open(config, O_RDONLY);
	unsigned char command;

	need(fd >= 0 && pread(fd, &command, 1, 4) == 1, config);
	close(fd);
	return command & 4;
}

/*
 * A direction that does not stop may still access host memory, so the driver switches bus mastering
 * off. Bus mastering must be on again when both directions have stopped.
 */
int stuck(const char *device, const char *parameter, const char *config)
{
	int fd = open_or_fail(device);
	const struct litepcie_status *status = map_status(fd);

	need(!run_c2h(fd, 1, NULL) && !run_h2c(fd, 1, NULL), "start");
	need(is_master(config), "bus mastering of a card that runs");
	/*
	 * h2c is stopped first, while bus mastering is on. The failed stop of c2h switches bus
	 * mastering off for both directions, and then a direction that has requests to make cannot
	 * stop.
	 */
	need(!run_h2c(fd, 0, NULL), "stop of h2c");
	say(parameter, "1");
	refused(run_c2h(fd, 0, NULL), EIO, "stop of c2h");
	if (is_master(config))
		fail("the card may still write to memory");
	refused(run_c2h(fd, 1, NULL), EIO, "start of what does not stop");
	refused(run_h2c(fd, 1, NULL), EIO, "start of the other, which does not stop either");
	say(parameter, "0");
	refused(run_c2h(fd, 1, NULL), EIO, "start of c2h while h2c may still read");
	if (is_master(config))
		fail("the card may make requests, though h2c has not stopped");
	need(!run_h2c(fd, 1, NULL) && is_master(config), "start of h2c when both have stopped");
	need(!run_c2h(fd, 1, NULL), "start of c2h when both have stopped");
	while (__atomic_load_n(&status->way[1].buffers, __ATOMIC_ACQUIRE) < 40)
		usleep(1000);
	printf("stuck: ok\n");
	return 0;
}
