/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Check the bytes of a pcapng file: every block, and in a recording of this program also the MBUFs,
 * their seals, and the counts in both.
 */
#ifndef LANEBOX_CAPTURE_CHECK_H
#define LANEBOX_CAPTURE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check {
	uint64_t	packets;
	uint64_t	bytes;		/* bytes that the packets had at their source */
	uint64_t	kept_bytes;	/* bytes of them that are in the file */
	uint64_t	lost;		/* lost packets, as the packets' drop counts say */
	uint64_t	timed;		/* packets with a time */
	uint64_t	first_ns, last_ns;
	bool		unordered;	/* a packet has an earlier time than the one before */
	uint64_t	interfaces;
	/* true: a recording of this program, with seals or fillers; up to @stopped: about it */
	bool		ours;
	uint32_t	mbuf_bytes;	/* size of an MBUF; 0: the file has no seal */
	uint64_t	mbufs;
	uint64_t	first_mbuf;	/* number of the file's first MBUF in the recording */
	/* frames lost in the whole recording up to the file's last seal, by cause */
	uint32_t	lost_ring, lost_staging;
	bool		stopped;	/* the last seal says that the recording was stopped */
	/* true: a rule is broken; the members below say which is the first, and where */
	bool		broken;
	uint64_t	offset;
	char		rule[200];
};

/*
 * Check @size bytes at @data. Nothing outside is read, whatever the bytes are. Returns true if no
 * rule is broken. Counts are those of the blocks before the broken one.
 */
bool check_bytes(struct check *check, const uint8_t *data, size_t size);

#endif /* LANEBOX_CAPTURE_CHECK_H */
