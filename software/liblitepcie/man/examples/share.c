/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Let another process read the card's data in place, by a descriptor of the
 * ring.
 */
#define _DEFAULT_SOURCE
#include <liblitepcie.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int look(int fd, size_t bytes)
{
	const uint32_t *ring = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);

	if (ring == MAP_FAILED)
		return 1;
	printf("process %d sees %u and %u\n", (int)getpid(), ring[0], ring[1]);
	return fflush(stdout);
}

int main(int argc, char **argv)
{
	struct litepcie_stream_options options = {
		.struct_size = sizeof(options), .pattern = true,
	};
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	struct litepcie_stream *c2h;
	struct litepcie_stream_info info = { .struct_size = sizeof(info) };
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;
	int fd, status = 1;
	pid_t child;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (litepcie_stream_open(dev, LITEPCIE_C2H, &options, &c2h) < 0 ||
	    litepcie_stream_start(c2h) < 0 || litepcie_stream_export(c2h, &fd) < 0 ||
	    litepcie_stream_info(c2h, &info) < 0 ||
	    litepcie_stream_acquire(c2h, &buffer, 1000) <= 0) {
		fprintf(stderr, "no buffer: %s\n", litepcie_why(dev));
		litepcie_close(dev);
		return 1;
	}
	child = fork();
	if (child == 0)
		_exit(look(fd, info.buffer_size * info.buffer_count));
	waitpid(child, &status, 0);
	close(fd);
	litepcie_close(dev);
	return status != 0;
}
