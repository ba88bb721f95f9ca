/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Stands for the kernel's own header of this name. Includes <linux/virtio_ids.h>, the copy of this
 * header that the kernel offers to programs, which has the same contents.
 */
#include <linux/virtio_ids.h>
