/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Commands of the card's configuration flash. flash.h says what each function promises. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bitstream_format.h"
#include "flash.h"
#include "describe/crc32.h"
#include "describe/layout.h"
#include "litepcie_capability.h"
#include "progress.h"
#include "util.h"

/* value that a register reads as when the card does not answer any more */
#define GONE		0xffffffffu
#define BUSY		(1u << LITEPCIE_FLASH_STATUS_BUSY_OFFSET)

/*
 * If the flash is busy for more than this time, in seconds of the card's clock, the command has
 * failed. The longest times in the data sheets are 1 s to erase a sector and 1.8 ms to program a
 * page. A read of 32 MiB takes some seconds.
 */
#define PATIENCE_S	10.0
/* number of reads of the status register from one read of the card's time to the next */
#define LOOKS		64u
#define SHORTEST_S	20e-6

static bool access_ok(struct flash *flash, int rc)
{
	flash->accesses++;
	if (rc == -EPERM)
		util_fail(flash->util, "commands of the flash need root or CAP_SYS_RAWIO: they may "
			  "replace the image that the card starts; `flash info` needs neither");
	else
		util_check(flash->util, rc, "using the flash engine");
	return rc == 0;
}

static bool put(struct flash *flash, unsigned int parameter, uint32_t value)
{
	uint32_t place = flash->block.offset + flash->block.parameter[parameter];

	return access_ok(flash, litepcie_writel(flash->util->dev, place, value));
}

bool flash_register(struct flash *flash, unsigned int parameter, uint32_t *value)
{
	uint32_t place = flash->block.offset + flash->block.parameter[parameter];

	return access_ok(flash, litepcie_readl(flash->util->dev, place, value));
}

bool flash_open(struct util *util, struct flash *flash)
{
	*flash = (struct flash){ .util = util };
	flash->block.struct_size = sizeof(flash->block);
	if (litepcie_block_find(util->dev, LITEPCIE_BLOCK_FLASH, 0, &flash->block) < 0) {
		util_fail(util, "this card has no flash engine: build its gateware with --card; JTAG "
			  "writes the flash, too (targets/README.md)");
		return false;
	}
	if (!util_knows_block(util, &flash->block, "flash engine", LITEPCIE_FLASH_IDCODE))
		return false;
	flash->application = flash->block.parameter[LITEPCIE_FLASH_APPLICATION];
	flash->room = flash->block.parameter[LITEPCIE_FLASH_ROOM];
	for (unsigned int work = 0; work < FLASH_WORKS; work++)
		flash->usual[work] = SHORTEST_S;
	if (!flash_register(flash, LITEPCIE_FLASH_IDENTIFICATION, &flash->identification) ||
	    !flash_register(flash, LITEPCIE_FLASH_REFUSALS, &flash->refusals))
		return false;
	if (flash->identification && flash->identification != 0xffffff)
		return true;
	util_fail(util, "no flash answers (identification 0x%06x): it may still be erasing; wait and "
		  "try again", flash->identification);
	return false;
}

/* Commands that the flash engine has refused -------------------------------------------------- */

/* Write to @rule in words why the engine has refused a command. @reason is its number for that. */
static void explain_refusal(const struct flash *flash, unsigned int reason, char *rule, size_t size)
{
	uint32_t first = flash->application;

	switch (reason) {
	case LITEPCIE_FLASH_REFUSAL_UNKNOWN:
		snprintf(rule, size, "this opcode is not in the engine's list of commands");
		break;
	case LITEPCIE_FLASH_REFUSAL_OUTSIDE:
		snprintf(rule, size, "while the flash is locked, only the application's half may "
			 "change, which is 0x%08x to 0x%08x", first, first + flash->room - 1);
		break;
	case LITEPCIE_FLASH_REFUSAL_SHORT:
		snprintf(rule, size, "while the flash is locked, a change needs an address of four "
			 "bytes: three do not reach the application at 0x%08x", first);
		break;
	case LITEPCIE_FLASH_REFUSAL_ALL:
		snprintf(rule, size, "while the flash is locked, not all of it may be erased: the "
			 "golden image is below 0x%08x", first);
		break;
	case LITEPCIE_FLASH_REFUSAL_SIZE:
		snprintf(rule, size, "while the flash is locked, it must have 32 MiB or more, and "
			 "its identification 0x%06x does not say so", flash->identification);
		break;
	case LITEPCIE_FLASH_REFUSAL_LENGTH:
		snprintf(rule, size, "a page has 1 to %u bytes, and %u were to be programmed",
			 LITEPCIE_FLASH_PAGE_BYTES, flash->length);
		break;
	case LITEPCIE_FLASH_REFUSAL_BUSY:
		snprintf(rule, size, "another command was running: another program uses the flash");
		break;
	default:
		snprintf(rule, size, "reason %u, which this program does not know", reason);
	}
}

static void note_refusal(struct flash *flash, unsigned int reason)
{
	char rule[UTIL_SENTENCE / 2];

	explain_refusal(flash, reason, rule, sizeof(rule));
	util_fail(flash->util, "the flash engine refused command 0x%02x at 0x%08x: %s",
		  flash->opcode, flash->address, rule);
}

bool flash_all_taken(struct flash *flash)
{
	uint32_t before = flash->refusals;

	if (!flash_register(flash, LITEPCIE_FLASH_REFUSALS, &flash->refusals))
		return false;
	if (flash->refusals == before)
		return true;
	util_fail(flash->util, "the flash engine has refused %u commands meanwhile, although its status "
		  "did not say so behind any command of this program (the last was 0x%02x at "
		  "0x%08x): another program uses the flash; end that and try again",
		  flash->refusals - before, flash->opcode, flash->address);
	return false;
}

/* Waiting for a command ----------------------------------------------------------------------- */

static void pause_for(double seconds)
{
	struct timespec time = {
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9),
	};

	nanosleep(&time, NULL);
}

/*
 * Returns false and notes a failure if PATIENCE_S seconds of the card's clock have passed since the
 * first call for a command, or if the card's time cannot be read. *@since is the card's time at the
 * first call; the caller sets it to 0 before that call.
 */
static bool patient(struct flash *flash, uint64_t *since)
{
	uint64_t now = 0;
	int rc = litepcie_time(flash->util->dev, &now);

	util_check(flash->util, rc, "reading the card's time");
	if (rc < 0)
		return false;
	if (!*since)
		*since = now;
	if ((double)(now - *since) * util_tick_ns(flash->util->dev) < PATIENCE_S * 1e9)
		return true;
	util_fail(flash->util, "the flash is still busy after %.0f s of the card's time", PATIENCE_S);
	return false;
}

/*
 * Wait until the flash engine is not busy. Returns false and notes a failure if the engine has
 * refused the command, is busy for too long or cannot be read. The status is first read after the
 * estimated time of a command of the kind @work. The wait then corrects the estimate.
 */
static bool wait_for(struct flash *flash, enum flash_work work)
{
	double began = util_now(), usual = flash->usual[work];
	uint32_t status = BUSY;
	uint64_t since = 0;

	pause_for(usual);
	for (unsigned int looks = 0; status & BUSY; looks++) {
		if (looks)
			pause_for(usual / 4 + SHORTEST_S);
		if (looks % LOOKS == LOOKS - 1 && !patient(flash, &since))
			return false;
		if (!flash_register(flash, LITEPCIE_FLASH_STATUS, &status))
			return false;
		if (status == GONE) {
			util_fail(flash->util, "the card does not answer any more: it has lost its power, or "
				  "it was reset");
			return false;
		}
		if (!looks && !(status & BUSY))
			usual *= 0.9;
	}
	flash->usual[work] = usual < util_now() - began ? usual + (util_now() - began - usual) / 2
							     : usual;
	status = status >> LITEPCIE_FLASH_STATUS_REFUSAL_OFFSET &
		 ((1u << LITEPCIE_FLASH_STATUS_REFUSAL_SIZE) - 1);
	if (status != LITEPCIE_FLASH_REFUSAL_NONE)
		note_refusal(flash, status);
	return status == LITEPCIE_FLASH_REFUSAL_NONE;
}

static bool begin(struct flash *flash, uint32_t opcode, uint32_t address)
{
	flash->opcode = opcode;
	flash->address = address;
	return put(flash, LITEPCIE_FLASH_ADDRESS, address) &&
	       put(flash, LITEPCIE_FLASH_COMMAND, opcode);
}

static bool command(struct flash *flash, uint32_t opcode, uint32_t address, enum flash_work work)
{
	return begin(flash, opcode, address) && wait_for(flash, work);
}

/*
 * Set the engine's register LENGTH. If @length is the value that this program wrote last, nothing
 * is written, since the register keeps its value.
 */
static bool set_length(struct flash *flash, uint32_t length)
{
	if (flash->length == length)
		return true;
	flash->length = length;
	return put(flash, LITEPCIE_FLASH_LENGTH, length);
}

/* Commands to the flash: erase, program, read ------------------------------------------------- */

bool flash_erase(struct flash *flash, uint32_t address)
{
	return command(flash, LITEPCIE_FLASH_OPCODE_ERASE_64K, address, FLASH_ERASE);
}

/*
 * Write @size bytes of @data, and bytes of ones up to the size of a page, to the one of the
 * engine's two page buffers that the running command does not use.
 */
static bool load(struct flash *flash, const uint8_t *data, size_t size)
{
	uint8_t page[LITEPCIE_FLASH_PAGE_BYTES];

	memset(page, 0xff, sizeof(page));
	memcpy(page, data, size);
	for (unsigned int at = 0; at < LITEPCIE_FLASH_PAGE_BYTES; at += 4)
		if (!put(flash, LITEPCIE_FLASH_PAGE_DATA, util_word(page + at)))
			return false;
	return true;
}

static bool is_erased(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (data[i] != 0xff)
			return false;
	return true;
}

bool flash_program(struct flash *flash, uint32_t address, const uint8_t *data, size_t size,
		   bool (*step)(void *context, size_t done), void *context)
{
	bool running = false;

	if (!set_length(flash, LITEPCIE_FLASH_PAGE_BYTES))
		return false;
	/* Each further page is loaded into the engine while the flash programs the page before. */
	for (size_t at = 0; at < size; at += LITEPCIE_FLASH_PAGE_BYTES) {
		size_t bytes = size - at < LITEPCIE_FLASH_PAGE_BYTES ? size - at : LITEPCIE_FLASH_PAGE_BYTES;

		if (step && !step(context, at))
			return false;
		if (is_erased(data + at, bytes))
			continue;
		if (!load(flash, data + at, bytes) ||
		    (running && !wait_for(flash, FLASH_PROGRAM)) ||
		    !begin(flash, LITEPCIE_FLASH_OPCODE_PROGRAM, (uint32_t)(address + at)))
			return false;
		running = true;
	}
	return !running || wait_for(flash, FLASH_PROGRAM);
}

bool flash_read(struct flash *flash, uint32_t address, uint8_t *data, size_t size)
{
	if (!set_length(flash, (uint32_t)size) ||
	    !command(flash, LITEPCIE_FLASH_OPCODE_READ_FAST, address, FLASH_READ))
		return false;
	for (size_t at = 0; at < size; at += sizeof(uint32_t)) {
		uint32_t word = 0;

		if (!flash_register(flash, LITEPCIE_FLASH_PAGE_DATA, &word))
			return false;
		for (unsigned int i = 0; i < sizeof(word) && at + i < size; i++)
			data[at + i] = (uint8_t)(word >> 8 * i);
	}
	return true;
}

bool flash_crc(struct flash *flash, uint32_t address, uint32_t size, bool pairs, uint32_t *crc)
{
	/*
	 * The flash sends data on two lines for the opcode READ_PAIRS, and on one line, in twice
	 * the time, for READ_FAST.
	 */
	uint32_t opcode = pairs ? LITEPCIE_FLASH_OPCODE_READ_PAIRS : LITEPCIE_FLASH_OPCODE_READ_FAST;

	return set_length(flash, size) && command(flash, opcode, address, FLASH_READ) &&
	       flash_register(flash, LITEPCIE_FLASH_CRC, crc);
}

bool flash_find_sync(struct flash *flash, uint32_t *offset)
{
	const size_t size = LITEPCIE_FLASH_PAGE_BYTES;
	uint8_t pages[2 * LITEPCIE_FLASH_PAGE_BYTES];

	*offset = LITEPCIE_FLASH_PAGE_BYTES;
	if (!flash_read(flash, flash->application, pages, size) ||
	    !flash_read(flash, flash->application + LITEPCIE_FLASH_PAGE_BYTES, pages + size, size))
		return false;
	for (uint32_t at = 0; at < size; at++) {
		uint32_t word = (uint32_t)pages[at] << 24 | (uint32_t)pages[at + 1] << 16 |
				(uint32_t)pages[at + 2] << 8 | pages[at + 3];

		if (word == BITSTREAM_SYNC) {
			*offset = at;
			break;
		}
	}
	return true;
}

uint32_t flash_crc_of(const uint8_t *data, size_t size)
{
	return ~litepcie_crc32(~0u, data, size);
}
