/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Defines what the driver's files in capture/ need of the kernel and of card.h, for the test
 * program node, which includes these files. The stand-ins for the locks check the order that
 * capture.h gives. card->master_lock has no stand-in. The program has one thread, so to take a lock
 * that is held is a deadlock.
 */
#ifndef NODE_H
#define NODE_H

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "uapi/litepcie.h"
#include "uapi/litepcie_capability.h"

bool capable(int capability);

#define LITEPCIE_CARD_H
#define LITEPCIE_COMPAT_H

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef __u64 u64, dma_addr_t;
typedef unsigned int __poll_t;

#define __iomem
#define __user
#define __acquires(_lock)
#define __releases(_lock)
#define THIS_MODULE			NULL
#define HZ				1000
#define U64_MAX				(~0ull)
#define PAGE_SIZE			4096ul
#define SZ_4K				0x1000
#define SZ_64K				0x10000
#define SZ_4M				0x400000
#define USEC_PER_MSEC			1000
#define LITEPCIE_NAME			"litepcie"
#define GFP_KERNEL			0
#define GFP_KERNEL_ACCOUNT		0
#define IOCB_NOWAIT			1
#define ERESTARTSYS			512
#define VM_WRITE			2ul
#define VM_SHARED			8ul
#define VM_MAYWRITE			0x20ul
#define VM_DONTEXPAND			0x40ul
#define VM_DONTDUMP			0x80ul

#define BIT(_n)				(1ul << (_n))
#define ARRAY_SIZE(_a)			(sizeof(_a) / sizeof((_a)[0]))
#define min(_a, _b)			((_a) < (_b) ? (_a) : (_b))
#define max(_a, _b)			((_a) > (_b) ? (_a) : (_b))
#define min_t(_type, _a, _b)		min((_type)(_a), (_type)(_b))
#define max_t(_type, _a, _b)		max((_type)(_a), (_type)(_b))
#define min3(_a, _b, _c)		min(min(_a, _b), _c)
#define round_down(_x, _to)		((_x) & ~((u64)(_to) - 1))
#define round_up(_x, _to)		round_down((_x) + (_to) - 1, _to)
#define PAGE_ALIGNED(_address)		(!((_address) % PAGE_SIZE))
#define is_power_of_2(_x)		((_x) && !((_x) & ((_x) - 1)))
#define ilog2(_x)			(63 - __builtin_clzll(_x))
#define upper_32_bits(_x)		((u32)((u64)(_x) >> 32))
#define lower_32_bits(_x)		((u32)(_x))
#define cpu_to_le32(_x)			(_x)
#define swap(_a, _b) \
	do { __typeof__(_a) was_ = (_a); (_a) = (_b); (_b) = was_; } while (0)
#define READ_ONCE(_x)			(_x)
#define smp_load_acquire(_from)		(*(_from))
#define WRITE_ONCE(_x, _value)		((_x) = (_value))
#define smp_store_release(_to, _value)	(*(_to) = (_value))
#define container_of(_pointer, _type, _member) \
	((_type *)((char *)(_pointer) - __builtin_offsetof(_type, _member)))
#define IS_ENABLED(_option)		0
#define ERR_PTR(_error)			((void *)(intptr_t)(_error))
#define PTR_ERR(_pointer)		((int)(intptr_t)(_pointer))
#define IS_ERR(_pointer)		((uintptr_t)(_pointer) >= (uintptr_t)-4095)
#define msecs_to_jiffies(_ms)		(_ms)
#define time_after(_a, _b)		((long)((_b) - (_a)) < 0)

#define dev_dbg(_dev, ...)		((void)(_dev), snprintf(said, sizeof(said), __VA_ARGS__))
#define dev_info			dev_dbg
#define dev_warn			dev_dbg
#define dev_err				dev_dbg

extern char said[256];			/* the driver's last log message */
extern unsigned long jiffies;

struct task { char comm[8]; };
extern struct task *const current;

/* Stand-ins for the kernel's locks ------------------------------------------------------------ */

/*
 * Ranks of the driver's locks, outermost first: file->io, card->live, capture->mutex, wait.lock of
 * each queue, and capture->select_lock. A lock may be taken only while no lock of its own or of a
 * later rank is held.
 */
enum { RANK_IO, RANK_LIVE, RANK_MUTEX, RANK_WAIT, RANK_SELECT, RANKS };

struct lock { int rank; };
struct mutex { struct lock lock; };
typedef struct lock spinlock_t;

void lock_take(struct lock *lock);
void lock_leave(struct lock *lock);
bool lock_held(int rank);

#define mutex_init(_mutex)		((_mutex)->lock.rank = strcmp(#_mutex, "&file->io") ? \
					 RANK_MUTEX : RANK_IO)
#define mutex_lock(_mutex)		lock_take(&(_mutex)->lock)
#define mutex_lock_interruptible(_mutex) (lock_take(&(_mutex)->lock), 0)
#define mutex_unlock(_mutex)		lock_leave(&(_mutex)->lock)
#define spin_lock_init(_lock)		((_lock)->rank = RANK_SELECT)
#define spin_lock(_lock)		lock_take(_lock)
#define spin_unlock(_lock)		lock_leave(_lock)
#define spin_lock_irq(_lock)		lock_take(_lock)
#define spin_unlock_irq(_lock)		lock_leave(_lock)
#define spin_lock_irqsave(_lock, _flags)	((_flags) = 0, lock_take(_lock))
#define spin_unlock_irqrestore(_lock, _flags)	((void)(_flags), lock_leave(_lock))
#define lockdep_assert_held(_lock)	must_be_held(*(int *)(_lock), #_lock)

void must_be_held(int rank, const char *name);

/* Stand-ins for the kernel's waits ------------------------------------------------------------ */

typedef struct {
	struct lock	lock;
	/* number of times that the driver has woken the queue's waiting threads */
	unsigned int	woken;
} wait_queue_head_t;

struct poll_table_struct {
	unsigned int		count;
	wait_queue_head_t	*wait[32];
};

struct eventfd_ctx { unsigned int signals, references; };
struct work_struct { int nothing; };
struct delayed_work { struct work_struct work; bool pending; };

/*
 * Function of a test that is called where the driver would sleep in wait_event_interruptible(). It
 * does what ends the sleep: it lets the made-up card record a frame, or begins a reset. NULL: the
 * driver must not sleep.
 */
extern void (*asleep)(void);

#define init_waitqueue_head(_wait)	((_wait)->lock.rank = RANK_WAIT)
#define wake_up_locked(_wait)		(must_be_held((_wait)->lock.rank, #_wait), (_wait)->woken++)
#define wait_event_interruptible(_wait, _condition) \
	((_condition) ? 0 : (sleep_on(&(_wait)), (_condition)) ? 0 : -ERESTARTSYS)
#define INIT_DELAYED_WORK(_work, _function)	((_work)->pending = false)

void sleep_on(wait_queue_head_t *wait);
void poll_wait(void *filp, wait_queue_head_t *wait, struct poll_table_struct *table);
u64 ktime_get_real_ns(void);
void usleep_range(unsigned int from, unsigned int to);
void schedule_delayed_work(struct delayed_work *work, unsigned long delay);
void cancel_delayed_work_sync(struct delayed_work *work);
void litepcie_eventfd_signal(struct eventfd_ctx *event);
struct eventfd_ctx *eventfd_ctx_fdget(int fd);
void eventfd_ctx_put(struct eventfd_ctx *event);

/* Stand-ins for the kernel's devices and files ------------------------------------------------ */

struct device { void (*release)(struct device *dev); };
struct cdev { const void *fops; void *owner; };
struct inode { struct cdev *i_cdev; };
struct file { void *private_data; unsigned int f_flags; };
struct kiocb { struct file *ki_filp; unsigned int ki_flags; };
struct iov_iter { u8 *to; size_t left; };
struct vm_area_struct { unsigned long vm_pgoff, vm_start, vm_end, vm_flags; };
struct pci_dev { struct device dev; };

struct file_operations {
	void *owner;
	int (*open)(struct inode *inode, struct file *filp);
	int (*release)(struct inode *inode, struct file *filp);
	long (*unlocked_ioctl)(struct file *filp, unsigned int number, unsigned long argument);
	long (*compat_ioctl)(struct file *filp, unsigned int number, unsigned long argument);
	ssize_t (*read_iter)(struct kiocb *iocb, struct iov_iter *to);
	__poll_t (*poll)(struct file *filp, struct poll_table_struct *table);
	int (*mmap)(struct file *filp, struct vm_area_struct *vma);
	void *llseek;
};

#define noop_llseek			NULL
#define compat_ptr_ioctl		NULL
#define device_initialize(_dev)		((void)(_dev))
#define put_device(_dev)		((_dev)->release(_dev))
#define dev_name(_dev)			((void)(_dev), "litepcie0-capture")
#define cdev_init(_cdev, _fops)		((_cdev)->fops = (_fops))
#define cdev_device_add(_cdev, _dev)	((void)(_cdev), (void)(_dev), 0)
#define cdev_device_del(_cdev, _dev)	((void)(_cdev), (void)(_dev))
#define stream_open(_inode, _filp)	((void)(_inode), (void)(_filp), 0)
#define iov_iter_count(_to)		((_to)->left)
#define DMA_FROM_DEVICE			2
#define DMA_BIDIRECTIONAL		0
#define dma_map_page(_dev, _page, _offset, _bytes, _direction)	((dma_addr_t)(uintptr_t)(_page))
#define dma_unmap_page(_dev, _dma, _bytes, _direction)	((void)(_dma))
#define dma_mapping_error(_dev, _dma)	((void)(_dev), !(_dma))
#define litepcie_needs_sync(_dev, _dma)	((void)(_dev), (void)(_dma), false)
#define litepcie_chrdev_beside(_dev, _chan, _name)	((void)(_chan), 0)
#define vm_flags_set(_vma, _flags)	((_vma)->vm_flags |= (_flags))
#define vm_flags_clear(_vma, _flags)	((_vma)->vm_flags &= ~(_flags))
#define vm_insert_page(_vma, _at, _page)	((void)(_page), 0)
#define virt_to_page(_address)		((struct page *)(_address))
#define page_address(_page)		((u8 *)(_page))
#define get_zeroed_page(_gfp)		((uintptr_t)memory_page())
#define put_page(_page)			memory_give(_page)
#define kzalloc(_bytes, _gfp)		memory_take(_bytes)
#define kfree(_pointer)			memory_give(_pointer)

/* number of pieces of memory from the driver's kzalloc() and get_zeroed_page(), not freed yet */
extern unsigned int allocated;

void *memory_take(size_t bytes);
void *memory_page(void);
void memory_give(const void *pointer);
unsigned long copy_from_user(void *to, const void *from, unsigned long bytes);
unsigned long copy_to_user(void *to, const void *from, unsigned long bytes);
size_t copy_to_iter(const void *from, size_t bytes, struct iov_iter *to);
void *memchr_inv(const void *start, int byte, size_t bytes);

/* Stand-ins for the driver's other files ------------------------------------------------------ */

struct litepcie_block {
	u16		type, version;
	u8		index, bar;
	u32		offset, size;
	unsigned int	parameters;
	const u32	*parameter;
};

struct litepcie_capture;
struct litepcie_chan;
struct litepcie_memory;
struct litepcie_allowance { int nothing; };

struct litepcie {
	struct pci_dev		*pdev;
	u8			*bar0;
	char			target[8];
	bool			lost;
	u32			unquiet, virtio_causes;
	void			*cause[LITEPCIE_CAUSES_MAX];
	struct litepcie_capture	*capture;
	struct litepcie_chan	*chan[1];
};

struct litepcie_geometry { u32 size, count; };
struct litepcie_chunk { dma_addr_t dma; };

struct litepcie_ring {
	struct device		*dev;
	void			*memory;
	size_t			bytes, chunk_bytes;
	unsigned int		chunks;
	struct litepcie_chunk	chunk[64];
};

u32 readl(const u8 *address);
void writel(u32 value, u8 *address);
u64 litepcie_load_reported(const __le64 *word);
bool litepcie_block_is_known(const struct litepcie_block *block, unsigned int last);
u32 litepcie_parameter(const struct litepcie_block *block, unsigned int n);
const struct litepcie_block *litepcie_block_find(struct litepcie *card, u16 type,
						 unsigned int index);
u64 litepcie_cycles(struct litepcie *card, u32 microseconds);
bool litepcie_check_lost(struct litepcie *card);
bool litepcie_is_gone(const struct litepcie *card);
int litepcie_enter(struct litepcie *card);
void litepcie_exit(struct litepcie *card);
void litepcie_card_get(struct litepcie *card);
void litepcie_card_put(struct litepcie *card);
void litepcie_master_on(struct litepcie *card, u32 cause);
void litepcie_master_off(struct litepcie *card, u32 cause);
void litepcie_cause_enable(struct litepcie *card, u32 cause, bool enable);
struct litepcie_allowance *litepcie_allowance_alloc(void);
void litepcie_allowance_put(struct litepcie_allowance *allowance);
void *litepcie_memory_pin(unsigned long address, size_t bytes);
void litepcie_memory_unpin(void *memory);
struct litepcie_ring *litepcie_ring_alloc(struct device *dev, int direction,
					  const struct litepcie_geometry *shape,
					  struct litepcie_allowance *allowance);
struct litepcie_ring *litepcie_ring_wrap(struct device *dev, int direction,
					 const struct litepcie_geometry *shape, void *memory);
void litepcie_ring_unmap(struct litepcie_ring *ring);
void litepcie_ring_put(struct litepcie_ring *ring);
size_t litepcie_ring_bytes(const struct litepcie_ring *ring);
size_t litepcie_chunk_bytes(const struct litepcie_ring *ring);
struct page *litepcie_ring_page(const struct litepcie_ring *ring, size_t offset);

int litepcie_capture_probe(struct litepcie *card);
void litepcie_capture_put(struct litepcie *card);
void litepcie_capture_map(struct litepcie *card);
void litepcie_capture_unmap(struct litepcie *card);
int litepcie_capture_add(struct litepcie *card);
void litepcie_capture_del(struct litepcie *card);
int litepcie_capture_settle(struct litepcie *card);
void litepcie_capture_abort(struct litepcie *card, int error);
void litepcie_capture_interrupt(struct litepcie *card);

#endif /* NODE_H */
