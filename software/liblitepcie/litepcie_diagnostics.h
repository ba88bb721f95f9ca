/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * What a card and its link do, for programs that measure a card or look for a fault. A program that
 * only moves data needs nothing of this header.
 *
 * The errors, and what "Threads:" means, are those of liblitepcie.h. As there, the first member of
 * a struct that is passed to the library is its size, sizeof(struct ...), and a struct inside
 * another one has reserved members.
 */
#ifndef LITEPCIE_DIAGNOSTICS_H
#define LITEPCIE_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct litepcie;

/* The link and its TLP streams ----------------------------------------------------------------- */

/* The PCIe link and the configuration of the card, as the card sees them. */
struct litepcie_conditions {
	size_t		struct_size;
	/* MPS: largest payload of a TLP on the link, in bytes */
	unsigned int	mps;
	/* MRRS: largest size that a read request of the card may ask for, in bytes */
	unsigned int	mrrs;
	bool		link_up;
	unsigned int	link_gen;	/* PCIe generation of the link: 1, 2 or 3 */
	unsigned int	link_lanes;
	/* true: the host has enabled MSI (interrupt messages) in the card */
	bool		msi;
};

/*
 * Counts of one of the four TLP streams at the FPGA's hard PCIe block: its beats (words that were
 * transferred), its stalls (clock cycles in which a beat was offered and not accepted), TLPs and
 * bytes of payload. @first and @last are the device times, in ticks, of the first and the last beat
 * that was counted.
 */
struct litepcie_tlp_stream {
	uint64_t	beats;
	uint64_t	stalls;
	uint64_t	tlps;
	uint64_t	payload_bytes;
	uint64_t	first;
	uint64_t	last;
	uint64_t	reserved[2];	/* 0, for later counts */
};

/*
 * The counts of the hard block's four TLP streams, all read at the same clock edge. @time is the
 * device time of that edge, in ticks.
 */
struct litepcie_counters {
	size_t				struct_size;
	uint64_t			time;
	struct litepcie_tlp_stream	cq, cc, rq, rc;
};

/*
 * Get the maximum sizes of TLPs, the state of the link and whether MSI is on, as the card sees
 * them. Returns 0 or -errno. Threads: any.
 */
int litepcie_conditions(struct litepcie *dev, struct litepcie_conditions *conditions);

/*
 * Get the counters of the four TLP streams, all as of one clock edge. Returns 0 or -errno. Threads:
 * any.
 */
int litepcie_counters(struct litepcie *dev, struct litepcie_counters *counters);

/*
 * Set the counters of the TLP streams to 0. No direction may run, since litepcie_stream_drain() may
 * rely on the counters. Returns 0 or -errno. Threads: any.
 */
int litepcie_counters_clear(struct litepcie *dev);

/* The user slot and the card's pattern --------------------------------------------------------- */

/*
 * The state and counts of one stream of the user slot (the place for the user's logic). @since is
 * the device time of the last change of @valid or @ready. The counts begin with the card's reset. A
 * stall is a clock cycle with @valid and without @ready: in h2c the user's logic holds the data up,
 * in c2h the DMA does. Counts and @time wrap at 2^48, so a difference of two readings must be taken
 * modulo 2^48. @time - @since needs no correction, as the library corrects @since.
 */
struct litepcie_slot_side {
	bool		valid;
	bool		ready;
	uint64_t	since;
	/* number of 32-byte beats that the stream of the user slot transferred */
	uint64_t	beats;
	/* number of transferred beats with `last`, the end of a packet */
	uint64_t	packets;
	uint64_t	stalls;		/* number of clock cycles with @valid and without @ready */
	uint64_t	reserved[2];	/* 0, for later counts */
};

/*
 * The user slot's two streams: the sink of its logic (h2c) and the source of its logic (c2h). The
 * values of the two streams belong to the same clock edge, at device time @time.
 */
struct litepcie_slot {
	size_t				struct_size;
	uint64_t			time;
	struct litepcie_slot_side	h2c, c2h;
};

/*
 * The results of the pattern checker in the card since it was switched on. The checker expects the
 * value i in dword i of the h2c data.
 */
struct litepcie_pattern {
	size_t		struct_size;
	uint64_t	beats;		/* number of 32-byte beats that the checker compared */
	uint32_t	errors;		/* number of compared beats with at least one wrong dword */
	uint64_t	first_error;	/* number of the first beat with an error, counted from 0 */
};

/*
 * Get the state and the counters of the user slot's streams, all as of one clock edge. Returns 0 or
 * -errno; -ENOENT: the card has no monitor of the slot, -EAGAIN: other programs read the monitor
 * without a pause. Threads: any.
 */
int litepcie_slot(struct litepcie *dev, struct litepcie_slot *slot);

/*
 * Get the results of the card's pattern checker for the last h2c run with the option pattern (dword
 * i has the value i), which may still be running. Returns 0 or -errno. Threads: any.
 */
int litepcie_pattern(struct litepcie *dev, struct litepcie_pattern *pattern);

/* Runs of the DMA ------------------------------------------------------------------------------ */

struct litepcie_stats {
	size_t		struct_size;
	uint64_t	h2c_submitted;	/* number of h2c buffers that the program has released */
	uint64_t	h2c_done;	/* number of h2c buffers that the card has fetched */
	uint64_t	c2h_done;	/* number of c2h buffers that the card has filled */
	uint64_t	c2h_released;	/* number of c2h buffers that the program has given back */
	/* number of the card's interrupts that the host received; -1: it cannot be known */
	int64_t		interrupts;
	/*
	 * The least number of interrupts that must have come from the card, as the last stop of a
	 * stream has found it. Before that stop it is 0. -1: the number cannot be known, since two
	 * interrupts may merge into one; so it is in every run behind the kernel driver.
	 */
	int64_t		interrupts_expected;
	/* number of interrupts that were certainly lost; final after a stop */
	uint64_t	interrupts_missed;
	/*
	 * number of waits that ended with progress of the card but without an interrupt; 0 with
	 * polling. The progress need not have been one that raises an interrupt: only
	 * interrupts_missed counts lost interrupts.
	 */
	uint64_t	woken_by_timeout;
	uint64_t	batches;	/* how often released buffers were handed to the card */
	/*
	 * number of c2h buffers of packets that the user's logic has marked as bad; 0 if the card
	 * does not count them
	 */
	uint64_t	c2h_errors;
	/*
	 * number of h2c buffers of which the card has not received all data; 0 if the card does not
	 * count them
	 */
	uint64_t	h2c_errors;
};

/*
 * Get the counts of the handle's two streams. The start of a stream sets the counts of its own
 * buffers and of its errors to 0. If the other stream does not run then, the start also begins anew
 * the counts of interrupts, waits and batches, and of the other stream's errors. A stop keeps all
 * counts. Returns 0 or -errno. Threads: any.
 */
int litepcie_stats(struct litepcie *dev, struct litepcie_stats *stats);

/*
 * Say in words what the running directions of @directions wait for, after a wait that took too
 * long. The text says how many buffers wait, and what the user slot does, like "h2c: the user slot
 * has held sink.ready low for 4.1 us (1000 beats so far); 3 buffers wait". The time in the text is
 * device time. Facts that cannot be known are left out. At most @size bytes are written to @text,
 * which is always terminated; LITEPCIE_WHY_SIZE bytes are enough. Threads: any.
 */
void litepcie_diagnose(struct litepcie *dev, unsigned int directions, char *text, size_t size);

/* MMIO accesses to the card -------------------------------------------------------------------- */

/*
 * Returns how accesses of litepcie_bar_read() and litepcie_bar_write() reach BAR0: "vfio-user",
 * "bar" (a mapping, but writes to its read-only pages are ioctl()s) or "ioctl". If a simulated
 * board takes only one write in a message, the text is "vfio-user, one write in a message".
 * Threads: any.
 */
const char *litepcie_mmio_path(const struct litepcie *dev);

#ifdef __cplusplus
}
#endif

#endif /* LITEPCIE_DIAGNOSTICS_H */
