/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Where the registers are that the library itself uses. map.c finds them by the capability table
 * and by the registers' names.
 */
#ifndef LITEPCIE_MAP_H
#define LITEPCIE_MAP_H

#include <stdbool.h>
#include <stdint.h>

/* Offsets in BAR0 of the registers of one direction of a DMA channel. */
struct litepcie_dma_registers {
	/*
	 * offset of a register whose bit 0 lets the direction run; bit 1 (read only): the direction
	 * is idle
	 */
	uint32_t enable;
	/*
	 * offset of two words: flags and length of a descriptor, then the lower half of its bus
	 * address
	 */
	uint32_t value;
	/*
	 * offset of the upper half of a descriptor's bus address; a write also puts the descriptor
	 * into the table
	 */
	uint32_t push;
	/* offset of the mode of the descriptor table; value 0: each descriptor runs once */
	uint32_t loop;
	uint32_t loop_status;
	/*
	 * offset of a register in which a write of 1 empties the descriptor table and sets
	 * loop_status to 0
	 */
	uint32_t flush;
};

/*
 * Offsets in BAR0 of the registers that say where a channel writes its records (one for each c2h
 * buffer that has ended) and its status lines (the counts of a direction).
 */
struct litepcie_notice_registers {
	uint32_t records;	/* offset of two words: bus address of the ring of records */
	/* offset of a register with the base-2 logarithm of the number of records in the ring */
	uint32_t entries;
	/* offsets of two words each: bus addresses of the status lines of h2c and c2h */
	uint32_t line[2];
	/*
	 * offset of the flush time: clock cycles without data until a c2h buffer ends; value 0: it
	 * never ends for that reason
	 */
	uint32_t flush;
	/* offset of the control register; 0: the card writes neither records nor status lines */
	uint32_t control;
};

/*
 * Offsets in BAR0 of the registers of the user slot's monitor, which counts what passes the slot.
 * gateware/user/monitor.py describes them.
 */
struct litepcie_slot_registers {
	/*
	 * offset of a register whose read copies all counters of the slot monitor; 0: the card has
	 * no monitor
	 */
	uint32_t now;
	/* offsets of the monitor's registers `state` (one word) and `time` (two words) */
	uint32_t state, time;
	/*
	 * for the slot's streams h2c [0] and c2h [1]: offsets of since, beats, packets and stalls,
	 * of two words each
	 */
	uint32_t side[2][4];
	/* mask of the low bits that a counter of the slot monitor has; the higher bits read as 0 */
	uint64_t mask;
};

/*
 * Offsets in BAR0 of the registers of the capture block, which gateware/capture/registers.py
 * describes.
 */
struct litepcie_capture_registers {
	uint32_t control;	/* offset 0: the card has no capture block of a known version */
	uint32_t snap, wait, mbuf_log2, segment_log2, last_segment;
	uint32_t status_base, segment_base, segment_index, limit;
	uint32_t generator_control, generator_size, generator_period, generator_count;
	uint32_t generator_seed, generator_port_mask, generator_made;
	uint32_t status, position, account_control, account_frames, account_bytes;
	uint32_t staging_bytes;	/* size of the staging memory on the card, in bytes */
};

/* Offsets in BAR0 of the registers of the player, which plays pcapng from h2c as frames. */
struct litepcie_player_registers {
	uint32_t control;	/* offset 0: the card has no player of a known version */
	uint32_t rate, cost, status, packets, bytes, passed, skipped, empty, begun, ended;
};

#define STREAM_RC		3
#define STREAM_PAYLOAD_BYTES	3

/*
 * Offsets in BAR0 of the registers that the library itself uses, and facts about these registers.
 */
struct litepcie_map {
	uint32_t	identifier, identifier_size;
	uint32_t	time_low, time_high;
	uint32_t	link_status, phy_msi, mps, mrrs;
	uint32_t	irq_enable, irq_clear, irq_vector;
	uint32_t	counters_control, counters_time;
	/*
	 * for each of the streams cq, cc, rq, rc: offsets of its counters, in the order of the
	 * fields of struct litepcie_tlp_stream
	 */
	uint32_t	streams[4][6];
	uint32_t	pattern_control, pattern_beats, pattern_errors, pattern_first_error;
	uint32_t	loopback;
	struct litepcie_dma_registers h2c, c2h;
	struct litepcie_notice_registers notices;
	struct litepcie_slot_registers slot;
	struct litepcie_capture_registers capture;
	struct litepcie_player_registers player;
	/* bit of each direction's interrupt cause in irq_enable, irq_clear and irq_vector */
	uint32_t	h2c_cause, c2h_cause;
	/*
	 * bit of the user's interrupt in irq_enable, irq_clear and irq_vector; 0: the capability
	 * table names no interrupt of the user's logic
	 */
	uint32_t	user_cause;
	/*
	 * true: bit 2 of the register h2c.enable says whether the user's logic has taken all h2c
	 * data
	 */
	bool		h2c_tells_taken;
	/*
	 * most bytes that can be in flight to h2c buffers that the card already counts as done; 0:
	 * none
	 */
	uint32_t	h2c_in_flight;
};

#endif /* LITEPCIE_MAP_H */
