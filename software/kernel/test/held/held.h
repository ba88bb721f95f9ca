/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares variables and functions of the test program held, which its source files share.
 */
#ifndef HELD_H
#define HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "uapi/litepcie.h"

#define SIZE	4096u
#define COUNT	16u
#define BEAT	32u	/* bytes of a beat; the card cuts the data of an h2c buffer into beats */

extern int fd;	/* descriptor of the open device node */
/* the driver's status page and the file's index page, which take() maps */
extern const struct litepcie_status *status;
extern struct litepcie_index *index_page;

/*
 * The state of a stream of dwords that count up. The dwords are sent in h2c buffers of random
 * lengths, and must come back by c2h without a gap.
 */
struct stream {
	/* dwords that were sent by h2c, and dwords that c2h has brought back */
	uint64_t	sent, got;
	/*
	 * numbers of buffers. @h2c: h2c buffers handed over to the card. @c2h_given: c2h buffers
	 * handed over to the card. @c2h: c2h buffers whose data has been compared.
	 */
	uint64_t	h2c, c2h_given, c2h;
};

/* Functions of held.c */
void need(bool true_, const char *what);
/*
 * Check that a call has failed, so its result @rc is not 0, and that errno is @error. Otherwise end
 * the program with a message.
 */
void refused(int rc, int error, const char *what);
uint32_t random_below(uint32_t limit);
int advance(unsigned int way, uint32_t count, const uint32_t *lengths, uint32_t flags);
struct litepcie_counts counts_of(unsigned int way);
void *map(uint64_t offset, size_t bytes, int prot);
/*
 * Become the owner of both directions, with the loopback on and rings of COUNT buffers of SIZE
 * bytes. Map the rings, the status page and the index page.
 */
void take(void);
/*
 * Start c2h as a held run, which must be done before h2c starts: the card drops data that comes
 * while c2h is off.
 */
void start(void);
/*
 * Send a random number of h2c buffers, hand a random number of c2h buffers to the card, wait for a
 * short time or not at all, and compare a random part of the data that has come back.
 */
void turn(struct stream *stream);
void stop(void);

/* Functions of held_refuse.c */
int refuse(const char *device);
int ready(const char *device);

/* Functions of held_events.c */
int sync_beats(void);
int changed_epoll(void);
int reset(const char *flag);
int user(const char *device);
int user_race(const char *device, uint64_t rounds);

#endif /* HELD_H */
