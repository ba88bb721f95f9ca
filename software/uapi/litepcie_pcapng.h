/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Writes the header of a recording, for the driver's read() and for the
 * library.  The header is a pcapng section (draft-ietf-opsawg-pcapng, 4.1 and
 * 4.2) with an interface for each port.  All interfaces have the same link type
 * and snap length, since libpcap refuses a file in which they differ.  A filler
 * block, which readers of pcapng skip, fills the rest of the header's
 * LITEPCIE_CAPTURE_HEADER_BYTES.
 *
 * This file is not installed.  It takes memcpy(), memset(), strlen() and
 * snprintf() from the file that includes it.
 */
#ifndef LITEPCIE_UAPI_PCAPNG_H
#define LITEPCIE_UAPI_PCAPNG_H

#include <linux/types.h>

#include "litepcie_capability.h"
#include "litepcie_limits.h"

/*
 * The functions of this file with an argument @to write to zeroed memory at
 * *@to, and move *@to behind what they wrote.
 */

static inline void litepcie_pcapng_word(__u8 **to, __u32 value)
{
	/* The section is little-endian, whatever the byte order of the host is. */
	for (unsigned int n = 0; n < 4; n++)
		*(*to)++ = value >> 8 * n & 0xff;
}

static inline void litepcie_pcapng_option(__u8 **to, __u32 code, const void *value, __u32 bytes)
{
	litepcie_pcapng_word(to, code | bytes << 16);
	memcpy(*to, value, bytes);
	*to += (bytes + 3) & ~3u;
}

static inline void litepcie_pcapng_text(__u8 **to, __u32 code, const char *text)
{
	litepcie_pcapng_option(to, code, text, (__u32)strlen(text));
}

/* Begin a block, and return its address for litepcie_pcapng_end(), which writes its length. */
static inline __u8 *litepcie_pcapng_begin(__u8 **to, __u32 type)
{
	__u8 *block = *to;

	litepcie_pcapng_word(to, type);
	litepcie_pcapng_word(to, 0);
	return block;
}

static inline void litepcie_pcapng_end(__u8 **to, __u8 *block)
{
	__u8 *length = block + 4;
	__u32 bytes = (__u32)(*to - block) + 4;

	litepcie_pcapng_word(&length, bytes);
	litepcie_pcapng_word(to, bytes);
}

static inline void litepcie_pcapng_section(__u8 **to, const char *target, const char *program)
{
	__u8 *block = litepcie_pcapng_begin(to, LITEPCIE_PCAPNG_SECTION);
	char hardware[64];

	snprintf(hardware, sizeof(hardware), "Lanebox card, %s", target);
	litepcie_pcapng_word(to, LITEPCIE_PCAPNG_ORDER_MAGIC);
	litepcie_pcapng_word(to, 1);	/* version of pcapng: 1.0 */
	/* length of the section: -1 in 64 bits, since it is not known */
	litepcie_pcapng_word(to, ~0u);
	litepcie_pcapng_word(to, ~0u);
	litepcie_pcapng_text(to, LITEPCIE_PCAPNG_HARDWARE, hardware);
	litepcie_pcapng_text(to, LITEPCIE_PCAPNG_USERAPPL, program);
	litepcie_pcapng_word(to, 0);
	litepcie_pcapng_end(to, block);
}

static inline void litepcie_pcapng_interface(__u8 **to, unsigned int port, __u32 link_type,
					     __u32 snap)
{
	__u8 *block = litepcie_pcapng_begin(to, LITEPCIE_PCAPNG_INTERFACE);
	const __u8 resolution = LITEPCIE_PCAPNG_NANOSECONDS;
	char name[16];

	snprintf(name, sizeof(name), "port%u", port);
	litepcie_pcapng_word(to, link_type);
	litepcie_pcapng_word(to, snap);	/* 0: frames are not cut */
	litepcie_pcapng_text(to, LITEPCIE_PCAPNG_NAME, name);
	litepcie_pcapng_option(to, LITEPCIE_PCAPNG_TSRESOL, &resolution, sizeof(resolution));
	litepcie_pcapng_word(to, 0);
	litepcie_pcapng_end(to, block);
}

/* Write the LITEPCIE_CAPTURE_HEADER_BYTES of a header to @page. */
static inline void litepcie_pcapng_header(__u8 *page, const char *target, const char *program,
					  __u32 link_type, __u32 snap)
{
	__u8 *to = page, *block;

	memset(page, 0, LITEPCIE_CAPTURE_HEADER_BYTES);
	litepcie_pcapng_section(&to, target, program);
	for (unsigned int port = 0; port < LITEPCIE_CAPTURE_PORTS; port++)
		litepcie_pcapng_interface(&to, port, link_type, snap);
	block = litepcie_pcapng_begin(&to, LITEPCIE_PCAPNG_FILLER);
	to = page + LITEPCIE_CAPTURE_HEADER_BYTES - 4;
	litepcie_pcapng_end(&to, block);
}

#endif /* LITEPCIE_UAPI_PCAPNG_H */
