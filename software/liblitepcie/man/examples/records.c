/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Count the frames of each port in the first MiB of a recording. A recording is
 * a header of 4096 bytes and then data as the card wrote it to the ring, so
 * litepcie_records() reads it like a span of litepcie_capture_next().
 */
#include <litepcie_capture.h>
#include <stdio.h>

#define FRAMES	64

static int list(const struct litepcie_span *span)
{
	uint64_t frames[LITEPCIE_CAPTURE_PORTS] = { 0 };
	struct litepcie_packet packets[FRAMES];
	size_t at = 0;
	int found;

	while ((found = litepcie_records(span, &at, packets, FRAMES, sizeof(*packets))) > 0)
		for (int i = 0; i < found; i++)
			frames[packets[i].port % LITEPCIE_CAPTURE_PORTS]++;
	for (unsigned int port = 0; port < LITEPCIE_CAPTURE_PORTS; port++)
		if (frames[port])
			printf("port %u: %llu frames\n", port,
			       (unsigned long long)frames[port]);
	return found;
}

int main(int argc, char **argv)
{
	static uint8_t data[1 << 20];
	struct litepcie_span span = { .struct_size = sizeof(span), .data = data };
	FILE *file = fopen(argc > 2 ? argv[2] : "example.pcapng", "rb");

	if (!file) {
		perror("example.pcapng");
		return 1;
	}
	span.bytes = fread(data, 1, sizeof(data), file);
	fclose(file);
	/* a longer recording is cut after 1 MiB, which may be inside a block */
	return list(&span) < 0 && span.bytes < sizeof(data);
}
