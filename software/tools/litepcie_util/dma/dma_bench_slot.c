/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * dma_bench --slot: measure the rates of DMA through the user's logic in the card's user slot.
 *
 * The logic may change, drop or add data. So no data is compared, and a run does not wait long for
 * data that may never come: if for SILENT_S seconds no buffer is finished in the direction that has
 * finished more, the run ends, and the library's diagnosis of the streams is reported.
 */
#include <math.h>
#include <string.h>

#include "dma_bench.h"

/* timeout in ms of a wait for the card, after which progress and Ctrl-C are checked again */
#define WAIT_MS		100
/* a run ends if the direction that has finished more buffers finishes none for this many seconds */
#define SILENT_S	1.0
/*
 * If the user slot's logic holds the data up in more than this fraction of the clock cycles, the
 * output says so.
 */
#define NOTED		0.005

static const char *const ids[RATES_WAYS] = { "user/c2h", "user/h2c", "user/duplex" };

/* Counters of the user slot's monitor at both ends of the measured window of a run. */
struct stretch {
	struct litepcie_slot	from, to;
	/* true: the card has a monitor of the user slot, so @from and @to are valid */
	bool			monitored;
};

/* Moving buffers ------------------------------------------------------------------------------ */

/*
 * Acquire all buffers of @stream that are ready, and release them to the card unchanged. Returns
 * their number, or -errno. If @stream is NULL, the result is 0.
 */
static int pass_on(struct litepcie_stream *stream)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };
	int count = stream ? litepcie_stream_ready(stream, 0) : 0, rc = 1;

	for (int i = 0; rc > 0 && i < count; i++)
		rc = litepcie_stream_acquire(stream, &buffer, 0);
	if (count <= 0 || rc < 0)
		return rc < 0 ? rc : count;
	rc = litepcie_stream_release(stream, (unsigned int)count);
	return rc < 0 ? rc : count;
}

/*
 * Send every h2c buffer that is free and release every c2h buffer that is filled, in the streams
 * that are open. Returns the number of these buffers, or -errno.
 */
static int pump(const struct dma_run *run)
{
	int sent = pass_on(run->streams.h2c), taken;

	if (sent < 0)
		return sent;
	taken = pass_on(run->streams.c2h);
	return taken < 0 ? taken : sent + taken;
}

/*
 * Returns the number of finished buffers of h2c or of c2h, whichever is larger. The other direction
 * does not count, since the user's logic may move nothing in it.
 */
static uint64_t moved(const struct dma_run *run)
{
	struct litepcie_stats stats = { .struct_size = sizeof(stats) };

	litepcie_stats(run->util->dev, &stats);
	return stats.h2c_done > stats.c2h_done ? stats.h2c_done : stats.c2h_done;
}

/*
 * Read the card's counters, and those of the slot's monitor if there is one, at one end of the
 * measured window. Returns 0 or -errno.
 */
static int read_end(struct litepcie *dev, const struct stretch *stretch,
		    struct litepcie_counters *counters, struct litepcie_slot *slot)
{
	slot->struct_size = sizeof(*slot);
	return (stretch->monitored ? litepcie_slot(dev, slot) : 0) ?:
	       litepcie_counters(dev, counters);
}

/*
 * Move buffers until the measured window is over. The window begins when the direction that has
 * finished more buffers has finished as many as a ring has. It ends when that direction has
 * finished run->h2c.target buffers more than a ring. run->window gets the card's counters at both
 * ends, and @stretch those of the user slot's monitor. Returns 0 or -errno. After Ctrl-C, or if
 * that direction finishes none for SILENT_S seconds, run->window.closed stays false, and the result
 * may still be 0.
 */
static int run_stretch(struct dma_run *run, struct stretch *stretch)
{
	unsigned int ring = run->buffer_count;
	struct dma_window *window = &run->window;
	double last = util_now();
	uint64_t before = 0, now = 0;
	int rc = 0;

	while (rc >= 0 && !window->closed && !util_interrupted()) {
		rc = pump(run);
		if (rc == 0)
			rc = litepcie_dma_wait(run->util->dev, dma_directions(run), WAIT_MS);
		now = moved(run);
		if (now != before)
			last = util_now();
		else if (util_now() - last > SILENT_S)
			break;
		before = now;
		if (rc >= 0 && !window->open && now >= ring) {
			window->open = true;
			rc = read_end(run->util->dev, stretch, &window->from, &stretch->from);
		} else if (rc >= 0 && window->open && now >= ring + run->h2c.target) {
			window->closed = true;
			rc = read_end(run->util->dev, stretch, &window->to, &stretch->to);
		}
	}
	return rc < 0 ? rc : 0;
}

/* Evaluation of a run ------------------------------------------------------------------------- */

/*
 * Returns by how much a counter of the user slot's monitor has grown from the reading @from to the
 * reading @to. The counter wraps at 2^48.
 */
static double counted(uint64_t from, uint64_t to)
{
	return (double)((to - from) & ((UINT64_C(1) << 48) - 1));
}

/*
 * Returns the fraction of the clock cycles in which the user slot's logic, and not the DMA, held
 * the data up. sink is the logic's stream of h2c, and source that of c2h. If only c2h runs, the
 * result counts the cycles without source.valid. If h2c runs, it counts the stalls of sink. If both
 * run, the stalls of source are subtracted from those of sink, since the DMA causes them, so the
 * result may be negative. Returns 0 if the card has no monitor of the user slot.
 */
static double held(const struct dma_run *run, const struct stretch *stretch)
{
	const struct litepcie_slot *from = &stretch->from, *to = &stretch->to;
	double cycles = counted(from->time, to->time);
	double sink = counted(from->h2c.stalls, to->h2c.stalls);
	double source = counted(from->c2h.stalls, to->c2h.stalls);
	double beats = counted(from->c2h.beats, to->c2h.beats);

	if (!stretch->monitored || cycles <= 0)
		return 0;
	if (!run->h2c.active)
		return (cycles - beats - source) / cycles;
	return (sink - (run->c2h.active ? source : 0)) / cycles;
}

/*
 * Returns how many bytes of c2h the logic in the user slot sends for each byte of h2c that the card
 * received in the window, or 1 if only one direction runs or no h2c data came.
 */
static double share(const struct dma_run *run)
{
	double h2c = (double)dma_window_h2c_bytes(&run->window);

	if (!run->h2c.active || !run->c2h.active || h2c <= 0)
		return 1;
	return (double)dma_window_c2h_bytes(run, &run->window) / h2c;
}

/*
 * Fill in @rate for logic in the user slot that sends more or less than it takes. @rate is then
 * that of h2c, with the limit of h2c alone. If the logic sends @sent bytes, more than 1, for each
 * byte that it takes, the limit of c2h divided by @sent is used if it is lower.
 */
static void set_uneven(struct rates *rates, const struct dma_run *run, double sent,
		       struct rate *rate)
{
	struct limit c2h = limit_of(LIMIT_C2H, &rates->link, rates->link.mps);

	rate->bytes = dma_window_h2c_bytes(&run->window);
	rate->gb_per_s = (double)rate->bytes / ((double)rate->cycles * rates->link.cycle_ns);
	rate->limit = limit_of_h2c(&rates->link, &rates->reads);
	c2h.value /= sent > 0 ? sent : 1;
	if (sent > 1 && c2h.value < rate->limit.value)
		rate->limit = c2h;
}

static void judge(struct rates *rates, enum rates_way way, const struct dma_run *run,
		  const struct stretch *stretch, struct bench_slot *found)
{
	double low = held(run, stretch), sent = share(run);
	size_t used = 0;

	rates_of_stretch(rates, way, run, &run->window, &found->rate);
	if (way == RATES_DUPLEX && sent <= 0)
		/* The user's logic sent no data, so the row for duplex has no rate. */
		found->rate.valid = false;
	if (fabs(sent - 1) > BENCH_UNEVEN)
		set_uneven(rates, run, sent, &found->rate);
	found->binds = rates_binds(&found->rate);
	*found->words = '\0';
	if (low > NOTED) {
		if (found->binds == LIMIT_BY_HOST)
			found->binds = LIMIT_BY_SLOT;
		snprintf(found->words, sizeof(found->words), "%s low %.0f %% of the time",
			 run->h2c.active ? "sink.ready" : "source.valid", 100 * low);
	}
	used = strlen(found->words);
	if (fabs(sent - 1) > BENCH_UNEVEN)
		snprintf(found->words + used, sizeof(found->words) - used,
			 "%sthe logic sends %.3g bytes for each that it takes", used ? "; " : "",
			 sent);
}

/*
 * Measure c2h, h2c or duplex, as @way says, through the logic in the user slot, into @found.
 * Failures are noted in rates->util.
 */
static void measure(struct rates *rates, enum rates_way way, uint64_t bytes,
		    struct bench_slot *found)
{
	struct util *util = rates->util;
	struct dma_run run = {
		.util = util, .data = { .size = LITEPCIE_BUFFER_SIZE },
		.buffer_count = LITEPCIE_BUFFER_COUNT,
		.h2c = { .active = way != RATES_C2H }, .c2h = { .active = way != RATES_H2C },
	};
	const struct litepcie_stream_options options = { .struct_size = sizeof(options) };
	struct stretch stretch = { .from.struct_size = sizeof(stretch.from) };
	int rc = litepcie_counters_clear(util->dev);

	stretch.monitored = litepcie_slot(util->dev, &stretch.from) == 0;
	run.h2c.target = run.c2h.target = bytes / run.data.size;
	rc = rc ?: dma_window_begin(&run) ?:
		   streams_start(util->dev, dma_directions(&run), &options, &run.streams);
	if (rc == 0) {
		rc = run_stretch(&run, &stretch);
		if (rc == 0 && !run.window.closed)
			litepcie_diagnose(util->dev, dma_directions(&run), found->words,
					  sizeof(found->words));
		streams_stop(&run.streams);
	}
	util_check(util, rc, ids[way]);
	if (rc == 0 && run.window.closed && dma_window_cycles(&run.window))
		judge(rates, way, &run, &stretch, found);
}

void bench_slot(struct rates *rates, const struct rates_plan *plan,
		struct bench_slot found[RATES_WAYS])
{
	struct util *util = rates->util;

	rates_learn_host(rates);
	for (int way = 0; way < RATES_WAYS; way++) {
		found[way].wanted = !plan->ways || plan->ways & 1u << way;
		if (found[way].wanted && !util->failed && !util_interrupted())
			measure(rates, (enum rates_way)way, plan->bytes, &found[way]);
	}
	if (util_interrupted() && !util->failed)
		util_fail(util, "interrupted");
}

/* Printing the measured ways ------------------------------------------------------------------ */

void bench_slot_emit(const struct emit *out, const struct bench_slot found[RATES_WAYS])
{
	emit_text(out, "  %-11s  " BENCH_RATE_HEAD "\n", "");
	emit_array(out, "rows");
	for (int way = 0; way < RATES_WAYS; way++) {
		if (!found[way].wanted)
			continue;
		emit_object(out, NULL);
		emit_text(out, "  %-11s  ", ids[way]);
		bench_emit_rate(out, &found[way].rate, ids[way], found[way].binds);
		emit_string(out, "reason", NULL, emit_filled(found[way].words));
		emit_object_end(out);
		if (!out->json && *found[way].words) {
			emit_text(out, "    ");
			util_fill(4, 4, found[way].words);
		}
	}
	emit_array_end(out);
}
