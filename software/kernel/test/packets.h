/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 */
#ifndef PACKETS_H
#define PACKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "calls.h"

#define BEAT		32u		/* bytes of a beat */
/* larger than a c2h buffer, so that a packet may take three of those */
#define H2C_SIZE	16384u
#define C2H_SIZE	4096u
#define COUNT		16u
#define TIMEOUT_S	60

extern int fd;
/* the status page; set after map_all() has been called */
extern const struct litepcie_status *status;

void need(bool true_, const char *what);
void refused(long rc, int error, const char *what);

/* Let a signal come after @us, which ends a sleeping call with EINTR. */
void interrupt_in(unsigned int us);

int set_packets(unsigned int way, uint32_t flags, uint32_t flush_us);
int advance(unsigned int way, uint32_t count, uint32_t bytes);

/* Take both directions, with the DMA's loopback and rings of COUNT buffers. */
void take(void);
void map_all(void);
struct litepcie_ring_info info_of(unsigned int way);

/* Start c2h: while it is off, it drops data that is sent to it. */
void start_c2h(void);

/* Commands of packets_full.c and packets_bad.c. */
int full(void);
int bytes(void);
int places(void);
int late(void);
int bad(void);
int bad_end(void);
int ended(void);

#endif
