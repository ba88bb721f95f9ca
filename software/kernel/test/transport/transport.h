/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Defines what the driver's files in virtio/ need of the kernel and of card.h, for the test program
 * transport, which includes these files. The definitions are those of kernels before 6.4, where the
 * driver itself must read the index of a queue's available ring to tell it to the card with a
 * doorbell.
 */
#ifndef TRANSPORT_H
#define TRANSPORT_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/version.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_ring.h>

#include "uapi/litepcie_capability.h"

#define LITEPCIE_CARD_H
#define CONFIG_AUXILIARY_BUS
#define CONFIG_PM_SLEEP

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef __u64 u64;
typedef int irqreturn_t;
typedef irqreturn_t (*irq_handler_t)(int irq, void *data);
typedef struct { bool held; } spinlock_t;

#define __iomem
#define IRQ_HANDLED		1
#define IRQ_IS_POLLED		1
#define GFP_KERNEL		0
#define SMP_CACHE_BYTES		64
#define USEC_PER_SEC		1000000
#define LITEPCIE_VIRTIO_MAX	8

#define BIT(_n)			(1ul << (_n))
#define BIT_ULL(_n)		(1ull << (_n))
#define GENMASK(_high, _low)	((u32)((~0ull << (_low)) & (~0ull >> (63 - (_high)))))
#define IS_ALIGNED(_x, _to)	(!((_x) % (_to)))
#define min_t(_type, _a, _b)	((_type)(_a) < (_type)(_b) ? (_type)(_a) : (_type)(_b))
#define fls(_x)			(32 - __builtin_clz(_x))
#define __ffs(_x)		((unsigned int)__builtin_ctz(_x))
#define lower_32_bits(_x)	((u32)(_x))
#define upper_32_bits(_x)	((u32)((u64)(_x) >> 32))
#define cpu_to_le32(_x)		(_x)
#define le16_to_cpu(_x)		(_x)
#define le32_to_cpu(_x)		(_x)
#define ERR_PTR(_error)		((void *)(intptr_t)(_error))
#define PTR_ERR(_pointer)	((long)(intptr_t)(_pointer))
#define IS_ERR(_pointer)	((uintptr_t)(_pointer) >= (uintptr_t)-4095)
#define READ_ONCE(_x)		(_x)
#define WRITE_ONCE(_x, _value)	((_x) = (_value))
#define smp_mb()		((void)0)
#define smp_load_acquire(_from)		(*(_from))
#define smp_store_release(_to, _value)	(*(_to) = (_value))
#define lockdep_assert_held(_lock)	need((_lock)->held, #_lock)
#define container_of(_pointer, _type, _member) \
	((_type *)((char *)(_pointer) - __builtin_offsetof(_type, _member)))
#define EXPORT_SYMBOL_GPL(_name)	extern int exported_##_name
#define MODULE_DEVICE_TABLE(_bus, _ids)	extern int table_of_##_bus
#define MODULE_DESCRIPTION(_text)	extern int described
#define MODULE_AUTHOR(_text)		extern int has_author
#define MODULE_VERSION(_text)		extern int has_version
#define MODULE_LICENSE(_text)		extern int licensed
#define DEFINE_IDA(_name)		int _name

#define dev_warn(_dev, ...)	((void)(_dev), snprintf(said, sizeof(said), __VA_ARGS__))
#define dev_err			dev_warn
#define kzalloc(_bytes, _gfp)	memory_take(_bytes)
#define kcalloc(_n, _bytes, _gfp) memory_take((_n) * (_bytes))
#define kfree(_pointer)		memory_give(_pointer)

extern char said[256];		/* the driver's last log message */
/*
 * number of pieces of memory that are not freed: those that the driver allocates, and a virtqueue's
 * structure for each existing queue
 */
extern unsigned int allocated;

void need(bool holds, const char *what);
void *memory_take(size_t bytes);
void memory_give(void *pointer);

/* Stand-ins for the kernel's locks and waits -------------------------------------------------- */

#define spin_lock_init(_lock)		((_lock)->held = false)
#define spin_lock_irq(_lock)		lock_take(_lock)
#define spin_unlock_irq(_lock)		((_lock)->held = false)
#define spin_lock_irqsave(_lock, _flags)	((_flags) = 0, lock_take(_lock))
#define spin_unlock_irqrestore(_lock, _flags)	((void)(_flags), (_lock)->held = false)

static inline void lock_take(spinlock_t *lock)
{
	need(!lock->held, "a lock is taken within itself");
	lock->held = true;
}

/*
 * Polls a register as the kernel's readl_poll_timeout() does, which reads once more after the time
 * limit. This macro does not sleep: it only counts the time.
 */
#define poll_timeout(_read, _argument, _value, _condition, _sleep_us, _timeout_us)	\
({											\
	u64 left_ = (_timeout_us);							\
	for (;;) {									\
		(_value) = _read(_argument);						\
		if ((_condition) || !left_)						\
			break;								\
		left_ -= min_t(u64, left_, _sleep_us);					\
	}										\
	(_condition) ? 0 : -ETIMEDOUT;							\
})
#define readx_poll_timeout(_read, ...)	poll_timeout(_read, __VA_ARGS__)
#define readl_poll_timeout(...)		poll_timeout(readl, __VA_ARGS__)

u32 readl(const u8 *address);
void writel(u32 value, u8 *address);

/* Stand-ins for the kernel's devices ---------------------------------------------------------- */

struct device {
	struct device	*parent;
	void		(*release)(struct device *dev);
	void		*driver_data;
};

struct pci_dev {
	struct device	dev;
	bool		msix_enabled;
};

struct auxiliary_device {
	struct device	dev;
	const char	*name;
	u32		id;
};

struct auxiliary_device_id { char name[32]; };
struct dev_pm_ops { int (*suspend)(struct device *dev), (*resume)(struct device *dev); };

struct auxiliary_driver {
	const char *name;
	int (*probe)(struct auxiliary_device *adev, const struct auxiliary_device_id *id);
	void (*remove)(struct auxiliary_device *adev);
	void (*shutdown)(struct auxiliary_device *adev);
	const struct auxiliary_device_id *id_table;
	struct { const struct dev_pm_ops *pm; } driver;
};

#define DEFINE_SIMPLE_DEV_PM_OPS(_name, _suspend, _resume) \
	const struct dev_pm_ops _name = { _suspend, _resume }
#define pm_sleep_ptr(_ops)		(_ops)
#define module_auxiliary_driver(_driver) \
	const struct auxiliary_driver *const transport_driver = &(_driver)
#define to_auxiliary_dev(_dev)		container_of(_dev, struct auxiliary_device, dev)
#define to_pci_dev(_dev)		container_of(_dev, struct pci_dev, dev)
#define auxiliary_set_drvdata(_adev, _data)	((_adev)->dev.driver_data = (_data))
#define auxiliary_get_drvdata(_adev)	((_adev)->dev.driver_data)
#define dev_get_drvdata(_dev)		((_dev)->driver_data)
#define dev_name(_dev)			((void)(_dev), "virtio0")
#define pci_name(_pdev)			((void)(_pdev), "0000:01:00.0")
#define put_device(_dev)		((_dev)->release(_dev))

extern const struct auxiliary_driver *const transport_driver;

int auxiliary_device_init(struct auxiliary_device *adev);
int auxiliary_device_add(struct auxiliary_device *adev);
void auxiliary_device_delete(struct auxiliary_device *adev);
void auxiliary_device_uninit(struct auxiliary_device *adev);
int ida_alloc_max(int *numbers, int most, int gfp);
void ida_free(int *numbers, int number);
struct cpumask;
int request_irq(int irq, irq_handler_t handler, unsigned long flags, const char *name, void *data);
void free_irq(int irq, void *data);
void synchronize_irq(int irq);
int irq_set_affinity_and_hint(int irq, const struct cpumask *processors);
void irq_set_status_flags(int irq, unsigned long flags);
void disable_irq(int irq);
void enable_irq(int irq);
#define pci_irq_vector(_pdev, _n)	((void)(_pdev), (int)(_n) + 100)

/* Stand-ins for the kernel's virtio core ------------------------------------------------------ */

struct virtio_device;
struct virtqueue;
struct irq_affinity;
typedef void vq_callback_t(struct virtqueue *vq);

struct virtio_config_ops {
	void (*get)(struct virtio_device *vdev, unsigned int offset, void *buf, unsigned int len);
	void (*set)(struct virtio_device *vdev, unsigned int offset, const void *buf,
		    unsigned int len);
	u32 (*generation)(struct virtio_device *vdev);
	u8 (*get_status)(struct virtio_device *vdev);
	void (*set_status)(struct virtio_device *vdev, u8 status);
	void (*reset)(struct virtio_device *vdev);
	int (*find_vqs)(struct virtio_device *vdev, unsigned int count, struct virtqueue *vqs[],
			vq_callback_t *callbacks[], const char *const names[], const bool *ctx,
			struct irq_affinity *affinity);
	void (*del_vqs)(struct virtio_device *vdev);
	void (*synchronize_cbs)(struct virtio_device *vdev);
	u64 (*get_features)(struct virtio_device *vdev);
	int (*finalize_features)(struct virtio_device *vdev);
	const char *(*bus_name)(struct virtio_device *vdev);
	int (*disable_vq_and_reset)(struct virtqueue *vq);
	int (*enable_vq_after_reset)(struct virtqueue *vq);
	int (*set_vq_affinity)(struct virtqueue *vq, const struct cpumask *processors);
};

struct virtio_device {
	struct device				dev;
	struct { u32 device, vendor; }		id;
	const struct virtio_config_ops		*config;
	u64					features;
	/* number of calls of virtio_config_changed() for the device */
	unsigned int				changed;
	bool					registered;
};

struct virtqueue {
	struct virtio_device	*vdev;
	unsigned int		index, num_max, calls;
	bool			broken, reset;
	vq_callback_t		*callback;
	bool			(*notify)(struct virtqueue *vq);
	struct vring		vring;
	void			*memory, *priv;
};

#define __virtqueue_break(_vq)		((void)((_vq)->broken = true))
#define dev_to_virtio(_dev)		container_of(_dev, struct virtio_device, dev)
#define virtqueue_get_vring(_vq)	((const struct vring *)&(_vq)->vring)
#define virtqueue_get_vring_size(_vq)	((_vq)->vring.num)
#define virtqueue_get_desc_addr(_vq)	((u64)(uintptr_t)(_vq)->vring.desc)
#define virtqueue_get_avail_addr(_vq)	((u64)(uintptr_t)(_vq)->vring.avail)
#define virtqueue_get_used_addr(_vq)	((u64)(uintptr_t)(_vq)->vring.used)
#define virtio16_to_cpu(_vdev, _x)	((void)(_vdev), (u16)(_x))
#define cpu_to_virtio16(_vdev, _x)	((void)(_vdev), (u16)(_x))
#define cpu_to_virtio32(_vdev, _x)	((void)(_vdev), (u32)(_x))
#define __virtio_test_bit(_vdev, _n)	(!!((_vdev)->features & BIT_ULL(_n)))
#define __virtio_set_bit(_vdev, _n)	((_vdev)->features |= BIT_ULL(_n))
#define __virtio_clear_bit(_vdev, _n)	((_vdev)->features &= ~BIT_ULL(_n))

struct virtqueue *vring_create_virtqueue(unsigned int index, unsigned int num, unsigned int align,
					 struct virtio_device *vdev, bool weak, bool may_reduce,
					 bool ctx, bool (*notify)(struct virtqueue *vq),
					 vq_callback_t *callback, const char *name);
void vring_del_virtqueue(struct virtqueue *vq);
irqreturn_t vring_interrupt(int irq, void *vq);
void vring_transport_features(struct virtio_device *vdev);
void virtio_config_changed(struct virtio_device *vdev);
int register_virtio_device(struct virtio_device *vdev);
void unregister_virtio_device(struct virtio_device *vdev);
int virtio_device_freeze(struct virtio_device *vdev);
int virtio_device_restore(struct virtio_device *vdev);

/* Stand-ins for the driver's other files ------------------------------------------------------ */

struct litepcie_block {
	u16		type, version;
	u8		index, bar;
	u32		offset, size;
	unsigned int	parameters;
	const u32	*parameter;
};

struct litepcie_listener { irq_handler_t handler; void *data; };
struct litepcie_way { u32 cause; };

struct litepcie_virtio_slot {
	const struct litepcie_block	*block;
	struct litepcie_virtio		*device;
};

struct litepcie {
	struct pci_dev			*pdev;
	u8				*bar0;
	bool				lost;
	u32				unquiet, enabled, virtio_causes, virtio_queues;
	struct litepcie_virtio_slot	virtio[LITEPCIE_VIRTIO_MAX];
	struct litepcie_listener	listener[LITEPCIE_CAUSES_MAX];
	unsigned int			references;
};

bool litepcie_block_is_known(const struct litepcie_block *block, unsigned int last);
u32 litepcie_parameter(const struct litepcie_block *block, unsigned int n);
const struct litepcie_block *litepcie_block_find(struct litepcie *card, u16 type,
						 unsigned int index);
struct litepcie_way *litepcie_nth_way(struct litepcie *card, unsigned int n);
bool litepcie_check_lost(struct litepcie *card);
void litepcie_master_on(struct litepcie *card, u32 cause);
void litepcie_master_off(struct litepcie *card, u32 cause);
void litepcie_cause_enable(struct litepcie *card, u32 cause, bool enable);
void litepcie_card_get(struct litepcie *card);
void litepcie_card_put(struct litepcie *card);
void litepcie_virtio_find(struct litepcie *card);
int litepcie_virtio_halt(struct litepcie *card);
void litepcie_virtio_add(struct litepcie *card);
void litepcie_virtio_del(struct litepcie *card);

#endif /* TRANSPORT_H */
