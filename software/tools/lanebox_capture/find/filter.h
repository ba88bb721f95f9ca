/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Filters for Ethernet packets in tcpdump's language, by libpcap. The program loads libpcap when a
 * filter is needed, and does not link to it. So a machine that only records needs no libpcap.
 */
#ifndef LANEBOX_CAPTURE_FILTER_H
#define LANEBOX_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define FILTER_WHY	256	/* size of an error message, with its terminating 0 */

struct filter;

/*
 * Compile the text of a filter, as tcpdump(1) takes it. Returns NULL with a message in @why if this
 * machine has no libpcap, if the program is linked statically, or if libpcap refuses the text.
 */
struct filter *filter_open(const char *text, char why[FILTER_WHY]);

/* Returns true if a packet of @length bytes matches; its first @kept bytes are at @data. */
bool filter_takes(const struct filter *filter, const uint8_t *data, uint32_t kept, uint32_t length);

/* Free a filter, which may be NULL. */
void filter_close(struct filter *filter);

#endif /* LANEBOX_CAPTURE_FILTER_H */
