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

#define BEAT		32u		/* bytes */
#define H2C_SIZE	16384u		/* so that a packet may take three buffers of c2h */
#define C2H_SIZE	4096u
#define COUNT		16u
#define TIMEOUT_S	60

extern int fd;
extern const struct litepcie_status *status;	/* when map_all() has been called */

void need(bool true_, const char *what);
void refused(long rc, int error, const char *what);

/* Ends a call that sleeps then, with EINTR. */
void interrupt_in(unsigned int us);

int set_packets(unsigned int way, uint32_t flags, uint32_t flush_us);
int advance(unsigned int way, uint32_t count, uint32_t bytes);

/* Both directions, with the DMA's loopback and rings of COUNT buffers. */
void take(void);
void map_all(void);
struct litepcie_ring_info info_of(unsigned int way);

/* A c2h that does not run drops what is sent to it. */
void start_c2h(void);

/* Commands: packets_full.c, packets_bad.c. */
int full(void);
int bytes(void);
int places(void);
int late(void);
int bad(void);
int bad_end(void);
int ended(void);

#endif
