// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Asserts the size of every structure that the driver shares with programs and with the card, and
 * the offsets of the fields that the card writes.  Compiled programs rely on the sizes: an ioctl()
 * number includes the size of the call's structure.
 *
 * test_guest_driver_abi.py compiles this file for 32-bit programs, too.  The structures must have
 * the same sizes there.  The only exceptions are struct litepcie_ioctl_dma_writer and _reader on
 * x86, which compat_run() in ioctl.c converts.
 */

#include <linux/build_bug.h>
#include <linux/stddef.h>

#include "uapi/litepcie.h"
#include "uapi/litepcie_capability.h"
#include "uapi/litepcie_capture_node.h"

/* sizes of the arguments of LitePCIe's own ioctl() calls */
static_assert(sizeof(struct litepcie_ioctl_reg) == 12);
static_assert(sizeof(struct litepcie_ioctl_dma) == 1);
/* 32-bit x86 aligns the __s64 of struct litepcie_ioctl_dma_writer and _reader to 4 bytes. */
static_assert(sizeof(struct litepcie_ioctl_dma_writer) == (sizeof(long) == 8 ? 24 : 20));
static_assert(sizeof(struct litepcie_ioctl_dma_reader) == (sizeof(long) == 8 ? 24 : 20));
static_assert(sizeof(struct litepcie_ioctl_mmap_dma_info) == 48);
static_assert(sizeof(struct litepcie_ioctl_lock) == 6);
static_assert(sizeof(struct litepcie_ioctl_mmap_dma_update) == 8);

/* sizes of the arguments of Lanebox's own ioctl() calls */
static_assert(sizeof(struct litepcie_ring_setup) == 32);
static_assert(sizeof(struct litepcie_ring_info) == 96);
static_assert(sizeof(struct litepcie_ring_memory) == 48);
static_assert(sizeof(struct litepcie_advance) == 32);
static_assert(sizeof(struct litepcie_packets) == 32);
static_assert(sizeof(struct litepcie_counts) == 56);
static_assert(sizeof(struct litepcie_event) == 16);
static_assert(sizeof(struct litepcie_bar) == 32);
static_assert(sizeof(struct litepcie_export) == 16);
static_assert(sizeof(struct litepcie_features) == 64);

/* sizes of the arguments, and their parts, of the ioctl() calls of the capture's device node */
static_assert(sizeof(struct litepcie_capture_ring) == 48);
static_assert(sizeof(struct litepcie_capture_start) == 48);
static_assert(sizeof(struct litepcie_capture_stop) == 32);
static_assert(sizeof(struct litepcie_capture_limit) == 16);
static_assert(sizeof(struct litepcie_capture_wake) == 16);
static_assert(sizeof(struct litepcie_capture_generate) == 32);
static_assert(sizeof(struct litepcie_capture_account) == 16);
static_assert(sizeof(struct litepcie_capture_port) == 64);
static_assert(sizeof(struct litepcie_capture_info) == 112 + 16 * 64);
static_assert(sizeof(struct litepcie_capture_choice) == 16);
static_assert(sizeof(struct litepcie_capture_sort) == 24 + 16 * 64 + 128);
static_assert(sizeof(struct litepcie_capture_discards) == 32 * 16);

/* sizes of the structures in the pages that programs map */
static_assert(sizeof(struct litepcie_status_way) == 128);
static_assert(sizeof(struct litepcie_status) == 256);
static_assert(sizeof(struct litepcie_index_way) == 64);
static_assert(sizeof(struct litepcie_index) == 128);
static_assert(sizeof(struct litepcie_capture_status) == 64);

/* layout of the records and status lines, which the card writes to host memory */
static_assert(sizeof(struct litepcie_record) == LITEPCIE_RECORD_SIZE);
static_assert(sizeof(struct litepcie_record) == 16);
static_assert(offsetof(struct litepcie_record, bytes) == LITEPCIE_RECORD_BYTES);
static_assert(offsetof(struct litepcie_record, flags) == LITEPCIE_RECORD_FLAGS);
static_assert(offsetof(struct litepcie_record, sequence) == LITEPCIE_RECORD_SEQUENCE);
static_assert(offsetof(struct litepcie_status_way, position) == LITEPCIE_STATUS_LINE_POSITION);
static_assert(offsetof(struct litepcie_status_way, buffers) == LITEPCIE_STATUS_LINE_BUFFERS);
static_assert(offsetof(struct litepcie_status_way, errors) == LITEPCIE_STATUS_LINE_ERRORS);
static_assert(offsetof(struct litepcie_status_way, time) == LITEPCIE_STATUS_LINE_TIME);
static_assert(offsetof(struct litepcie_capture_status, position) == LITEPCIE_CAPTURE_LINE_POSITION);
static_assert(offsetof(struct litepcie_capture_status, records) == LITEPCIE_CAPTURE_LINE_RECORDS);
static_assert(offsetof(struct litepcie_capture_status, lost) == LITEPCIE_CAPTURE_LINE_LOST);
static_assert(offsetof(struct litepcie_capture_status, time) == LITEPCIE_CAPTURE_LINE_TIME);
