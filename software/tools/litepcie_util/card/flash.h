/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The card's configuration flash, through the flash engine's registers (gateware/card/README.md).
 * Functions that return bool note their failure.
 */
#ifndef LITEPCIE_UTIL_FLASH_H
#define LITEPCIE_UTIL_FLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "liblitepcie.h"

#define FLASH_SYNC_BYTES	4u	/* bytes of the synchronisation word */

/*
 * The kinds of work whose end the tool waits for. flash->usual learns how long each takes, so that
 * the next wait needs few looks.
 */
enum flash_work { FLASH_ERASE, FLASH_PROGRAM, FLASH_READ, FLASH_WORKS };

struct flash {
	struct util		*util;
	struct litepcie_block	block;
	uint32_t		identification;		/* JEDEC identification */
	uint32_t		application, room;	/* place of the application's image */
	uint32_t		length;			/* value of the register `length` */
	/* the last command, for the sentence about its refusal */
	uint32_t		opcode, address;
	uint32_t		refusals;		/* the engine's count of refusals at the last look */
	double			usual[FLASH_WORKS];	/* estimate of the work's time in seconds */
	uint64_t		accesses;		/* accesses to the engine's registers */
};

/* Returns false if the card has no flash engine, or if its flash does not answer. */
bool flash_open(struct util *util, struct flash *flash);
/*
 * Returns false if the engine has refused a command since flash_open() or since the last call. A
 * refusal whose reason was overwritten by the next command shows only in the engine's count.
 */
bool flash_all_taken(struct flash *flash);

/* Erase the 64 KiB at @address. */
bool flash_erase(struct flash *flash, uint32_t address);
/*
 * Program pages from @address on, which begins a page. The rest of the last page and pages of ones
 * stay erased. @step is called before each page; if it returns false, the work ends.
 */
bool flash_program(struct flash *flash, uint32_t address, const uint8_t *data, size_t size,
		   bool (*step)(void *context, size_t done), void *context);
/* Read at most LITEPCIE_FLASH_PAGE_BYTES bytes. */
bool flash_read(struct flash *flash, uint32_t address, uint8_t *data, size_t size);
/*
 * Get the CRC-32 of a range, which the engine computes. With @pairs the data comes on two lines, in
 * half the time.
 */
bool flash_crc(struct flash *flash, uint32_t address, uint32_t size, bool pairs, uint32_t *crc);
/*
 * Look for the word with which an image begins, in the first page of the application.  @offset is
 * its place in there, or LITEPCIE_FLASH_PAGE_BYTES if there is none.
 */
bool flash_find_sync(struct flash *flash, uint32_t *offset);
/* Returns zlib's CRC-32 of bytes in memory. */
uint32_t flash_crc_of(const uint8_t *data, size_t size);
/* Read one of the engine's registers: LITEPCIE_FLASH_CRC and the like. */
bool flash_register(struct flash *flash, unsigned int parameter, uint32_t *value);

#endif /* LITEPCIE_UTIL_FLASH_H */
