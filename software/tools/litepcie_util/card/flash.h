/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Access the card's configuration flash through the registers of the flash engine, a block of the
 * gateware that gateware/card/README.md describes. If a function returns false, a failure was
 * noted, unless the step function of flash_program() has returned false.
 */
#ifndef LITEPCIE_UTIL_FLASH_H
#define LITEPCIE_UTIL_FLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "liblitepcie.h"

#define FLASH_SYNC_BYTES	4u	/* bytes of the synchronisation word */

/*
 * The kinds of flash commands whose end flash.c waits for. flash->usual has an estimate of how long
 * each kind takes.
 */
enum flash_work { FLASH_ERASE, FLASH_PROGRAM, FLASH_READ, FLASH_WORKS };

struct flash {
	struct util		*util;
	struct litepcie_block	block;
	uint32_t		identification;		/* JEDEC identification */
	/*
	 * address of the application's image in the flash, and number of bytes from there on for it
	 */
	uint32_t		application, room;
	/* value that this program last wrote to the engine's register LENGTH; 0: none */
	uint32_t		length;
	/* opcode and address of the last command, for the error message if it is refused */
	uint32_t		opcode, address;
	/* the engine's count of refused commands when this program last read it */
	uint32_t		refusals;
	/* estimated time in s of a command of each kind */
	double			usual[FLASH_WORKS];
	uint64_t		accesses;		/* number of accesses to engine registers */
};

/*
 * Fill in @flash for the flash of the open card. Returns false if the card has no flash engine, if
 * this program does not know the engine's version, or if the engine or the flash does not answer.
 */
bool flash_open(struct util *util, struct flash *flash);
/*
 * Returns false if the engine has refused a command of any program since flash_open() or the last
 * call of flash_all_taken(), or if its count of refusals cannot be read. If a command of another
 * program follows a refused one, the status register does not show the refusal any more, but the
 * count does.
 */
bool flash_all_taken(struct flash *flash);

/* Erase the block of 64 KiB at @address to ones, and wait until the erasure is done. */
bool flash_erase(struct flash *flash, uint32_t address);
/*
 * Program @size bytes of @data into the flash from @address on. @address is that of a page. Bits
 * that shall become ones must be erased before, since programming only clears bits. The rest of the
 * last page, and pages of ones, stay as they are. @step, which may be NULL, is called before each
 * page with the number of bytes before that page. If @step returns false, flash_program() ends and
 * returns false without noting a failure.
 */
bool flash_program(struct flash *flash, uint32_t address, const uint8_t *data, size_t size,
		   bool (*step)(void *context, size_t done), void *context);
/* Read @size bytes (LITEPCIE_FLASH_PAGE_BYTES at most) at @address of the flash into @data. */
bool flash_read(struct flash *flash, uint32_t address, uint8_t *data, size_t size);
/*
 * Get the CRC-32 of the @size bytes at @address of the flash, which the engine computes. With
 * @pairs the data leaves the flash on two lines, in half the time, which some flashes cannot do.
 */
bool flash_crc(struct flash *flash, uint32_t address, uint32_t size, bool pairs, uint32_t *crc);
/*
 * Search for a bitstream's synchronisation word that begins in the first page of the application's
 * image in the flash. The word may end in the second page. *@offset becomes the offset of the first
 * such word in the image, or LITEPCIE_FLASH_PAGE_BYTES if none begins in the page.
 */
bool flash_find_sync(struct flash *flash, uint32_t *offset);
/* Returns the CRC-32 of @size bytes in memory, as zlib's crc32() computes it. */
uint32_t flash_crc_of(const uint8_t *data, size_t size);
/* Read the register of the flash engine that @parameter names, such as LITEPCIE_FLASH_CRC. */
bool flash_register(struct flash *flash, unsigned int parameter, uint32_t *value);

#endif /* LITEPCIE_UTIL_FLASH_H */
