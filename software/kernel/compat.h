/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Hides the differences between kernel versions from 6.1 on.  Of the driver's files only this file
 * and virtio/compat_virtio.h look at the kernel's version.
 */
#ifndef LITEPCIE_COMPAT_H
#define LITEPCIE_COMPAT_H

#include <linux/device/class.h>
#include <linux/dma-map-ops.h>
#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "litepcie needs Linux 6.1 or later"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define dma_buf_vmap_unlocked	dma_buf_vmap
#define dma_buf_vunmap_unlocked	dma_buf_vunmap
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/*
 * Returns true if dma_sync_*() must be called before the processor sees the device's writes, or the
 * device sees the processor's.  Before Linux 6.10 dma_need_sync() returns true for a device whose
 * addresses an IOMMU translates.  The IOMMU's DMA code bounces only parts of pages, and rings are
 * whole pages.  So a device whose addresses are translated needs the calls only if it is not
 * cache-coherent.
 */
static inline bool litepcie_needs_sync(struct device *dev, dma_addr_t dma)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
	if (get_dma_ops(dev) && device_iommu_mapped(dev))
		return !dev_is_dma_coherent(dev);
#endif
	return dma_need_sync(dev, dma);
}

static inline struct class *litepcie_class_create(const char *name)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
	return class_create(THIS_MODULE, name);
#else
	return class_create(name);
#endif
}

static inline void litepcie_eventfd_signal(struct eventfd_ctx *event)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	eventfd_signal(event, 1);
#else
	eventfd_signal(event);
#endif
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

#define LITEPCIE_IMPORT_DMA_BUF	MODULE_IMPORT_NS(DMA_BUF)
#else
#define LITEPCIE_IMPORT_DMA_BUF	MODULE_IMPORT_NS("DMA_BUF")
#endif

#endif /* LITEPCIE_COMPAT_H */
