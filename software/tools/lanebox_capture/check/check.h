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
	uint64_t	kept_bytes;	/* bytes of the packets that are in the file */
	uint64_t	lost;		/* lost packets, as the packets' drop counts say */
	uint64_t	timed;		/* packets with a time */
	/* times of the first and the last packet with a time, in ns */
	uint64_t	first_ns, last_ns;
	bool		unordered;	/* a packet has an earlier time than the packet before it */
	uint64_t	interfaces;	/* in all sections of the file */
	/*
	 * true: the file has seals or fillers, so it is a recording of this program. The members up
	 * to @stopped are about such a recording.
	 */
	bool		ours;
	uint32_t	mbuf_bytes;	/* size of an MBUF; 0: the file has no seal */
	uint64_t	mbufs;		/* number of the file's MBUFs that have a seal */
	uint64_t	first_mbuf;	/* number of the file's first MBUF in the recording */
	/*
	 * frames lost in the whole recording up to the file's last seal, modulo 2^32: for want of
	 * room in the ring, and for want of room in the card's staging memory
	 */
	uint32_t	lost_ring, lost_staging;
	bool		stopped;	/* the last seal says that the recording was stopped */
	/*
	 * true: a rule is broken; @rule says which one is broken first, @offset is its block's
	 * place
	 */
	bool		broken;
	uint64_t	offset;
	char		rule[200];
};

/*
 * Check the pcapng file whose @size bytes are at @data. No byte outside of them is read, whatever
 * the file has. Returns true if no rule is broken. Otherwise the check ends at the first block that
 * breaks a rule, and the counts are those of the blocks before it. An empty file, and a want of
 * memory, count as broken rules.
 */
bool check_bytes(struct check *check, const uint8_t *data, size_t size);

#endif /* LANEBOX_CAPTURE_CHECK_H */
