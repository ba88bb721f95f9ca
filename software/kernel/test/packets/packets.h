/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares variables and functions of the test program packets, which its source files share.
 */
#ifndef PACKETS_H
#define PACKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "calls.h"

#define BEAT		32u		/* bytes of a beat of the card's data path */
/* bytes of an h2c buffer, larger than a c2h buffer, so that a packet may take three c2h buffers */
#define H2C_SIZE	16384u
#define C2H_SIZE	4096u
#define COUNT		16u
#define TIMEOUT_S	60

extern int fd;
/* mapping of the driver's status page, which map_all() makes */
extern const struct litepcie_status *status;

void need(bool true_, const char *what);
void refused(long rc, int error, const char *what);

/*
 * Let the signal SIGALRM come after @us microseconds, which ends a system call that sleeps
 * interruptibly with EINTR.
 */
void interrupt_in(unsigned int us);

int set_packets(unsigned int way, uint32_t flags, uint32_t flush_us);
int advance(unsigned int way, uint32_t count, uint32_t bytes);

/* Become the owner of both directions, with the DMA's loopback on and rings of COUNT buffers. */
void take(void);
void map_all(void);
struct litepcie_ring_info info_of(unsigned int way);

/*
 * Start c2h by a read() that finds no data. While c2h is off, the card drops the h2c data that the
 * loopback returns.
 */
void start_c2h(void);

/* Functions of packets_full.c and packets_bad.c. Each implements the command of its name. */
int full(void);
int bytes(void);
int places(void);
int late(void);
int bad(void);
int bad_end(void);
int ended(void);

#endif
