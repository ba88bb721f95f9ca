/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the driver's tracepoints, which are in events/litepcie of tracefs: litepcie_run for each
 * set_run() in dma.c, so at least when a direction starts or stops; litepcie_ring when a direction
 * gets a ring; litepcie_progress when the driver has read the count of finished buffers from the
 * card (in a held run or a stream, in which the card waits for more, only if the count has grown);
 * and litepcie_state for each litepcie_set_state().
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM litepcie

#if !defined(LITEPCIE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define LITEPCIE_TRACE_H

#include <linux/tracepoint.h>

#include "card.h"

#define show_kind(run)	__print_symbolic(run, { LITEPCIE_RUN_REST, "stop" },		\
			{ LITEPCIE_RUN_LOOP, "start" }, { LITEPCIE_RUN_HELD, "start held" },	\
			{ LITEPCIE_RUN_STREAM, "start stream" })
#define show_way(id)								\
	__print_symbolic(id, { LITEPCIE_WAY_H2C, "h2c" }, { LITEPCIE_WAY_C2H, "c2h" })

TRACE_EVENT(litepcie_run,
	TP_PROTO(struct litepcie_way *way, u32 run, int error),
	TP_ARGS(way, run, error),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, id)
		__field(u32, run)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->dev = way->chan->dev.devt;
		__entry->id = way->id;
		__entry->run = run;
		__entry->error = error;
	),
	TP_printk("litepcie%u %s %s error=%d", MINOR(__entry->dev), show_way(__entry->id),
		  show_kind(__entry->run), __entry->error)
);

TRACE_EVENT(litepcie_ring,
	TP_PROTO(struct litepcie_way *way, const struct litepcie_ring *ring),
	TP_ARGS(way, ring),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, id)
		__field(u32, size)
		__field(u32, count)
		__field(size_t, chunk)
		__field(bool, memory)
	),
	TP_fast_assign(
		__entry->dev = way->chan->dev.devt;
		__entry->id = way->id;
		__entry->size = ring->geometry.size;
		__entry->count = ring->geometry.count;
		__entry->chunk = litepcie_chunk_bytes(ring);
		__entry->memory = ring->memory;
	),
	TP_printk("litepcie%u %s size=%u count=%u chunk=%zu%s", MINOR(__entry->dev),
		  show_way(__entry->id), __entry->size, __entry->count, __entry->chunk,
		  __entry->memory ? " of a user's own" : "")
);

TRACE_EVENT(litepcie_progress,
	TP_PROTO(struct litepcie_way *way, s64 hw_count, s64 sw_count),
	TP_ARGS(way, hw_count, sw_count),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(int, id)
		__field(s64, hw_count)
		__field(s64, sw_count)
	),
	TP_fast_assign(
		__entry->dev = way->chan->dev.devt;
		__entry->id = way->id;
		__entry->hw_count = hw_count;
		__entry->sw_count = sw_count;
	),
	TP_printk("litepcie%u %s hw_count=%lld sw_count=%lld", MINOR(__entry->dev),
		  show_way(__entry->id), __entry->hw_count, __entry->sw_count)
);

TRACE_EVENT(litepcie_state,
	TP_PROTO(struct litepcie *card, enum litepcie_state state),
	TP_ARGS(card, state),
	TP_STRUCT__entry(
		__field(unsigned int, slot)
		__field(int, state)
	),
	TP_fast_assign(
		__entry->slot = pci_dev_id(card->pdev);
		__entry->state = state;
	),
	TP_printk("%02x:%02x.%u %s", PCI_BUS_NUM(__entry->slot), PCI_SLOT(__entry->slot),
		  PCI_FUNC(__entry->slot),
		  __print_symbolic(__entry->state, { LITEPCIE_LIVE, "live" },
				   { LITEPCIE_OFFLINE, "offline" }, { LITEPCIE_GONE, "gone" }))
);

#endif /* LITEPCIE_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
