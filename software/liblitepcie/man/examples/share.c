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
	struct litepcie_dma_config config = {
		.struct_size = sizeof(config), .directions = LITEPCIE_C2H, .pattern = true,
	};
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;
	int fd, status = 1;
	uint64_t first;
	pid_t child;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	if (litepcie_dma_start(dev, &config) < 0 ||
	    litepcie_ring_export(dev, LITEPCIE_C2H, &fd) < 0 ||
	    litepcie_c2h_peek(dev, &first, 1000) <= 0) {
		fprintf(stderr, "no buffer: %s\n", litepcie_why(dev));
		litepcie_close(dev);
		return 1;
	}
	child = fork();
	if (child == 0)
		_exit(look(fd, litepcie_buffer_size(dev) * litepcie_buffer_count(dev)));
	waitpid(child, &status, 0);
	close(fd);
	litepcie_close(dev);
	return status != 0;
}
