/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Access the card's management CPU. management.h says what each function promises. */
#include "management.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "litepcie_capability.h"

#define WORD		4u
#define NAP_NS		100000L
/*
 * Longest wait in seconds of management_wait(). A CPU whose firmware gives no heartbeat (sign of
 * life) is started three times before the card leaves it in reset. That takes a card milliseconds,
 * and a simulated card far longer.
 */
#define PATIENCE_S	90

bool management_find(struct util *util, struct management *cpu)
{
	cpu->util = util;
	cpu->block = (struct litepcie_block){ .struct_size = sizeof(cpu->block) };
	if (litepcie_block_find(util->dev, LITEPCIE_BLOCK_MANAGEMENT, 0, &cpu->block) == 0)
		return util_knows_block(util, &cpu->block, "management CPU",
					LITEPCIE_MANAGEMENT_FIRMWARE);
	util_fail(util, "this card has no management CPU: build its gateware with --card, and "
		  "for the simulation with --firmware default");
	return false;
}

static bool get(struct management *cpu, uint32_t offset, uint32_t *value, const char *doing)
{
	int rc = litepcie_readl(cpu->util->dev, offset, value);

	util_check(cpu->util, rc, doing);
	return rc == 0;
}

static bool put(struct management *cpu, uint32_t offset, uint32_t value, const char *doing)
{
	int rc = litepcie_writel(cpu->util->dev, offset, value);

	if (rc == -EPERM)
		util_fail(cpu->util, "%s needs root or CAP_SYS_RAWIO: the firmware may reboot the "
			  "card and reset its modules; `firmware` without a verb needs neither",
			  doing);
	else
		util_check(cpu->util, rc, doing);
	return rc == 0;
}

static uint32_t place(const struct management *cpu, unsigned int parameter)
{
	return cpu->block.offset + cpu->block.parameter[parameter];
}

bool management_status(struct management *cpu, struct management_status *status)
{
	uint32_t value;

	if (!get(cpu, place(cpu, LITEPCIE_MANAGEMENT_STATUS), &value, "reading the CPU's state"))
		return false;
	status->state = value >> LITEPCIE_CPU_STATUS_STATE_SHIFT & LITEPCIE_CPU_STATUS_STATE_MASK;
	status->awake = value >> LITEPCIE_CPU_STATUS_AWAKE_SHIFT & LITEPCIE_CPU_STATUS_AWAKE_MASK;
	status->failures = value >> LITEPCIE_CPU_STATUS_FAILURES_SHIFT &
			   LITEPCIE_CPU_STATUS_FAILURES_MASK;
	return true;
}

const char *management_state(unsigned int state)
{
	static const char *const names[] = {
		[LITEPCIE_CPU_STATE_HELD] = "held",
		[LITEPCIE_CPU_STATE_CHECKING] = "checking",
		[LITEPCIE_CPU_STATE_RUNNING] = "running",
		[LITEPCIE_CPU_STATE_BAD_IMAGE] = "bad image",
		[LITEPCIE_CPU_STATE_GIVEN_UP] = "given up",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

bool management_wait(struct management *cpu, struct management_status *status)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	time_t end = time(NULL) + PATIENCE_S;

	while (management_status(cpu, status)) {
		if (status->state != LITEPCIE_CPU_STATE_CHECKING && !status->awake)
			return true;
		if (util_interrupted() || time(NULL) > end)
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

bool management_load(struct management *cpu, const uint8_t *image, size_t bytes)
{
	uint32_t base = cpu->block.parameter[LITEPCIE_MANAGEMENT_IMAGE_BASE], value;
	uint32_t control = place(cpu, LITEPCIE_MANAGEMENT_CONTROL);

	if (!put(cpu, control, LITEPCIE_CPU_CONTROL_HOLD, "holding the CPU"))
		return false;
	for (size_t at = 0; at < bytes; at += WORD)
		if (!put(cpu, base + (uint32_t)at, util_word(image + at), "writing the image"))
			return false;
	for (size_t at = 0; at < bytes; at += WORD) {
		if (!get(cpu, base + (uint32_t)at, &value, "reading the image back"))
			return false;
		if (value != util_word(image + at)) {
			util_fail(cpu->util, "the card holds 0x%08x at 0x%zx of the image, not 0x%08x: "
				  "the CPU stays held", value, at, util_word(image + at));
			return false;
		}
	}
	return put(cpu, control, 0, "starting the CPU");
}

/* Mailbox of the management CPU --------------------------------------------------------------- */

bool mailbox_read(struct management *cpu, uint32_t word, uint32_t *value)
{
	return get(cpu, cpu->block.parameter[LITEPCIE_MANAGEMENT_MAILBOX_BASE] + word, value,
		   "reading the mailbox");
}

bool mailbox_write(struct management *cpu, uint32_t word, uint32_t value)
{
	return put(cpu, cpu->block.parameter[LITEPCIE_MANAGEMENT_MAILBOX_BASE] + word, value,
		   "writing to the mailbox");
}

bool mailbox_ring(struct management *cpu)
{
	return put(cpu, place(cpu, LITEPCIE_MANAGEMENT_DOORBELL), 1, "ringing");
}

/*
 * Read the mailbox's counter at offset @word, which the CPU writes. In real hardware a read at the
 * moment of a write may return neither the old nor the new value, so the counter is read until two
 * reads in a row agree. Returns false and notes a failure if a read fails.
 */
static bool read_steady(struct management *cpu, uint32_t word, uint32_t *value)
{
	uint32_t again;

	if (!mailbox_read(cpu, word, value))
		return false;
	while (mailbox_read(cpu, word, &again)) {
		if (again == *value)
			return true;
		*value = again;
	}
	return false;
}

bool mailbox_send(struct management *cpu, const char *text, size_t bytes, size_t *taken)
{
	uint32_t head, tail, word, at;

	*taken = 0;
	if (!mailbox_read(cpu, LITEPCIE_MAILBOX_IN_HEAD, &head) ||
	    !read_steady(cpu, LITEPCIE_MAILBOX_IN_TAIL, &tail))
		return false;
	while (*taken < bytes && head - tail < LITEPCIE_MAILBOX_RING_IN_SIZE) {
		unsigned int shift = head % WORD * 8;

		/*
		 * The card takes writes of whole words only. The other bytes of the word are read
		 * and written back, which is safe since only the host writes this ring.
		 */
		at = LITEPCIE_MAILBOX_RING_IN_PLACE +
		     head % LITEPCIE_MAILBOX_RING_IN_SIZE / WORD * WORD;
		if (!mailbox_read(cpu, at, &word))
			return false;
		word &= ~(0xffu << shift);
		word |= (uint32_t)(unsigned char)text[(*taken)++] << shift;
		if (!mailbox_write(cpu, at, word))
			return false;
		head++;
	}
	return *taken == 0 || (mailbox_write(cpu, LITEPCIE_MAILBOX_IN_HEAD, head) &&
			       mailbox_ring(cpu));
}

bool mailbox_receive(struct management *cpu, char *text, size_t room, size_t *got)
{
	uint32_t head, tail, word = 0;

	*got = 0;
	if (!read_steady(cpu, LITEPCIE_MAILBOX_OUT_HEAD, &head) ||
	    !mailbox_read(cpu, LITEPCIE_MAILBOX_OUT_TAIL, &tail))
		return false;
	for (; tail != head && *got < room; tail++) {
		if ((*got == 0 || tail % WORD == 0) &&
		    !mailbox_read(cpu, LITEPCIE_MAILBOX_RING_OUT_PLACE +
				  tail % LITEPCIE_MAILBOX_RING_OUT_SIZE / WORD * WORD, &word))
			return false;
		text[(*got)++] = (char)(word >> tail % WORD * 8);
	}
	return *got == 0 || (mailbox_write(cpu, LITEPCIE_MAILBOX_OUT_TAIL, tail) &&
			     mailbox_ring(cpu));
}
