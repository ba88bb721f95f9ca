/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The firmware on the host: its accesses go to functions that a test in Python provides, and its
 * main loop returns when the test says so at a sleep.
 */
#include <setjmp.h>

#include "card.h"

int firmware_main(void);

static uint32_t (*on_read)(uint32_t address, int bytes);
static int (*on_write)(uint32_t address, uint32_t value, int bytes);
static jmp_buf end;

void harness_set(uint32_t (*read)(uint32_t, int), int (*write)(uint32_t, uint32_t, int))
{
	on_read = read;
	on_write = write;
}

uint32_t reg_read(uint32_t address)
{
	return on_read(address, 4);
}

void reg_write(uint32_t address, uint32_t value)
{
	if (on_write(address, value, 4))
		longjmp(end, 1);
}

uint8_t byte_read(uint32_t address)
{
	return (uint8_t)on_read(address, 1);
}

void byte_write(uint32_t address, uint8_t value)
{
	on_write(address, value, 1);
}

void harness_run(void)
{
	if (!setjmp(end))
		firmware_main();
}
