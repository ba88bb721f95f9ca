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

#define FILTER_WHY	256

struct filter;

/*
 * Compile the text of a filter. Returns NULL with a sentence in @why if there is no libpcap, or if
 * it refuses the text.
 */
struct filter *filter_open(const char *text, char why[FILTER_WHY]);

/* True if the filter takes a packet of which @kept bytes are at @data, and that had @length. */
bool filter_takes(const struct filter *filter, const uint8_t *data, uint32_t kept, uint32_t length);

/* Free a filter, which may be NULL. */
void filter_close(struct filter *filter);

#endif /* LANEBOX_CAPTURE_FILTER_H */
