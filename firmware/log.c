/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Keeps the log in its ring in the mailbox.
 */
#include "log.h"

#include "card.h"

#define HEAD	(MAILBOX_BASE + MAILBOX_LOG_HEAD)
#define SIGN	(MAILBOX_BASE + MAILBOX_LOG_SIGN)
#define BYTES	(MAILBOX_BASE + RING_LOG)

void log_init(void)
{
	if (reg_read(SIGN) == LOG_MAGIC)
		return;
	reg_write(HEAD, 0);
	reg_write(SIGN, LOG_MAGIC);
}

uint32_t log_head(void)
{
	return reg_read(HEAD);
}

void log_text(const char *text)
{
	uint32_t head = reg_read(HEAD);

	/* The head is written last, so a reader never takes a byte that is not in the ring yet. */
	for (; *text; text++)
		byte_write(BYTES + (head++ & (RING_LOG_SIZE - 1)), (uint8_t)*text);
	reg_write(HEAD, head);
}

void log_number(uint32_t value)
{
	char text[11];
	char *at = text + sizeof(text) - 1;

	*at = '\0';
	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	log_text(at);
}

void log_copy(uint32_t *at, uint32_t room, void (*put)(char))
{
	uint32_t head = reg_read(HEAD);

	if (head - *at > RING_LOG_SIZE)
		*at = head - RING_LOG_SIZE;
	for (; room && *at != head; room--, (*at)++)
		put((char)byte_read(BYTES + (*at & (RING_LOG_SIZE - 1))));
}
