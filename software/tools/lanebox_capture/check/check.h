/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Check the bytes of a pcapng file: every block, and in a recording of lanebox-capture also the
 * MBUFs (the parts of equal size that the card writes), their seals (the block with counts that
 * ends an MBUF), and the counts in the seals.
 */
#ifndef LANEBOX_CAPTURE_CHECK_H
#define LANEBOX_CAPTURE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check {
	uint64_t	packets;
	uint64_t	bytes;		/* bytes that the packets had before they were cut */
	uint64_t	kept_bytes;	/* bytes of the packets that are in the file */
	uint64_t	lost;		/* packets lost, by the drop counts of the packets */
	uint64_t	timed;		/* number of packets with a time */
	/* times of the first and the last packet with a time, in ns */
	uint64_t	first_ns, last_ns;
	bool		unordered;	/* true: the times of the packets are not in order */
	uint64_t	interfaces;	/* number of pcapng interfaces in all sections */
	/*
	 * true: the file has seals or fillers, so it is a recording of lanebox-capture. The members
	 * up to @stopped are about such a recording.
	 */
	bool		ours;
	uint32_t	mbuf_bytes;	/* size of an MBUF in bytes; 0: the file has no seal */
	uint64_t	mbufs;		/* number of MBUFs in the file that have a seal */
	uint64_t	first_mbuf;	/* number that the file's first MBUF has in the recording */
	/*
	 * frames lost in the whole recording up to the file's last seal, modulo 2^32: those for
	 * which the ring was full, and those for which the card's staging memory was full
	 */
	uint32_t	lost_ring, lost_staging;
	bool		stopped;	/* true: the file's last seal says "stopped" */
	/*
	 * true: a rule is broken. @rule says which rule is broken first, and @offset is the offset
	 * in the file of the block that breaks it.
	 */
	bool		broken;
	uint64_t	offset;
	char		rule[200];
};

/*
 * Check the pcapng file whose @size bytes are at @data. No byte outside of them is read, even if
 * the file is damaged. Returns true if no rule is broken. Otherwise the check ends at the first
 * block that breaks a rule. The counts then cover all blocks before that block, and some of them
 * may include it. An empty file breaks a rule. If there is no memory for the check, that is
 * reported as a broken rule, too.
 */
bool check_bytes(struct check *check, const uint8_t *data, size_t size);

#endif /* LANEBOX_CAPTURE_CHECK_H */
