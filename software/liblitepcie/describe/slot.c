/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read the monitor of the card's user slot (litepcie_slot()), and say what the running directions
 * of the DMA wait for (litepcie_diagnose()).
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "litepcie_capability.h"
#include "helpers.h"

/* how often the slot monitor is read before an error, if other programs disturb each reading */
#define TRIES		8u

/* Reading the monitor of the user slot -------------------------------------------------------- */

static int read_side(struct litepcie *dev, const struct litepcie_slot_counters *counters,
		     bool valid, bool ready, struct litepcie_slot_side *side)
{
	side->valid = valid;
	side->ready = ready;
	return litepcie_get_copy64(dev, counters->since, &side->since) ?:
	       litepcie_get_copy64(dev, counters->beats, &side->beats) ?:
	       litepcie_get_copy64(dev, counters->packets, &side->packets) ?:
	       litepcie_get_copy64(dev, counters->stalls, &side->stalls);
}

/*
 * Returns the device time @since in 64 bits, so that @time minus the result is the time that has
 * passed. The monitor's counters have only the low bits of map.slot.mask (48 bits by default) and
 * wrap, so only these bits of the difference count.
 */
static uint64_t unwrapped(const struct litepcie *dev, uint64_t time, uint64_t since)
{
	return time - ((time - since) & dev->map.slot.mask);
}

/*
 * Let the slot monitor copy its counters, and read the copy. Returns 1 if the whole copy was read,
 * 0 if another program has made the monitor copy its counters again meanwhile, or -errno.
 */
static int read_once(struct litepcie *dev, struct litepcie_slot *slot)
{
	const struct litepcie_slot_registers *registers = &dev->map.slot;
	uint32_t now, state;
	uint64_t again = 0;
	/* this read of the register `now` makes the slot monitor copy its counters */
	int rc = litepcie_get(dev, registers->now, &now) ?:
		 litepcie_get_copy64(dev, registers->time, &slot->time) ?:
		 litepcie_get(dev, registers->state, &state) ?:
		 read_side(dev, &registers->h2c, state & LITEPCIE_SLOT_STATE_H2C_VALID,
			   state & LITEPCIE_SLOT_STATE_H2C_READY, &slot->h2c) ?:
		 read_side(dev, &registers->c2h, state & LITEPCIE_SLOT_STATE_C2H_VALID,
			   state & LITEPCIE_SLOT_STATE_C2H_READY, &slot->c2h) ?:
		 litepcie_get_copy64(dev, registers->time, &again);

	slot->h2c.since = unwrapped(dev, slot->time, slot->h2c.since);
	slot->c2h.since = unwrapped(dev, slot->time, slot->c2h.since);
	return rc < 0 ? rc : again == slot->time;
}

static int read_slot(struct litepcie *dev, struct litepcie_slot *slot)
{
	if (!dev->map.slot.now)
		return litepcie_fail(-ENOENT, "the card does not tell what passes its user slot: "
				     "its gateware is older than this library");
	for (unsigned int i = 0; i < TRIES; i++) {
		int rc = read_once(dev, slot);

		if (rc)
			return rc < 0 ? rc : 0;
	}
	return litepcie_fail(-EAGAIN, "other programs read the monitor of the user slot all the "
			     "time: try again");
}

int litepcie_slot(struct litepcie *dev, struct litepcie_slot *slot)
{
	struct litepcie_slot found = { 0 };
	int rc;

	litepcie_lock(dev);
	rc = read_slot(dev, &found);
	litepcie_unlock(dev);
	return rc ?: litepcie_struct_out(slot, &found, sizeof(found), "litepcie_slot");
}

/* Diagnosis of what a direction waits for ----------------------------------------------------- */

/*
 * A text that say() makes longer. @at is the address of the zero that ends the text, and @room the
 * number of bytes that the program's buffer has from @at on.
 */
struct text {
	char	*at;
	size_t	room;
};

__attribute__((format(printf, 2, 3)))
static void say(struct text *text, const char *format, ...)
{
	va_list args;
	size_t used;

	va_start(args, format);
	vsnprintf(text->at, text->room, format, args);
	va_end(args);
	used = strlen(text->at);
	text->at += used;
	text->room -= used;
}

/*
 * Write for how long valid and ready of a stream of the user slot have not changed, in ns, us, ms
 * or s.
 */
static void say_time(struct text *text, const struct litepcie *dev,
		     const struct litepcie_slot *slot, const struct litepcie_slot_side *side)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double time = (double)(slot->time - side->since) * dev->card.tick_ps / 1e3;
	int unit = 0;

	for (; unit < 3 && time >= 1e3; unit++)
		time /= 1e3;
	say(text, " for %.*f %s", unit ? 1 : 0, time, units[unit]);
}

static void say_buffers(struct text *text, uint64_t count, const char *what)
{
	say(text, "%" PRIu64 " buffer%s %s%s", count, count == 1 ? "" : "s", what,
	    count == 1 ? "s" : "");
}

/* True if a stream goes through the user slot: it uses neither the pattern nor the loopback. */
static bool through_slot(const struct litepcie_stream *stream)
{
	return !stream->options.pattern && !stream->options.loopback;
}

static void say_h2c_slot(struct text *text, const struct litepcie *dev,
			 const struct litepcie_slot *slot)
{
	const struct litepcie_slot_side *side = &slot->h2c;

	if (side->valid && !side->ready) {
		say(text, "the user slot has held sink.ready low");
		say_time(text, dev, slot, side);
	} else if (side->valid) {
		say(text, "the user slot takes data");
	} else {
		say(text, "the user slot has taken all that came");
	}
	say(text, " (%" PRIu64 " beats so far); ", side->beats);
}

/*
 * Write whether the user's logic has taken all h2c data, if the enable register of h2c has a bit
 * for that. The text has this fact only if the slot monitor cannot be read.
 */
static void say_h2c_taken(struct text *text, struct litepcie *dev)
{
	uint32_t state = 0;

	if (dev->map.h2c_tells_taken && litepcie_get(dev, dev->map.h2c.enable, &state) == 0)
		say(text, "the user slot has%s taken all that came; ",
		    state & LITEPCIE_DMA_ENABLE_TAKEN ? "" : " not");
}

static void diagnose_h2c(struct text *text, struct litepcie *dev, const struct litepcie_slot *slot)
{
	uint64_t sent = litepcie_count(&dev->h2c.sw), done = litepcie_count(&dev->h2c.hw);
	uint64_t waiting = sent - done, kept = sent - dev->h2c.handed;

	say(text, "h2c: ");
	if (slot && through_slot(&dev->h2c))
		say_h2c_slot(text, dev, slot);
	else if (!slot && through_slot(&dev->h2c))
		say_h2c_taken(text, dev);
	if (!sent)
		say(text, "nothing was sent");
	else if (waiting)
		say_buffers(text, waiting, "wait");
	else
		say(text, "no buffer waits, the card has all");
	if (kept)
		say(text, ", %" PRIu64 " of them for a batch", kept);
}

static void say_c2h_slot(struct text *text, const struct litepcie *dev,
			 const struct litepcie_slot *slot)
{
	const struct litepcie_slot_side *side = &slot->c2h;

	if (side->valid && side->ready)
		say(text, "the user slot sends data");
	else if (side->valid)
		say(text, "the user slot offers data, and source.ready has been low");
	else
		say(text, "the user slot has held source.valid low");
	if (!side->valid || !side->ready)
		say_time(text, dev, slot, side);
	say(text, " (%" PRIu64 " beats so far); ", side->beats);
}

static void diagnose_c2h(struct text *text, const struct litepcie *dev,
			 const struct litepcie_slot *slot)
{
	uint64_t filled = litepcie_count(&dev->c2h.hw), limit = dev->c2h.options.limit;
	uint64_t given = dev->c2h.handed + dev->c2h.options.buffer_count;

	if (limit && given > limit)
		given = limit;
	say(text, "c2h: ");
	if (slot && through_slot(&dev->c2h))
		say_c2h_slot(text, dev, slot);
	if (given > filled)
		say_buffers(text, given - filled, "wait");
	else if (limit && filled >= limit)
		say(text, "all buffers of the limit are filled");
	else
		say(text, "the card has no buffer, the program has not given one back");
}

/*
 * If the slot monitor cannot be read, the text has no signals and no beats of the user slot's
 * streams.
 */
void litepcie_diagnose_held(struct litepcie *dev, unsigned int directions, char *text, size_t size)
{
	struct litepcie_slot slot;
	bool h2c = directions & LITEPCIE_H2C && dev->h2c.active;
	bool c2h = directions & LITEPCIE_C2H && dev->c2h.active;
	bool through = (h2c && through_slot(&dev->h2c)) || (c2h && through_slot(&dev->c2h));
	bool known = dev->map.slot.now && through && read_slot(dev, &slot) == 0;
	struct text out = { .at = text, .room = size };

	if (!size)
		return;
	*text = '\0';
	if (h2c)
		diagnose_h2c(&out, dev, known ? &slot : NULL);
	if (h2c && c2h)
		say(&out, ". ");
	if (c2h)
		diagnose_c2h(&out, dev, known ? &slot : NULL);
	if (!h2c && !c2h)
		say(&out, "no direction runs");
	else if (!dev->map.slot.now && through)
		say(&out, ". The card does not tell what its user slot does");
}

void litepcie_diagnose(struct litepcie *dev, unsigned int directions, char *text, size_t size)
{
	litepcie_lock(dev);
	litepcie_diagnose_held(dev, directions, text, size);
	litepcie_unlock(dev);
}
