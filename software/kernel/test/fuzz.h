/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * What the parts of fuzz share: calls at random, calls with an aim, and a card that is away.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <sys/types.h>

#include "../uapi/litepcie.h"

#define PATTERN_CONTROL	0x5000	/* of the default gateware */

#define FDS	4	/* open files; the aimed calls use the first two */

enum call {
	REG, LOOPBACK, C2H, H2C, INFO, LOCK, C2H_UPDATE, H2C_UPDATE,
	SETUP, MEMORY, RING_INFO, EVENT, BAR, EXPORT, ADVANCE, COUNTS, PACKETS, UNKNOWN,
	MMAP, READ, WRITE, SYNC, POLL, OPEN, CALLS
};

extern int fds[FDS + 1];	/* the last one's card has gone; -1: there is none */
extern const char *device;
extern const unsigned long requests[];	/* up to PACKETS */
extern const char *const names[];

unsigned int pick(unsigned int below);
const char *outcome_name(int error);

/* Whatever random calls have mapped. */
void unmap_all(void);

/* Count a call by its outcome; gives its error, or 0. */
int count(enum call call, bool ok);

union argument {
	struct litepcie_ioctl_reg reg;
	struct litepcie_ioctl_dma_writer run;
	struct litepcie_ioctl_lock lock;
	struct litepcie_ioctl_mmap_dma_update update;
	struct litepcie_ring_setup setup;
	struct litepcie_ring_memory memory;
	struct litepcie_ring_info ring;
	struct litepcie_event event;
	struct litepcie_bar bar;
	struct litepcie_export export;
	struct litepcie_advance advance;
	struct litepcie_counts counts;
	struct litepcie_packets packets;
	unsigned char bytes[96];
};

enum card {
	THERE,
	GONE,		/* that of the last file, for good */
	IN_RESET,	/* while the call is made */
};

/* For rings in own memory. */
enum place {
	GIVEN,		/* the argument's address, or no such call */
	HUGE_PAGES, SMALL_PAGES, READ_ONLY, SHARED, PLACES
};

struct branch {
	enum call call;
	int error;
	const char *what;
	void (*prepare)(void);
	enum card card;
	int user;			/* which file makes the call */
	bool bad;			/* with a pointer that leads nowhere */
	union argument argument;	/* of an ioctl */
	size_t size;			/* of read, write and mmap */
	off_t offset;
	int prot, flags;
	enum place place;
	unsigned long hits, tries;
};

/* fuzz_calls.c: preparations, and the call */
void calls_init(void);
void nobodys(void);
void first_owns(void);
void second_owns(void);
void small_rings(void);
void packets(void);
void own_memory(void);
void has_room(void);
void has_no_room(void);
void held(void);
void streams(void);
void full_stream(void);
void others_have_room(void);
void second_steers(void);
void has_data(void);
void both_run(void);
bool make(const struct branch *branch);

/* fuzz_memory.c */
void memory_init(void);
unsigned long memory_at(enum place place);

/* fuzz_branches.c */
void branches_step(void);
unsigned long branches_least(void);	/* how often the rarest was reached */
void branches_print(void);

/* fuzz_away.c */
extern char gone_path[];	/* opens the node whose card has gone */
extern int reset_fd;		/* -1: nothing resets the card */
void away_init(int gone, int reset);
void reset_begin(void);
void reset_end(void);

#endif /* FUZZ_H */
