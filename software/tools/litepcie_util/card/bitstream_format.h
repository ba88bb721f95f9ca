/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The numbers of a bitstream's format (UG570), and the parts whose bitstreams are known. Generated
 * by bringup/bitstream.py: do not edit.
 */
#ifndef LITEPCIE_UTIL_BITSTREAM_FORMAT_H
#define LITEPCIE_UTIL_BITSTREAM_FORMAT_H

#define BITSTREAM_PREAMBLE       "\x00\x09\x0f\xf0\x0f\xf0\x0f\xf0\x0f\xf0\x00\x00\x01"
#define BITSTREAM_PREAMBLE_SIZE  13
#define BITSTREAM_SYNC           0xaa995566u
#define BITSTREAM_REVISION       0xf0000000u
#define BITSTREAM_WRITE          2
#define BITSTREAM_REG_COMMAND    4
#define BITSTREAM_REG_IDCODE     12
#define BITSTREAM_REG_USER_ID    13
#define BITSTREAM_CMD_DESYNC     13

/* P(IDCODE without its revision, part) */
#define BITSTREAM_PARTS(P) \
	P(0x04a62093u, "xcku5p") \
	P(0x04a63093u, "xcku3p")

#endif /* LITEPCIE_UTIL_BITSTREAM_FORMAT_H */
