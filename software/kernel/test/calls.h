/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The calls that the test programs share.
 */
#ifndef CALLS_H
#define CALLS_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "../uapi/litepcie.h"

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

#endif /* CALLS_H */
