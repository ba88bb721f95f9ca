/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares variables and functions of the test program rings, which its source files share.
 */
#ifndef RINGS_H
#define RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define fail(...)	(fprintf(stderr, "rings: " __VA_ARGS__), fputc('\n', stderr), exit(1))

extern int fd;	/* descriptor of the open device node */

/* Functions of rings.c */
void need(bool true_, const char *what);
void *map(uint64_t offset, size_t bytes);
void fill(uint32_t *ring, size_t words);
void compare(const uint32_t *got, const uint32_t *sent, size_t words, const char *what);

/* Functions of bar.c */
int bar(const char *flag);
int memory(size_t offset);

/* Function of rings_read.c */
int read_buffers(unsigned long buffers);

#endif /* RINGS_H */
