/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Read the memory of QSFP modules. The card ends each transfer even if the module does not answer.
 * A transfer of 128 bytes takes some milliseconds. A module that holds the bus clock low makes a
 * transfer longer, by up to a millisecond for each time.
 */
#include "module_memory.h"

#include <stdio.h>
#include <time.h>

#include "describe/layout.h"
#include "litepcie_capability.h"

#define NAP_NS		100000
/*
 * If a transfer is still busy after this number of reads of the status register, it has failed. The
 * reads are 0.1 ms or more apart.
 */
#define LOOKS		20000u

static const char cage_letters[] = "AB";

static uint64_t field(uint64_t value, unsigned int offset, unsigned int size)
{
	return value >> offset & ((1u << size) - 1);
}

#define STATUS(value, name) \
	field(value, LITEPCIE_MODULE0_STATUS_##name##_OFFSET, LITEPCIE_MODULE0_STATUS_##name##_SIZE)

/*
 * Write *@value to the register @name of the gateware's block that reads the module in cage @cage,
 * or read the register into *@value. Returns 0 or -errno.
 */
static int access_register(struct util *util, unsigned int cage, const char *name, uint64_t *value,
			   bool write)
{
	char full[64];

	snprintf(full, sizeof(full), "module%u_%s", cage, name);
	return write ? litepcie_register_write(util->dev, full, *value) :
		       litepcie_register_read(util->dev, full, value);
}

/* Note the failure of a transfer that the card has ended with @error, LITEPCIE_MODULE_ERROR_.... */
static void note_error(struct util *util, unsigned int cage, uint64_t error)
{
	const char letter = cage_letters[cage];

	switch (error) {
	case LITEPCIE_MODULE_ERROR_ABSENT:
		util_fail(util, "no module is in cage %c", letter);
		break;
	case LITEPCIE_MODULE_ERROR_SILENT:
		util_fail(util, "the module in cage %c does not answer on its bus; after a reset "
			  "it may take two seconds until it does", letter);
		break;
	case LITEPCIE_MODULE_ERROR_REFUSED:
		util_fail(util, "the module in cage %c refused a byte", letter);
		break;
	case LITEPCIE_MODULE_ERROR_SDA_HELD:
		util_fail(util, "the data line of cage %c's bus is held low, and nine clocks did "
			  "not free it: take the module out and put it in again", letter);
		break;
	case LITEPCIE_MODULE_ERROR_SCL_HELD:
		util_fail(util, "the clock line of cage %c's bus was held low for more than a "
			  "millisecond: take the module out and put it in again", letter);
		break;
	default:
		util_fail(util, "the card refused the transfer with error %u", (unsigned int)error);
	}
}

static bool await_end(struct util *util, unsigned int cage)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	uint64_t status = 0;

	for (unsigned int looks = 0; looks < LOOKS; looks++) {
		int rc = access_register(util, cage, "status", &status, false);

		if (rc < 0) {
			util_check(util, rc, "waiting for the module");
			return false;
		}
		if (!STATUS(status, BUSY)) {
			if (STATUS(status, ERROR) == LITEPCIE_MODULE_ERROR_NONE)
				return true;
			note_error(util, cage, STATUS(status, ERROR));
			return false;
		}
		nanosleep(&nap, NULL);
	}
	util_fail(util, "a transfer of cage %c did not end", cage_letters[cage]);
	return false;
}

bool module_read(struct util *util, unsigned int cage, unsigned int page, unsigned int offset,
		 unsigned int bytes, uint8_t *to, bool keep)
{
	uint64_t job = (uint64_t)offset << LITEPCIE_MODULE0_READ_OFFSET_OFFSET |
		       (uint64_t)bytes << LITEPCIE_MODULE0_READ_LENGTH_OFFSET |
		       (uint64_t)page << LITEPCIE_MODULE0_READ_PAGE_OFFSET |
		       (uint64_t)keep << LITEPCIE_MODULE0_READ_KEEP_OFFSET;
	uint64_t value = 0;
	int rc = access_register(util, cage, "read", &job, true);

	if (rc < 0) {
		util_check(util, rc, "asking for a module's memory");
		return false;
	}
	if (!await_end(util, cage))
		return false;
	rc = access_register(util, cage, "buffer_place", &value, true);
	for (unsigned int i = 0; i < bytes && rc == 0; i++) {
		rc = access_register(util, cage, "buffer_read", &value, false);
		to[i] = (uint8_t)value;
	}
	util_check(util, rc, "reading a module's memory");
	return rc == 0;
}
