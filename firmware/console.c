/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Edits the console's line, and carries out its commands.
 */
#include "console.h"

#include <string.h>

#include "card.h"
#include "log.h"
#include "mailbox.h"
#include "peek.h"

#define LINE	40

/*
 * start.S does not clear the line, which saves a tenth of the start's time.  Only the first @length
 * bytes, which were typed, are ever read.
 */
static char line[LINE] __attribute__((section(".noinit")));
static uint32_t length;

/* The command `log` has not given all of the log yet. */
static bool telling;
/* The number of the next byte of the log for the host. */
static uint32_t told;

static void prompt(void)
{
	mailbox_text("> ");
}

/* Reads a hexadecimal number with or without 0x.  Returns false if the text has anything else. */
static bool number(const char *text, uint32_t *value)
{
	uint32_t digits;

	if (text[0] == '0' && text[1] == 'x')
		text += 2;
	*value = 0;
	for (digits = 0; *text; digits++, text++) {
		uint32_t digit = (uint32_t)*text - '0';

		if (digit > 9)
			digit = ((uint32_t)*text | 0x20) - 'a' + 10;
		if (digit > 15 || (digit < 10 && *text > '9') || digits == 8)
			return false;
		*value = *value << 4 | digit;
	}
	return digits > 0;
}

static void run_peek(const char *text)
{
	uint32_t offset, value;

	if (!number(text, &offset) || !peek(offset, &value)) {
		mailbox_text("peek takes the offset of a register in BAR0: a multiple of 4, below ");
		mailbox_hex(CARD_REGISTERS_SIZE);
	} else {
		mailbox_hex(value);
	}
	mailbox_text("\n");
}

static void run(void)
{
	if (!strcmp(line, "version")) {
		mailbox_text(FIRMWARE_NAME "\n");
	} else if (!strcmp(line, "log")) {
		telling = true;
		told = log_head() - RING_LOG_SIZE;
		if (log_head() < RING_LOG_SIZE)
			told = 0;
	} else if (!strncmp(line, "peek ", 5)) {
		run_peek(line + 5);
	} else if (length) {
		mailbox_text("commands: version, log, peek OFFSET\n");
	}
}

static void take(char byte)
{
	if (byte == '\r' || byte == '\n') {
		mailbox_put('\n');
		line[length] = '\0';
		run();
		length = 0;
		if (!telling)
			prompt();
	} else if (byte == '\b' || byte == 0x7f) {
		if (length) {
			length--;
			mailbox_text("\b \b");
		}
	} else if (byte >= ' ' && byte < 0x7f && length < LINE - 1) {
		line[length++] = byte;
		mailbox_put(byte);
	}
}

/* Gives the host as much of the log as the ring has room for. */
static void tell(void)
{
	log_copy(&told, mailbox_room(), mailbox_put);
	telling = told != log_head() || mailbox_room() < 2;
	if (!telling)
		prompt();
}

void console_poll(void)
{
	char byte;

	if (telling)
		tell();
	while (!telling && mailbox_take(&byte)) {
		take(byte);
		if (telling)
			tell();
	}
}
