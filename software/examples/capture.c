/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Example: capture the card's c2h stream into a file. The file is opened with
 * O_DIRECT, so the disk reads the buffers from the memory to which the card has
 * written them, and no processor copies the data.
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
 * Write the @size bytes at @data to the file. If the disk is almost full, one
 * write() takes only a part of the data, and the next write() fails with the
 * reason. Returns 0, or -1 with errno set.
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
	struct litepcie_stream_options options = {
		.struct_size = sizeof(options),
		.buffer_size = BUFFER,
		.buffer_count = BUFFERS,
		/*
		 * true: the card sends its own pattern, in which dwords count
		 * up; false: the card sends the data of the logic in the user
		 * slot
		 */
		.pattern = true,
	};
	struct litepcie_stream *c2h;
	unsigned long mib;
	const char *path;
	int file;

	begin(argc, argv, "n:", 1, 1, text);
	path = argv[optind];
	mib = number('n', 64, 1ul << 20);
	options.limit = ((uint64_t)mib << 20) / BUFFER;
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0666);
	if (file < 0)
		FAIL("%s: %s", path, strerror(errno));
	c2h = start(LITEPCIE_C2H, &options);
	for (uint64_t done = 0; done < options.limit; done++) {
		if (write_all(file, next(c2h).data, BUFFER) < 0)
			FAIL("%s: %s", path, strerror(errno));
		check(litepcie_stream_release(c2h, 1));
	}
	if (fsync(file) < 0 || close(file) < 0)
		FAIL("%s: %s", path, strerror(errno));
	printf("%lu MiB in %s\n", mib, path);
	return 0;
}
