/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares functions of the test program member, which its source files share.
 */
#ifndef MEMBER_H
#define MEMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"

/* Functions of member.c */
void need(bool true_, const char *what);
void refused(long rc, int error, const char *what);
int take(int fd, bool h2c, bool c2h);
void release(int fd);
struct litepcie_ring_info info_of(int fd, unsigned int way);
void *map_or_null(int fd, uint64_t offset, size_t bytes, int prot);
const struct litepcie_status *map_status(int fd);
struct litepcie_index *map_index(int fd);
unsigned long status_kb(const char *field);

/* Functions of rights.c */
int registers(const char *device);
int pages(const char *device);
int part(const char *device, uint64_t start, uint64_t end);

/* Functions of member_beside.c */
int beside(const char *device);
int leftovers(const char *device);

/* Function of charge.c */
int charge(const char *device);

/* Functions of member_calls.c */
int compat(const char *device);
int stuck(const char *device, const char *parameter, const char *config);

#endif /* MEMBER_H */
