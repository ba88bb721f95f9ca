/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Check the bytes of a pcapng file: the length of every block, and the contents of sections,
 * interfaces and packets. In a recording of lanebox-capture also check the MBUFs (the parts of
 * equal size that the card writes), their seals (the block with counts that ends an MBUF), and the
 * counts in the seals.
 */
#ifndef LANEBOX_CAPTURE_CHECK_H
#define LANEBOX_CAPTURE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check {
	uint64_t	packets;
	/* number of bytes that the packets had before they were cut */
	uint64_t	bytes;
	uint64_t	kept_bytes;	/* number of bytes of the packets that are in the file */
	/*
	 * number of lost packets: the sum of the drop counts (option epb_dropcount) of the packets
	 */
	uint64_t	lost;
	/* number of packets with a time, which Simple Packet Blocks do not have */
	uint64_t	timed;
	/* times of the first and the last packet with a time, in ns */
	uint64_t	first_ns, last_ns;
	/* true: a packet's time is before that of the packet in front of it */
	bool		unordered;
	uint64_t	interfaces;	/* number of pcapng interfaces in all sections */
	/*
	 * true: a seal or a filler, block types of lanebox-capture, was found, so the file is a
	 * recording of lanebox-capture. The members up to @stopped are about such a recording.
	 */
	bool		ours;
	/*
	 * size of an MBUF (part of a recording) in bytes; 0: no valid seal, the block that ends an
	 * MBUF, was found
	 */
	uint32_t	mbuf_bytes;
	/* number of MBUFs (parts of a recording) whose last block, the seal, was checked */
	uint64_t	mbufs;
	/* number that the file's first MBUF (part of a recording) has in the recording */
	uint64_t	first_mbuf;
	/*
	 * number of frames that the recording has lost up to the file's last seal (block with
	 * counts), by the counts of that seal, modulo 2^32: those for which the ring was full, and
	 * those for which the card's staging memory was full
	 */
	uint32_t	lost_ring, lost_staging;
	/* true: the file's last seal (block with counts) says that the capture was stopped there */
	bool		stopped;
	/*
	 * true: a rule is broken. @rule is a sentence about the first broken rule. @offset is the
	 * offset in the file of the block that breaks it. If a recording ends between two blocks of
	 * an MBUF (part of a recording), @offset is the end of the MBUF before, or of the file's
	 * header. If it ends between two blocks of the header, @offset is the size of the file.
	 */
	bool		broken;
	uint64_t	offset;
	char		rule[200];
};

/*
 * Check the pcapng file whose @size bytes are at @data. No other byte is read, even if the file is
 * damaged. Returns true if no rule is broken. If a block breaks a rule, the check ends there: the
 * counts cover all blocks before it, and some of the counts may include it. An empty file breaks a
 * rule. If there is no memory for the check, that is reported as a broken rule, too.
 */
bool check_bytes(struct check *check, const uint8_t *data, size_t size);

#endif /* LANEBOX_CAPTURE_CHECK_H */
