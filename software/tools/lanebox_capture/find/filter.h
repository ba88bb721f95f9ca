/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Filters of tcpdump for Ethernet packets, by libpcap. The library is looked for when a filter is
 * needed, and not when the program is built or started. So a machine that only records needs no
 * libpcap.
 */
#ifndef LANEBOX_CAPTURE_FILTER_H
#define LANEBOX_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define FILTER_WHY	256	/* bytes of a sentence about a failure, with its end */

struct filter;

/*
 * Compile the text of a filter, as tcpdump(1) takes it. Returns NULL with a sentence in @why if
 * this machine has no libpcap, the program is linked statically, or libpcap refuses the text.
 */
struct filter *filter_open(const char *text, char why[FILTER_WHY]);

/* True if the filter takes a packet of @length bytes, of which the first @kept are at @data. */
bool filter_takes(const struct filter *filter, const uint8_t *data, uint32_t kept, uint32_t length);

/* Free a filter, which may be NULL. */
void filter_close(struct filter *filter);

#endif /* LANEBOX_CAPTURE_FILTER_H */
