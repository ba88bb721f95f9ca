// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests that read() in LitePCIe's loop returns the data that the card has written, and returns no
 * buffer before the card has written all of the buffer's data.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "uapi/litepcie.h"
#include "rings.h"

/*
 * size in bytes of a buffer. Buffers are so large that the card takes longer to write one than the
 * processor takes for an interrupt: a buffer that is read too early then still has older data. The
 * h2c and the c2h ring differ in their number of buffers, so that the older data is that of another
 * h2c buffer.
 */
#define SIZE		(256u << 10)
#define H2C_COUNT	7u
#define C2H_COUNT	8u

static const uint32_t *sent;
static uint32_t got[SIZE / 4];

static struct litepcie_ioctl_dma_writer run(unsigned long request, int enable)
{
	/* the ioctls DMA_WRITER (c2h) and DMA_READER (h2c) have arguments of the same layout */
	struct litepcie_ioctl_dma_writer run = { .enable = enable };

	need(!ioctl(fd, request, &run), "start, stop or counts");
	return run;
}

static void set_up(unsigned int way, unsigned int count)
{
	struct litepcie_ring_setup setup = {
		.way = way, .buffer_size = SIZE, .buffer_count = count, .buffers_per_interrupt = 1,
	};

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup), "setup");
}

/*
 * Read the next c2h buffer by read() and compare it with the h2c data. Returns false if no buffer
 * is ready.
 */
static bool read_one(void)
{
	ssize_t bytes = read(fd, got, SIZE);
	struct litepcie_ioctl_dma_writer counts;

	if (bytes < 0 && errno == EAGAIN)
		return false;
	need(bytes == SIZE, "read");
	/* c2h runs already, so this call of DMA_WRITER only returns the counts */
	counts = run(LITEPCIE_IOCTL_DMA_WRITER, 1);
	compare(got, sent + (counts.sw_count - 1) % H2C_COUNT * (SIZE / 4), SIZE / 4, "read()");
	return true;
}

int read_buffers(unsigned long buffers)
{
	struct litepcie_ioctl_lock lock = { .dma_reader_request = 1, .dma_writer_request = 1 };
	struct litepcie_ioctl_dma loopback = { .loopback_enable = 1 };
	struct litepcie_ring_info info = { .way = LITEPCIE_WAY_H2C };
	struct litepcie_ioctl_dma_writer counts;
	unsigned long done = 0;

	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock), "lock");
	need(!ioctl(fd, LITEPCIE_IOCTL_DMA, &loopback), "loopback");
	set_up(LITEPCIE_WAY_H2C, H2C_COUNT);
	set_up(LITEPCIE_WAY_C2H, C2H_COUNT);
	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "ring info");
	sent = map(info.ring_offset, info.ring_bytes);
	fill((uint32_t *)sent, info.ring_bytes / 4);
	run(LITEPCIE_IOCTL_DMA_WRITER, 1);
	run(LITEPCIE_IOCTL_DMA_READER, 1);
	for (; done < buffers; done++)
		need(read_one(), "read without O_NONBLOCK");
	run(LITEPCIE_IOCTL_DMA_READER, 0);
	/* give the h2c data that is under way time to come back as c2h data */
	usleep(100000);
	need(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	while (read_one())
		done++;
	counts = run(LITEPCIE_IOCTL_DMA_WRITER, 1);
	if (counts.sw_count != counts.hw_count)
		fail("read() gave buffers up to %lld, but the card has written %lld",
		     (long long)counts.sw_count, (long long)counts.hw_count);
	printf("read: %lu buffers compared\n", done);
	return 0;
}
