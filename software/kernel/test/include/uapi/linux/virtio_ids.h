/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Stands for the kernel's own copy of the header of this name, which has the same contents.
 */
#include <linux/virtio_ids.h>
