/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The header of a recording: the first page of a file. The MBUFs (parts of the ring) follow in the
 * file as they are in the ring. The header is a pcapng section (draft-ietf-opsawg-pcapng, 4.1 and
 * 4.2) with an interface for each port. All interfaces have the same link type and snap length,
 * since libpcap refuses a file in which they differ.
 */
#include "capture.h"

#include <stdio.h>

#define NANOSECONDS	9u	/* value of the option if_tsresol: times are in units of 10^-9 s */

static void put(uint8_t **to, const void *data, size_t size)
{
	memcpy(*to, data, size);
	*to += size;
}

static void put32(uint8_t **to, uint32_t value)
{
	put(to, &value, sizeof(value));
}

/* Write a pcapng option, with zeros behind its value up to a multiple of 4 bytes. */
static void put_option(uint8_t **to, uint32_t code, const void *data, uint32_t bytes)
{
	put32(to, code | bytes << 16);
	memset(*to, 0, (bytes + 3) & ~3u);
	memcpy(*to, data, bytes);
	*to += (bytes + 3) & ~3u;
}

static uint8_t *begin(uint8_t **to, uint32_t type)
{
	uint8_t *block = *to;

	put32(to, type);
	put32(to, 0);
	return block;
}

static void end(uint8_t **to, uint8_t *block)
{
	uint32_t length = (uint32_t)(*to - block) + 4;

	memcpy(block + 4, &length, sizeof(length));
	put32(to, length);
}

static void put_section(const struct litepcie_capture *capture, uint8_t **to)
{
	static const char program[] = "liblitepcie";
	const int64_t unknown = -1;	/* pcapng's length of a section of unknown length */
	char hardware[64];
	int length = snprintf(hardware, sizeof(hardware), "Lanebox card, %s",
			      capture->dev->card.target);
	uint8_t *block = begin(to, LITEPCIE_PCAPNG_SECTION);

	put32(to, LITEPCIE_PCAPNG_ORDER_MAGIC);
	put32(to, 1);	/* version of pcapng: 1.0 */
	put(to, &unknown, sizeof(unknown));
	put_option(to, LITEPCIE_PCAPNG_HARDWARE, hardware, (uint32_t)length);
	put_option(to, LITEPCIE_PCAPNG_USERAPPL, program, sizeof(program) - 1);
	put32(to, 0);
	end(to, block);
}

static void put_interface(const struct litepcie_capture *capture, uint8_t **to, unsigned int port)
{
	const uint8_t resolution = NANOSECONDS;
	char name[16];
	int length = snprintf(name, sizeof(name), "port%u", port);
	uint8_t *block = begin(to, LITEPCIE_PCAPNG_INTERFACE);

	put32(to, capture->config.link_type);
	put32(to, capture->config.snap);
	put_option(to, LITEPCIE_PCAPNG_NAME, name, (uint32_t)length);
	put_option(to, LITEPCIE_PCAPNG_TSRESOL, &resolution, sizeof(resolution));
	put32(to, 0);
	end(to, block);
}

int litepcie_capture_header(const struct litepcie_capture *capture, void *buffer, size_t bytes)
{
	uint8_t *to = buffer, *last = to + LITEPCIE_CAPTURE_HEADER_BYTES, *block;

	if (bytes < LITEPCIE_CAPTURE_HEADER_BYTES)
		return litepcie_fail(-EINVAL, "%zu bytes for the header of a file: it has %u",
				     bytes, LITEPCIE_CAPTURE_HEADER_BYTES);
	put_section(capture, &to);
	for (unsigned int port = 0; port < LITEPCIE_CAPTURE_PORTS; port++)
		put_interface(capture, &to, port);
	block = begin(&to, LITEPCIE_PCAPNG_FILLER);
	memset(to, 0, (size_t)(last - to));
	to = last - 4;
	end(&to, block);
	return (int)LITEPCIE_CAPTURE_HEADER_BYTES;
}
