/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares variables and functions of the test program memory, which its source files share.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "uapi/litepcie.h"

#define HUGE		(2u << 20)
#define PATIENCE_MS	20000

extern int fd;	/* descriptor of the open device node */

/* Functions of memory.c */
void need(bool true_, const char *what);
void refused(int rc, int error, const char *what);
void take(void);
void release(void);
struct litepcie_ring_info info_of(unsigned int way);
char *memory(size_t bytes, int advice);
int set_up(unsigned int way, char *place, unsigned int size, unsigned int count);
void fill(char *ring, size_t bytes);
void compare(const char *got, const char *sent, size_t bytes, const char *what);
void start(void);
void stop(void);
long long received(void);
void wait_received(long long buffers);

/* Functions of memory_refuse.c */
int refuse(void);
int bounce(void);
int charge(void);
long pinned(void);
void need_pinned(long kib, const char *when);

/* Functions of memory_leave.c */
int leave(const char *device);
int hold(const char *flag, bool away);

#endif /* MEMORY_H */
