/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Declarations for the files of the driver's stand-in. Tests include only driver.h. */
#ifndef LITEPCIE_TEST_DRIVER_INSIDE_H
#define LITEPCIE_TEST_DRIVER_INSIDE_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * Number of lower bits of an mmap() offset that say the place inside a region. The upper bits are
 * the number of the region: REGION_H2C to REGION_RECORDS.
 */
#define REGION		40
#define REGION_H2C	1
#define REGION_C2H	2
#define REGION_STATUS	3
#define REGION_INDEX	4
#define REGION_BAR	5
#define REGION_RECORDS	6

/* descriptor of a memory file with the contents of the BAR0 of the stand-in's card */
extern int driver_bar0;
/* descriptor of a memory file with the driver's pages for status, index and records */
extern int driver_pages;

/* Returns true if @fd is an open device file of the stand-in. */
bool driver_is(int fd);

/*
 * The linker (option --wrap) turns calls of ioctl(), mmap(), fopen() and poll() into calls of the
 * stand-in's functions __wrap_ioctl() and so on. By the names __real_ioctl() and so on the stand-in
 * calls the functions of the C library.
 */
int __real_ioctl(int fd, unsigned long request, void *argument);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
FILE *__real_fopen(const char *path, const char *mode);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

#endif /* LITEPCIE_TEST_DRIVER_INSIDE_H */
