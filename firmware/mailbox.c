/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Moves bytes through the mailbox's rings, and answers the host's commands.
 */
#include "mailbox.h"

#include "card.h"
#include "peek.h"

#define IN_HEAD		(MAILBOX_BASE + MAILBOX_IN_HEAD)
#define IN_TAIL		(MAILBOX_BASE + MAILBOX_IN_TAIL)
#define OUT_HEAD	(MAILBOX_BASE + MAILBOX_OUT_HEAD)
#define OUT_TAIL	(MAILBOX_BASE + MAILBOX_OUT_TAIL)

/* The host has had no interrupt yet for the newest text, or for the newest answer to a command. */
static bool news;

void mailbox_init(void)
{
	/*
	 * Bytes and a command that the host wrote before this start were for the firmware before it,
	 * and bytes that the host has not read yet came from there.  All of these are dropped.
	 */
	reg_write(IN_TAIL, reg_read(IN_HEAD));
	reg_write(OUT_HEAD, reg_read(OUT_TAIL));
	reg_write(MAILBOX_BASE + MAILBOX_ANSWERED, reg_read(MAILBOX_BASE + MAILBOX_COMMAND));
	reg_write(MAILBOX_BASE + MAILBOX_SIGN, MAILBOX_MAGIC);
}

bool mailbox_take(char *byte)
{
	uint32_t tail = reg_read(IN_TAIL);

	if (reg_read(IN_HEAD) == tail)
		return false;
	*byte = (char)byte_read(MAILBOX_BASE + RING_IN + (tail & (RING_IN_SIZE - 1)));
	reg_write(IN_TAIL, tail + 1);
	return true;
}

uint32_t mailbox_room(void)
{
	return RING_OUT_SIZE - (reg_read(OUT_HEAD) - reg_read(OUT_TAIL));
}

void mailbox_put(char byte)
{
	uint32_t head = reg_read(OUT_HEAD);

	if (head - reg_read(OUT_TAIL) >= RING_OUT_SIZE)
		return;
	byte_write(MAILBOX_BASE + RING_OUT + (head & (RING_OUT_SIZE - 1)), (uint8_t)byte);
	reg_write(OUT_HEAD, head + 1);
	news = true;
}

void mailbox_text(const char *text)
{
	while (*text)
		mailbox_put(*text++);
}

void mailbox_hex(uint32_t value)
{
	int shift;

	for (shift = 28; shift >= 0; shift -= 4)
		mailbox_put("0123456789abcdef"[value >> shift & 0xf]);
}

void mailbox_ring(void)
{
	if (!news)
		return;
	news = false;
	reg_write(OWN_DOORBELL, 1);
}

static uint32_t answer(uint32_t code, uint32_t argument)
{
	uint32_t value = UNKNOWN_COMMAND;

	switch (code) {
	case COMMAND_VERSION:
		return FIRMWARE_VERSION;
	case COMMAND_PEEK:
		peek(argument, &value);
		return value;
	case COMMAND_FAILURES:
		return reg_read(OWN_FAILURES);
	default:
		return value;
	}
}

void mailbox_command(void)
{
	uint32_t command = reg_read(MAILBOX_BASE + MAILBOX_COMMAND);

	if (command == reg_read(MAILBOX_BASE + MAILBOX_ANSWERED))
		return;
	reg_write(MAILBOX_BASE + MAILBOX_VALUE,
		  answer(command & 0xffff, reg_read(MAILBOX_BASE + MAILBOX_ARGUMENT)));
	reg_write(MAILBOX_BASE + MAILBOX_ANSWERED, command);
	news = true;
}
