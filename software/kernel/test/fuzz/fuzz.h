/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares what the source files of the program fuzz share: random calls, calls that aim at an
 * outcome, and a card that is being reset or was removed.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <sys/types.h>

#include "uapi/litepcie.h"

/* offset in BAR0 of the pattern block's control register in the default gateware */
#define PATTERN_CONTROL	0x5000

/*
 * Number of files of the device that the program keeps open. Calls that aim at an outcome use files
 * 0 and 1, and fds[FDS], which is one file more, whose card has gone. A successful open() that aims
 * at an outcome replaces file FDS - 1.
 */
#define FDS	4

enum call {
	REG, LOOPBACK, C2H, H2C, INFO, LOCK, C2H_UPDATE, H2C_UPDATE,
	SETUP, MEMORY, RING_INFO, EVENT, BAR, EXPORT, ADVANCE, COUNTS, PACKETS, UNKNOWN,
	MMAP, READ, WRITE, SYNC, POLL, OPEN, CALLS
};

/*
 * descriptors of the open files; fds[FDS] is a file whose card has gone; -1: there is no such file
 */
extern int fds[FDS + 1];
extern const char *device;
/* for each call of enum call from REG to PACKETS, its ioctl() number */
extern const unsigned long requests[];
extern const char *const names[];

unsigned int pick(unsigned int below);
const char *outcome_name(int error);

/* Unmap all memory that random calls have mapped. */
void unmap_all(void);

/*
 * Count a fuzzed call by its outcome: success, or the errno. Returns the errno, or 0 after a
 * success.
 */
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
	/* the fuzzed call is made on the file fds[FDS], whose card has gone for good */
	GONE,
	IN_RESET,	/* the fuzzed call is made while the card is being reset */
};

/*
 * The kinds of memory of the program. A fuzzed call for a ring in the program's own memory names
 * memory of one of these kinds.
 */
enum place {
	/*
	 * none of the other kinds: the address in the call's argument is used as it is; also for
	 * calls that name no memory
	 */
	GIVEN,
	HUGE_PAGES, SMALL_PAGES, READ_ONLY, SHARED, PLACES
};

struct branch {
	enum call call;
	int error;
	const char *what;
	void (*prepare)(void);
	enum card card;
	/* index in fds of the open file by which the fuzzed call is made */
	int user;
	/* true: the fuzzed call gets a pointer to memory that does not exist */
	bool bad;
	union argument argument;	/* argument of the fuzzed call, if the call is an ioctl() */
	/* number of bytes that the fuzzed call asks for, if it is read, write or mmap */
	size_t size;
	off_t offset;
	int prot, flags;
	enum place place;
	unsigned long hits, tries;
};

/*
 * Functions of fuzz_calls.c. Those from nobodys() to both_run() each prepare a state that some
 * branches need. A branch is an outcome that fuzz_branches.c lists, and the call that shall have
 * it. make() makes the branch's call, and returns true if the call has succeeded. A call of the
 * ioctl LOCK counts as a success if the direction was granted to the first file, or refused to the
 * second.
 */
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

/* Functions of fuzz_memory.c */
void memory_init(void);
unsigned long memory_at(enum place place);

/* Functions of fuzz_branches.c */
void branches_step(void);
/* Returns how often the rarest of the possible outcomes was reached. */
unsigned long branches_least(void);
void branches_print(void);

/* Variables and functions of fuzz_away.c */
/*
 * path by which open() reaches the driver for the card that has gone, and must fail with ENODEV;
 * empty: the test has no such card
 */
extern char gone_path[];
extern int reset_fd;		/* descriptor of the card's file `reset` in sysfs; -1: none */
void away_init(int gone, int reset);
void reset_begin(void);
void reset_end(void);

#endif /* FUZZ_H */
