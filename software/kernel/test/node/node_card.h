/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the made-up card of the program node, and the tests' access to the driver's node.
 */
#ifndef NODE_CARD_H
#define NODE_CARD_H

#include "node.h"
#include "../../capture/capture.h"

#define QUEUES		4u
/* largest number of a ring's segments (contiguous pieces) that the card takes */
#define SEGMENTS	64u
#define CAUSE		5u
#define MBUF		4096u
/* bytes of a test's ring; the random sequences also use 2, 4 and 8 times as many */
#define BYTES		65536u

struct made_queue {
	u64	limit, wake, position, status_base, upper;
	u64	told;		/* the position in the queue's last status line */
	bool	armed;
	u32	last_segment;
	u32	quota;		/* cells of the staging memory that the queue may use at once */
	u64	segment[SEGMENTS];
	u64	seals;
	bool	sealing;
};

/* The made-up card: its registers, the faults that the tests switch on, and some counts. */
struct made_card {
	struct made_queue queue[LITEPCIE_CAPTURE_QUEUES];
	u32	control, segment_log2, mbuf_log2, snap, wait, select, upper, segment_upper;
	u32	sort, rule_data, rule[LITEPCIE_CAPTURE_RULES * LITEPCIE_RULE_WORDS];
	u8	spread[LITEPCIE_CAPTURE_SPREAD];
	u32	discard_index, account, generator[7];
	/* registers of the block CAPTURE_NET: its control register, and the count of lost frames */
	u32	net, net_lost;
	/* how far the card's clock is ahead of the host's, which real_ns is, in ns modulo 2^64 */
	u64	clock_ahead;
	u32	clock_reads, clock_high;
	bool	snapshot;	/* true: the driver has asked for a snapshot of the counts */
	bool	enabled;	/* true: the capture's interrupt cause is enabled */
	bool	stuck;		/* true: the capture block does not become idle */
	bool	gone;		/* true: the card has gone, and all registers read as all ones */
	/* number of the next reads of the capture block's status register that return all ones */
	u32	given_up;
	bool	deaf;		/* true: the made-up card's interrupts are lost */
	bool	slow;		/* true: interrupts of the card wait until a test calls deliver() */
	bool	raised;		/* true: an interrupt was raised and is not delivered yet */
	unsigned int interrupts;	/* number of interrupts that the driver has got */
	bool	master_off;
	/*
	 * Number of calls of usleep_range() after which the card writes the status lines that it
	 * has not written yet. 0: the card writes them at the end of a run.
	 */
	u32	late;
	bool	quiet;		/* true: the card writes no status line after a frame */
	/* bytes of the record of a frame that comes right after the card's next seal; 0: none */
	u64	behind;
	/* true: in a LOSSLESS run a frame waits for room, so the block is not idle */
	bool	blocked;
	u64	lost;		/* number of frames that were lost because a ring had no room */
};

extern struct made_card made;
extern struct litepcie card;
/* what litepcie_enter() returns while the card is not lost: 0 or an error */
extern int entry_error;
/* true: the card lacks the block CAPTURE_NET, which copies the frames of a net device */
extern bool no_net;
extern bool clocked;		/* true: the clock of the card's capture block can be set */
extern bool quotas;		/* true: the card's queues have a register of quotas */
extern u64 real_ns;		/* the host's time, CLOCK_REALTIME, in ns */
extern bool allowed;		/* true: the caller has CAP_NET_RAW */
extern bool outside;		/* true: the driver may use registers outside litepcie_enter() */
extern const char *part;	/* name of the test or random step that runs, for messages */
extern struct eventfd_ctx events[2];	/* the eventfds, whose descriptors are 0 and 1 */
extern unsigned int pinned, mapped;
/* least size in bytes of the contiguous pieces of the rings that are made */
extern size_t contiguous;

void need(bool holds, const char *what);
void power_cut(void);
void frame(unsigned int port, u64 bytes);
void end_of_late_lines(void);
void deliver(void);
bool may_write_to(u64 memory);

/* The file operations of the driver's node, called as by a program; in node.c */
struct file *node_open(void);
long node_call(struct file *filp, unsigned int number, void *argument);
ssize_t node_read(struct file *filp, void *to, size_t bytes, bool wait);
__poll_t node_poll(struct file *filp, struct poll_table_struct *table);
int node_mmap(struct file *filp, unsigned long flags, unsigned long bytes);
void node_close(struct file *filp);

/* The tests that the files whose names begin with capture_ define */
void test_a_queue_has_one_file(void);
void test_arguments_are_checked(void);
void test_a_cause_of_another_block_is_refused(void);
void test_each_register_is_that_of_its_queue(void);
void test_the_clock_is_set_when_it_is_asked_for(void);
void test_each_queue_has_the_staging_memory_that_it_asked_for(void);
void test_wake_tells_once(void);
void test_poll_hears_of_a_queue_chosen_later(void);
void test_accounts_are_those_of_the_queue(void);
void test_the_generator_belongs_to_queue_0(void);
void test_reading(void);
void test_reading_ends_with_an_error(void);
void test_reading_ends_with_the_card(void);
void test_reading_waits(void);
void test_closing(void);
void test_dead_owners(void);
void test_a_reset(void);
void test_a_power_cut(void);
void test_a_lost_card(void);
void test_a_stuck_card(void);

/*
 * Helper functions and memory of node_tests.c. file_of() opens the node and chooses a queue, and
 * number_of() returns the number of a file's queue. queue_of() returns the driver's structure of
 * queue @n. choose() makes the call QUEUE, and each of the others the ioctl() call of its name,
 * with usual arguments. ring() gives a queue its own one of `rings`.
 */
extern u8 rings[LITEPCIE_CAPTURE_QUEUES][BYTES];
struct file *file_of(unsigned int queue);
unsigned int number_of(struct file *filp);
struct litepcie_capture_info info(struct file *filp, u32 ask);
long choose(struct file *filp, unsigned int queue);
long ring(struct file *filp, u32 mbuf);
long start(struct file *filp, u32 flags);
long stop(struct file *filp, u64 *position);
long limit(struct file *filp, u64 to);
long wake(struct file *filp, u64 position, int fd);
long sort(struct file *filp);
struct litepcie_capture_queue *queue_of(unsigned int n);

/*
 * Make a sequence of @steps random steps. @seed is the seed of the random numbers. The driver is
 * checked after each step.
 */
void random_steps(unsigned int seed, unsigned int steps);

#endif /* NODE_CARD_H */
