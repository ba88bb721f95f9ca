/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Is included in front of each of the driver's files in a test's build. The driver's requests to
 * the kernel may then be refused, and a list shows what the driver has not given back.
 *
 * Debian's kernels have no fault injection. In this build macros replace the driver's requests by
 * wrappers. A wrapper of a request that may be refused fails if faults_strike() returns true. Each
 * resource that the driver gets, and must give back by a call that has a wrapper, is put on a list
 * by name and key. Where the driver asserts that a lock is held, this build checks that some task
 * holds it. Mutexes and rwsems are on a second list while they are held, so that list must be empty
 * while no code of the driver runs.
 */
#ifndef LITEPCIE_FAULTS_H
#define LITEPCIE_FAULTS_H

#include <linux/cdev.h>
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/gfp.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/iopoll.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/rwsem.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

extern struct pci_driver litepcie_pci_driver;

extern bool faults_stuck;

bool faults_strike(const char *what);
void faults_hold(const char *what, const void *key);
void faults_drop(const char *what, const void *key);
void faults_want_lock(const char *name, const char *function, const void *lock);
void faults_take_lock(const char *name, const char *function, const void *lock);
void faults_leave_lock(const char *name, const void *lock);

#ifndef FAULTS_THEMSELVES

/*
 * Define a wrapper for a call that returns a pointer, or NULL on failure. The wrapper fails if
 * faults_strike() says so. Otherwise it makes the call, and puts the pointer on the list of what
 * the driver holds.
 */
#define FAULTY_POINTER(_what, _type, _name, _arguments, ...)			\
	static inline _type __maybe_unused faulty_##_name _arguments		\
	{									\
		_type got = faults_strike(#_name) ? NULL : _name(__VA_ARGS__);	\
										\
		if (got)							\
			faults_hold(_what, (__force void *)got);	\
		return got;							\
	}

/*
 * Define a wrapper for a call that returns an error below 0, or 0 or more on success. After a
 * success @_key is put on the list of what the driver holds.
 */
#define FAULTY_CALL(_what, _name, _key, _error, _arguments, ...)		\
	static inline int __maybe_unused faulty_##_name _arguments		\
	{									\
		int err = faults_strike(#_name) ? _error : _name(__VA_ARGS__);	\
										\
		if (err >= 0)							\
			faults_hold(_what, _key);				\
		return err;							\
	}

#define GIVEN_BACK(_what, _name, _key, _arguments, ...)				\
	static inline void __maybe_unused faulty_##_name _arguments		\
	{									\
		faults_drop(_what, _key);					\
		_name(__VA_ARGS__);						\
	}

/*
 * Define wrappers for the calls that take and release a lock. The lock is on the list of held locks
 * from the first call to the second.
 */
#define WATCHED_LOCK(_type, _take, _leave)						\
	static inline void __maybe_unused faulty_##_take(_type *lock, const char *name,	\
							 const char *function)		\
	{										\
		faults_want_lock(name, function, lock);					\
		_take(lock);								\
		faults_take_lock(name, function, lock);					\
	}										\
	static inline void __maybe_unused faulty_##_leave(_type *lock, const char *name)	\
	{										\
		faults_leave_lock(name, lock);						\
		_leave(lock);								\
	}

WATCHED_LOCK(struct mutex, mutex_lock, mutex_unlock)
WATCHED_LOCK(struct rw_semaphore, down_read, up_read)
WATCHED_LOCK(struct rw_semaphore, down_write, up_write)

static inline int __maybe_unused faulty_mutex_lock_interruptible(struct mutex *lock,
								 const char *name,
								 const char *function)
{
	int err;

	faults_want_lock(name, function, lock);
	err = mutex_lock_interruptible(lock);
	if (!err)
		faults_take_lock(name, function, lock);
	return err;
}

static inline int __maybe_unused faulty_mutex_trylock(struct mutex *lock, const char *name,
						      const char *function)
{
	int taken = mutex_trylock(lock);

	if (taken)
		faults_take_lock(name, function, lock);
	return taken;
}

#define NUMBER(_n)	((void *)(unsigned long)(_n))

FAULTY_POINTER("memory", void *, kzalloc, (size_t size, gfp_t gfp), size, gfp)
FAULTY_POINTER("memory", void *, kmalloc, (size_t size, gfp_t gfp), size, gfp)
FAULTY_POINTER("memory", void *, kcalloc, (size_t n, size_t size, gfp_t gfp), n, size, gfp)
GIVEN_BACK("memory", kfree, memory, (const void *memory), memory)
FAULTY_POINTER("memory", void *, kvcalloc, (size_t n, size_t size, gfp_t gfp), n, size, gfp)
FAULTY_POINTER("memory", void *, kvzalloc, (size_t size, gfp_t gfp), size, gfp)
FAULTY_POINTER("memory", void *, kvmalloc_array, (size_t n, size_t size, gfp_t gfp), n, size, gfp)
GIVEN_BACK("memory", kvfree, memory, (const void *memory), memory)

FAULTY_POINTER("pages", struct page *, alloc_pages_node, (int node, gfp_t gfp, unsigned int order),
	       node, gfp, order)
GIVEN_BACK("pages", put_page, page, (struct page *page), page)

/*
 * Wraps pin_user_pages_fast(). Each call that pins pages adds one entry to the list of what the
 * driver holds, and an unpin call removes one. So the list is right only if the driver pins all
 * pages of a ring by one call.
 */
static inline int __maybe_unused faulty_pin_user_pages_fast(unsigned long address, int count,
							    unsigned int flags,
							    struct page **pages)
{
	int got = faults_strike("pin_user_pages_fast") ? -ENOMEM :
		  pin_user_pages_fast(address, count, flags, pages);

	if (got > 0)
		faults_hold("pins", pages);
	return got;
}
GIVEN_BACK("pins", unpin_user_pages, pages, (struct page **pages, unsigned long count), pages, count)
GIVEN_BACK("pins", unpin_user_pages_dirty_lock, pages,
	   (struct page **pages, unsigned long count, bool dirty), pages, count, dirty)

/*
 * Wraps mmgrab(), by which the driver keeps the mm_struct of the process that a ring's pages are
 * charged to.
 */
static inline void __maybe_unused faulty_mmgrab(struct mm_struct *mm)
{
	faults_hold("mm", mm);
	mmgrab(mm);
}
GIVEN_BACK("mm", mmdrop, mm, (struct mm_struct *mm), mm)

static inline unsigned long __maybe_unused faulty_get_zeroed_page(gfp_t gfp)
{
	unsigned long got = faults_strike("get_zeroed_page") ? 0 : get_zeroed_page(gfp);

	if (got)
		faults_hold("pages", virt_to_page((void *)got));
	return got;
}

static inline void __maybe_unused faulty_free_page(unsigned long address)
{
	faults_drop("pages", virt_to_page((void *)address));
	free_page(address);
}

static inline int __maybe_unused faulty_ida_alloc_max(struct ida *ida, unsigned int most, gfp_t gfp)
{
	int got = faults_strike("ida_alloc_max") ? -ENOSPC : ida_alloc_max(ida, most, gfp);

	if (got >= 0)
		faults_hold("minor", NUMBER(got + 1));
	return got;
}
GIVEN_BACK("minor", ida_free, NUMBER(id + 1), (struct ida *ida, unsigned int id), ida, id)

FAULTY_CALL("node", cdev_device_add, cdev, -ENOMEM, (struct cdev *cdev, struct device *dev),
	    cdev, dev)
GIVEN_BACK("node", cdev_device_del, cdev, (struct cdev *cdev, struct device *dev), cdev, dev)

FAULTY_CALL("device", pci_enable_device_mem, pdev, -EIO, (struct pci_dev *pdev), pdev)
GIVEN_BACK("device", pci_disable_device, pdev, (struct pci_dev *pdev), pdev)

FAULTY_CALL("regions", pci_request_mem_regions, pdev, -EBUSY,
	    (struct pci_dev *pdev, const char *name), pdev, name)
GIVEN_BACK("regions", pci_release_mem_regions, pdev, (struct pci_dev *pdev), pdev)

FAULTY_POINTER("BAR", void __iomem *, pci_iomap,
	       (struct pci_dev *pdev, int bar, unsigned long most), pdev, bar, most)
FAULTY_POINTER("BAR", void __iomem *, pci_iomap_wc,
	       (struct pci_dev *pdev, int bar, unsigned long most), pdev, bar, most)
GIVEN_BACK("BAR", pci_iounmap, (__force void *)bar, (struct pci_dev *pdev, void __iomem *bar), pdev, bar)

FAULTY_CALL("vectors", pci_alloc_irq_vectors, pdev, -ENOSPC,
	    (struct pci_dev *pdev, unsigned int least, unsigned int most, unsigned int flags),
	    pdev, least, most, flags)
GIVEN_BACK("vectors", pci_free_irq_vectors, pdev, (struct pci_dev *pdev), pdev)

/*
 * The key of an interrupt is made of its number and its cookie, so free_irq() must get both as
 * request_irq() got them.
 */
FAULTY_CALL("interrupt", request_irq, (char *)cookie + irq, -EBUSY,
	    (unsigned int irq, irq_handler_t handler, unsigned long flags, const char *name,
	     void *cookie), irq, handler, flags, name, cookie)
static inline void __maybe_unused faulty_free_irq(unsigned int irq, void *cookie)
{
	faults_drop("interrupt", (char *)cookie + irq);
	free_irq(irq, cookie);
}

static inline dma_addr_t __maybe_unused faulty_dma_map_page(struct device *dev, struct page *page,
							    size_t offset, size_t size,
							    enum dma_data_direction direction)
{
	dma_addr_t got = DMA_MAPPING_ERROR;

	if (faults_strike("dma_map_page"))
		return got;
	got = dma_map_page(dev, page, offset, size, direction);
	if (!dma_mapping_error(dev, got))
		faults_hold("mapping", NUMBER(got));
	return got;
}

static inline void __maybe_unused faulty_dma_unmap_page(struct device *dev, dma_addr_t dma,
							size_t size,
							enum dma_data_direction direction)
{
	faults_drop("mapping", NUMBER(dma));
	dma_unmap_page(dev, dma, size, direction);
}

static inline void *__maybe_unused faulty_vmemdup_user(const void __user *from, size_t size)
{
	void *got = ERR_PTR(-ENOMEM);

	if (!faults_strike("vmemdup_user"))
		got = vmemdup_user(from, size);
	if (!IS_ERR(got))
		faults_hold("memory", got);
	return got;
}

static inline struct eventfd_ctx *__maybe_unused faulty_eventfd_ctx_fdget(int fd)
{
	struct eventfd_ctx *got = ERR_PTR(-EBADF);

	if (!faults_strike("eventfd_ctx_fdget"))
		got = eventfd_ctx_fdget(fd);
	if (!IS_ERR(got))
		faults_hold("event", got);
	return got;
}
GIVEN_BACK("event", eventfd_ctx_put, event, (struct eventfd_ctx *event), event)

#undef kzalloc
#undef kmalloc
#undef kcalloc
#undef kfree
#undef kvzalloc
#undef kvcalloc
#undef vmemdup_user
#undef kvmalloc_array
#undef alloc_pages_node
#undef get_zeroed_page
#undef free_page
#undef dma_map_page
#undef dma_unmap_page
#undef pci_request_mem_regions
#undef pci_release_mem_regions
#undef pci_register_driver
#undef mutex_lock
#undef mutex_lock_interruptible
#undef mutex_trylock

#define mutex_lock(_lock)	faulty_mutex_lock(_lock, #_lock, __func__)
#define mutex_lock_interruptible(_lock) \
	faulty_mutex_lock_interruptible(_lock, #_lock, __func__)
#define mutex_trylock(_lock)	faulty_mutex_trylock(_lock, #_lock, __func__)
#define mutex_unlock(_lock)	faulty_mutex_unlock(_lock, #_lock)
#define down_read(_lock)	faulty_down_read(_lock, #_lock, __func__)
#define down_write(_lock)	faulty_down_write(_lock, #_lock, __func__)
#define up_read(_lock)		faulty_up_read(_lock, #_lock)
#define up_write(_lock)		faulty_up_write(_lock, #_lock)

#define kzalloc			faulty_kzalloc
#define kmalloc			faulty_kmalloc
#define kcalloc			faulty_kcalloc
#define kfree			faulty_kfree
#define kvzalloc		faulty_kvzalloc
#define kvcalloc		faulty_kvcalloc
#define vmemdup_user		faulty_vmemdup_user
#define kvmalloc_array		faulty_kvmalloc_array
#define kvfree			faulty_kvfree
#define pin_user_pages_fast	faulty_pin_user_pages_fast
#define unpin_user_pages	faulty_unpin_user_pages
#define unpin_user_pages_dirty_lock	faulty_unpin_user_pages_dirty_lock
#define mmgrab			faulty_mmgrab
#define mmdrop			faulty_mmdrop
#define alloc_pages_node	faulty_alloc_pages_node
#define put_page		faulty_put_page
#define get_zeroed_page		faulty_get_zeroed_page
#define free_page		faulty_free_page
#define ida_alloc_max		faulty_ida_alloc_max
#define ida_free		faulty_ida_free
#define cdev_device_add		faulty_cdev_device_add
#define cdev_device_del		faulty_cdev_device_del
#define pci_enable_device_mem	faulty_pci_enable_device_mem
#define pci_disable_device	faulty_pci_disable_device
#define pci_request_mem_regions	faulty_pci_request_mem_regions
#define pci_release_mem_regions	faulty_pci_release_mem_regions
#define pci_iomap		faulty_pci_iomap
#define pci_iomap_wc		faulty_pci_iomap_wc
#define pci_iounmap		faulty_pci_iounmap
#define pci_alloc_irq_vectors	faulty_pci_alloc_irq_vectors
#define pci_free_irq_vectors	faulty_pci_free_irq_vectors
#define request_irq		faulty_request_irq
#define free_irq		faulty_free_irq
#define dma_map_page		faulty_dma_map_page
#define dma_unmap_page		faulty_dma_unmap_page
#define eventfd_ctx_fdget	faulty_eventfd_ctx_fdget
#define eventfd_ctx_put		faulty_eventfd_ctx_put

/*
 * Call the kernel function @_name for the driver, or return @_error if this call is to fail.
 * The result is not put on the list of what the driver holds: the driver need not release it, or
 * releases it by a call that this file does not replace.
 */
#define REFUSED(_name, _error, ...) \
	(faults_strike(#_name) ? (_error) : _name(__VA_ARGS__))
#define dev_set_name(...)		REFUSED(dev_set_name, -ENOMEM, __VA_ARGS__)
#define dma_set_mask_and_coherent(...)	REFUSED(dma_set_mask_and_coherent, -EIO, __VA_ARGS__)
#define vm_insert_page(...)		REFUSED(vm_insert_page, -ENOMEM, __VA_ARGS__)
#define dma_buf_export(...)		REFUSED(dma_buf_export, ERR_PTR(-ENOMEM), __VA_ARGS__)
#define get_unused_fd_flags(...)	REFUSED(get_unused_fd_flags, -EMFILE, __VA_ARGS__)
#define alloc_chrdev_region(...)	REFUSED(alloc_chrdev_region, -EBUSY, __VA_ARGS__)
#define pci_register_driver(_driver) \
	REFUSED(__pci_register_driver, -ENOMEM, _driver, THIS_MODULE, KBUILD_MODNAME)

/*
 * Replaces readl_poll_timeout(), by which the driver waits for a value of a card register. While
 * the module parameter `stuck` is set, the register is read once and the wait times out.
 */
#undef readl_poll_timeout
#define readl_poll_timeout(_address, _value, _condition, _sleep, _timeout)		\
	(faults_stuck ? ((_value) = readl(_address), -ETIMEDOUT) :			\
	 readx_poll_timeout(readl, _address, _value, _condition, _sleep, _timeout))

/*
 * Checks that some task holds the lock. The check is weak, since the holder may be another task
 * than the caller, but without it Debian's kernels would check nothing.
 */
#undef lockdep_assert_held
#define lockdep_assert_held(_lock)							\
	WARN_ON_ONCE(!_Generic((_lock),							\
			       struct mutex *: mutex_is_locked((void *)(_lock)),	\
			       const struct mutex *: mutex_is_locked((void *)(_lock)),	\
			       spinlock_t *: spin_is_locked((void *)(_lock))))

#endif /* FAULTS_THEMSELVES */

#endif /* LITEPCIE_FAULTS_H */
