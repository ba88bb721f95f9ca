/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Example: capture the card's c2h stream into a file. The file is opened with
 * O_DIRECT, so the disk reads the buffers where the card has written them, and
 * no processor copies the data.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "example.h"

#define BUFFER	(256u << 10)
#define BUFFERS	16u

static const char text[] =
	"usage: capture [-d DEVICE] [-n MIB] FILE\n"
	"\n"
	"Capture the card's stream into a file, without a copy.\n"
	"\n"
	"  -n MIB     how much (64)";

/*
 * Write @size bytes to the file. If the disk is almost full, one write() takes
 * only a part, and the next one fails with the reason.
 */
static int write_all(int file, const char *data, size_t size)
{
	while (size) {
		ssize_t written = write(file, data, size);

		if (written < 0)
			return -1;
		data += written;
		size -= (size_t)written;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct litepcie *dev = begin(argc, argv, "n:", 1, 1, text);
	const char *path = argv[optind];
	const unsigned long mib = number('n', 64, 1ul << 20);
	const uint64_t buffers = ((uint64_t)mib << 20) / BUFFER;
	const struct litepcie_dma_config config = {
		.struct_size = sizeof(config),
		.directions = LITEPCIE_C2H,
		/*
		 * true: the card's own pattern; false: the data of the user
		 * slot's logic
		 */
		.pattern = true,
		.c2h_limit = buffers,
	};
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0666);
	const char *data;
	uint64_t first;

	if (file < 0)
		FAIL("%s: %s", path, strerror(errno));
	check(litepcie_ring_setup(dev, BUFFER, BUFFERS));
	check(litepcie_dma_start(dev, &config));
	for (uint64_t done = 0; done < buffers; done++) {
		some(litepcie_c2h_peek(dev, &first, WAIT_MS));
		data = litepcie_c2h_buffer(dev, first);
		if (write_all(file, data, BUFFER) < 0)
			FAIL("%s: %s", path, strerror(errno));
		check(litepcie_c2h_release(dev, 1));
	}
	if (fsync(file) < 0 || close(file) < 0)
		FAIL("%s: %s", path, strerror(errno));
	printf("%lu MiB in %s\n", mib, path);
	return 0;
}
