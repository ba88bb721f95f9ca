/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Defines functions that open a device node of the driver litepcie and make some of its ioctl()
 * calls, for the driver's test programs.
 */
#ifndef CALLS_H
#define CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "uapi/litepcie.h"

#define RING	(2u << 20)
#define BUFFER	8192u

#define fail(...)	(fprintf(stderr, "%s: ", program_invocation_short_name), \
			 fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))

static inline int open_or_fail(const char *device)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		fail("%s: %s", device, strerror(errno));
	return fd;
}

static inline int run_h2c(int fd, int enable, long long *hw)
{
	struct litepcie_ioctl_dma_reader reader = { .enable = (unsigned char)enable };
	int rc = ioctl(fd, LITEPCIE_IOCTL_DMA_READER, &reader);

	if (hw)
		*hw = reader.hw_count;
	return rc;
}

static inline int run_c2h(int fd, int enable, long long *hw)
{
	struct litepcie_ioctl_dma_writer writer = { .enable = (unsigned char)enable };
	int rc = ioctl(fd, LITEPCIE_IOCTL_DMA_WRITER, &writer);

	if (hw)
		*hw = writer.hw_count;
	return rc;
}

static inline void loopback(int fd, int enable)
{
	struct litepcie_ioctl_dma dma = { .loopback_enable = (unsigned char)enable };

	if (ioctl(fd, LITEPCIE_IOCTL_DMA, &dma))
		fail("loopback: %s", strerror(errno));
}

/*
 * Make the file the direction's owner and give it a ring of 32 buffers, for tests that start a
 * direction often. At the start of LitePCIe's loop (a run in which the card goes round the ring
 * again and again) the driver writes a descriptor for each buffer to a table in the card. For this
 * ring that takes 96 register writes, for LitePCIe's ring of 256 buffers 768. One of 32 buffers
 * asks for an interrupt, as with LitePCIe's ring. Returns 0, or -1 with errno if a call fails.
 */
static inline int small_ring(int fd, unsigned int way)
{
	struct litepcie_ring_setup setup = {
		.way = way, .buffer_size = BUFFER, .buffer_count = 32, .buffers_per_interrupt = 32,
	};
	struct litepcie_ioctl_lock lock = {
		.dma_reader_request = way == LITEPCIE_WAY_H2C,
		.dma_writer_request = way == LITEPCIE_WAY_C2H,
	};
	int rc = ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock);

	return rc ? rc : ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup);
}

#endif /* CALLS_H */
