/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The offsets of the registers that the library itself uses. map.c finds them by the capability
 * table and by the registers' names when a card is opened.
 */
#ifndef LITEPCIE_MAP_H
#define LITEPCIE_MAP_H

#include <stdbool.h>
#include <stdint.h>

/* Offsets in BAR0 of the registers of one direction of a DMA channel. */
struct litepcie_dma_registers {
	/* register whose bits LITEPCIE_DMA_ENABLE_ start the direction and show its state */
	uint32_t enable;
	/*
	 * register of two words: flags and length of a descriptor, then the lower half of the
	 * descriptor's bus address
	 */
	uint32_t value;
	/*
	 * register with the upper half of a descriptor's bus address; a write to it also puts the
	 * descriptor into the card's table
	 */
	uint32_t push;
	/* register with the mode of the descriptor table; value 0: descriptors run once */
	uint32_t loop;
	/*
	 * register with the number of descriptors that the card counts as done since the descriptor
	 * table was last emptied (@flush), modulo 2^32
	 */
	uint32_t loop_status;
	/* register: a write of 1 empties the descriptor table and sets @loop_status to 0 */
	uint32_t flush;
};

/*
 * Offsets in BAR0 of the registers that say where in host memory the card writes the records and
 * status lines of a DMA channel, and when. A record reports the end of one c2h buffer. A status
 * line has the counts of one direction.
 */
struct litepcie_notice_registers {
	uint32_t records;	/* register of two words: bus address of the ring of records */
	uint32_t entries;	/* register: log2 of the number of records in the ring */
	/* registers of two words: bus addresses of the status lines of h2c ([0]) and c2h ([1]) */
	uint32_t line[2];
	/*
	 * register with the number of clock cycles without data after which a partly filled c2h
	 * buffer ends; value 0: no buffer ends for this reason
	 */
	uint32_t flush;
	/*
	 * register that lets the card write records and status lines; offset 0: the card has no
	 * records, or the library cannot use them
	 */
	uint32_t control;
};

/*
 * Offsets in BAR0 of the counters that the user slot's monitor has for one stream. Each counter is
 * a register of two words.
 */
struct litepcie_slot_counters {
	uint32_t since, beats, packets, stalls;
};

/*
 * Offsets in BAR0 of the registers of the user slot's monitor, which counts the slot's beats.
 * gateware/user/monitor.py describes them.
 */
struct litepcie_slot_registers {
	/*
	 * a read of this register makes the monitor copy all its counters; offset 0: the card has
	 * no monitor of a version that the library knows
	 */
	uint32_t now;
	/*
	 * registers with the monitor's copy of the signals valid and ready of h2c and c2h (@state,
	 * one word), and of device time (@time, two words)
	 */
	uint32_t state, time;
	/* registers with the monitor's copy of the counters of the two streams */
	struct litepcie_slot_counters h2c, c2h;
	/* mask of the low bits that each counter of the monitor has; its higher bits read as 0 */
	uint64_t mask;
};

/*
 * Offsets in BAR0 of the capture block's registers, which gateware/capture/registers.py describes.
 * If @control is 0, the card has no capture block of a version that the library knows.
 */
struct litepcie_capture_registers {
	uint32_t control, snap, wait, mbuf_log2, limit;
	uint32_t segment_log2, last_segment, segment_base, segment_index, status_base;
	uint32_t generator_control, generator_size, generator_period, generator_count;
	uint32_t generator_seed, generator_port_mask, generator_made;
	uint32_t status, position;
	uint32_t account_control, account_frames, account_bytes;
	/*
	 * no offset, but the number of bytes of one queue's part of the staging memory, in which
	 * the card keeps captured frames until it writes them to the queue's ring
	 */
	uint32_t staging_bytes;
	/* of the clock that frames' times come from; 0: the card has no clock that can be set */
	uint32_t clock_offset, clock_low, clock_high;
};

/*
 * Offsets in BAR0 of the registers of the player, a block of the card that makes frames from the
 * pcapng data in the h2c stream. If @control is 0, the card has no player of a version that the
 * library knows.
 */
struct litepcie_player_registers {
	uint32_t control, rate, cost, status;
	uint32_t packets, bytes, passed, skipped, empty;
	uint32_t begun, ended;
};

/*
 * Offsets in BAR0 of the registers of the capture block's queues, which
 * gateware/capture/queues/registers.py describes. Their order is that of the parameters in the
 * capability table.
 */
struct litepcie_sorter_registers {
	uint32_t select, control, rule_data, rule_index, spread;
	uint32_t discard_index, discard_frames, discard_bytes;
	/* 0: the card gives each queue an equal part of the staging memory */
	uint32_t quota;
	/*
	 * number of the card's capture queues; 0: the card lacks these registers, or the library
	 * cannot use them, and uses one queue at most
	 */
	uint32_t queues;
};

/*
 * Offsets in BAR0 of the registers that let the capture block also record the frames of the card's
 * net device. gateware/capture/player/net_registers.py describes these registers. If the offsets
 * are 0, the card has no such registers of a version that the library knows.
 */
struct litepcie_net_registers {
	uint32_t control, lost;
};

#define STREAM_RC		3
#define STREAM_PAYLOAD_BYTES	3

/* Offsets in BAR0 of the registers that the library uses, and facts about them. */
struct litepcie_map {
	uint32_t	identifier, identifier_size;
	uint32_t	time_low, time_high;
	uint32_t	link_status, phy_msi, mps, mrrs;
	uint32_t	irq_enable, irq_clear, irq_vector;
	uint32_t	counters_control, counters_time;
	/*
	 * registers of two words with the counters of each TLP stream (cq, cc, rq, rc), in the
	 * order beats, stalls, TLPs, payload bytes, device times of the first and of the last beat
	 */
	uint32_t	streams[4][6];
	uint32_t	pattern_control, pattern_beats, pattern_errors, pattern_first_error;
	uint32_t	loopback;
	struct litepcie_dma_registers h2c, c2h;
	struct litepcie_notice_registers notices;
	struct litepcie_slot_registers slot;
	struct litepcie_capture_registers capture;
	struct litepcie_sorter_registers sorter;
	struct litepcie_net_registers net;
	struct litepcie_player_registers player;
	/*
	 * masks of the interrupt causes of h2c and c2h in the registers irq_enable, irq_clear and
	 * irq_vector
	 */
	uint32_t	h2c_cause, c2h_cause;
	/*
	 * mask of the interrupt cause of the user's logic in irq_enable, irq_clear and irq_vector;
	 * 0: the logic has no interrupt
	 */
	uint32_t	user_cause;
	/* true: the register h2c.enable says whether the user's logic has taken all h2c data */
	bool		h2c_tells_taken;
	/*
	 * most bytes of h2c buffers that the card counts as done although the answers to its reads
	 * of these bytes are still on their way; 0: the card counts a buffer as done only when all
	 * of its data has come
	 */
	uint32_t	h2c_in_flight;
};

#endif /* LITEPCIE_MAP_H */
