/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Record frames of the card's own generator to a file that Wireshark opens,
 * and count them in place. The card needs the capture block.
 */
#include <liblitepcie.h>
#include <litepcie_capture.h>
#include <stdio.h>

#define FRAMES	2000

static uint64_t packets;

/* Count the frames of a span (some blocks of the ring), and copy none. */
static int count(const struct litepcie_span *span)
{
	struct litepcie_packet packet;
	size_t at = 0;
	int rc;

	while ((rc = litepcie_record_next(span, &at, &packet)) == 1)
		packets++;
	return rc;
}

/*
 * Write the next blocks of the ring to the file: those that have come, up to
 * the end of their MBUF (part of the ring) at most.
 */
static int take(struct litepcie_capture *capture, FILE *file, int timeout_ms)
{
	struct litepcie_span span = { .struct_size = sizeof(span) };
	int rc = litepcie_capture_next(capture, &span, timeout_ms);

	if (rc <= 0)
		return rc;
	if (count(&span) < 0 || fwrite(span.data, 1, span.bytes, file) != span.bytes)
		return -1;
	rc = litepcie_capture_release(capture, span.bytes);
	return rc < 0 ? rc : 1;
}

static int record(struct litepcie_capture *capture, FILE *file)
{
	struct litepcie_generator generator = {
		.struct_size = sizeof(generator), .size = 64, .period = 3000,
		.count = FRAMES,
	};
	static uint8_t header[LITEPCIE_CAPTURE_HEADER_BYTES];
	uint64_t made = 0;
	int rc = litepcie_capture_header(capture, header, sizeof(header));

	if (rc < 0 || fwrite(header, 1, sizeof(header), file) != sizeof(header))
		return -1;
	rc = litepcie_capture_start(capture);
	if (rc == 0)
		rc = litepcie_capture_generate(capture, &generator);
	while (rc >= 0 && made < FRAMES) {
		rc = take(capture, file, 100);
		if (rc == 0)
			rc = litepcie_capture_generated(capture, &made);
	}
	if (rc >= 0)
		rc = litepcie_capture_generate_stop(capture);
	if (rc >= 0)
		rc = litepcie_capture_stop(capture);
	while (rc >= 0 && (rc = take(capture, file, 0)) > 0)
		;
	return rc;
}

int main(int argc, char **argv)
{
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = 4 << 20,
		.mbuf_bytes = 64 << 10,
	};
	struct litepcie_capture_stats stats = { .struct_size = sizeof(stats) };
	FILE *file = fopen(argc > 2 ? argv[2] : "example.pcapng", "wb");
	struct litepcie_capture *capture = NULL;
	char why[LITEPCIE_WHY_SIZE];
	struct litepcie *dev;
	int rc;

	if (litepcie_open(&dev, argc > 1 ? argv[1] : "/dev/litepcie0", why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	rc = file ? litepcie_capture_open(dev, &config, &capture) : -1;
	if (rc == 0) {
		litepcie_capture_settings(capture, &config);
		printf("MBUFs of %u bytes\n", config.mbuf_bytes);
		rc = record(capture, file);
	}
	if (rc == 0)
		rc = litepcie_capture_stats(capture, &stats);
	if (rc < 0)
		fprintf(stderr, "%s\n", file ? litepcie_why(dev) : "no file");
	else
		printf("%llu packets of %llu, %llu lost\n", (unsigned long long)packets,
		       (unsigned long long)stats.port[0].delivered.frames,
		       (unsigned long long)stats.lost);
	if (file && fclose(file) != 0)
		rc = -1;
	litepcie_capture_close(capture);
	litepcie_close(dev);
	return rc < 0 || packets != FRAMES;
}
