/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Filters for packets in tcpdump's language, by libpcap. The program loads libpcap by dlopen() when
 * a filter is needed, and is not linked to libpcap. So a machine that only records needs no
 * libpcap.
 */
#ifndef LANEBOX_CAPTURE_FILTER_H
#define LANEBOX_CAPTURE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define FILTER_WHY	256	/* size of an error message, with its terminating 0 */

struct filter;

/*
 * Compile the text of a filter, as tcpdump(1) takes it, for packets of Ethernet. @text must stay
 * until filter_close(). Returns NULL with a message in @why if this machine has no libpcap with the
 * functions needed, if the program is linked statically, if libpcap refuses the text, or if there
 * is no memory.
 */
struct filter *filter_open(const char *text, char why[FILTER_WHY]);

/*
 * Compile the filter for packets of the pcapng link type @link, unless it is compiled for them. A
 * filter with an empty text takes packets of any link type. Returns false with a message in @why if
 * libpcap does not know the link type, or does not have such a filter for it.
 */
bool filter_link(struct filter *filter, unsigned int link, char why[FILTER_WHY]);

/*
 * Returns true if a packet that had @length bytes matches the filter. Its first @kept bytes are at
 * @data.
 */
bool filter_takes(const struct filter *filter, const uint8_t *data, uint32_t kept, uint32_t length);

/* Free a filter, which may be NULL. */
void filter_close(struct filter *filter);

#endif /* LANEBOX_CAPTURE_FILTER_H */
