// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Charges the memory of rings to a process and its user, and enforces RLIMIT_MEMLOCK.
 *
 * Rings cannot be swapped, so their memory is charged as io_uring and RDMA charge theirs, except
 * for rings that have an allowance.  VmPin in /proc/PID/status includes the memory charged to the
 * process.  A process without CAP_IPC_LOCK gets no ring for which the charge to its user, or to the
 * process itself, would exceed its RLIMIT_MEMLOCK.  The user is charged as long as the ring exists,
 * so a process cannot evade the limit by passing its descriptors on and exiting.
 */

#define pr_fmt(fmt)	KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "charge.h"

/*
 * The allowance of a DMA direction or of a card's capture, by which one ring at a time is not
 * charged, so that RLIMIT_MEMLOCK does not limit it.  The ring that has taken the allowance holds a
 * reference to the allowance, since the ring may outlive the card.
 */
struct litepcie_allowance {
	struct kref	kref;
	/*
	 * lock: 1 while a ring has the allowance, else 0.  The ring that changes @taken from 0 to 1
	 * has the allowance alone, until litepcie_discharge().
	 */
	atomic_t	taken;
};

struct litepcie_allowance *litepcie_allowance_alloc(void)
{
	struct litepcie_allowance *allowance = kzalloc(sizeof(*allowance), GFP_KERNEL);

	if (allowance)
		kref_init(&allowance->kref);
	return allowance;
}

static void allowance_release(struct kref *kref)
{
	kfree(container_of(kref, struct litepcie_allowance, kref));
}

void litepcie_allowance_put(struct litepcie_allowance *allowance)
{
	kref_put(&allowance->kref, allowance_release);
}

static int over_limit(u64 pages, u64 limit)
{
	if (pages <= limit)
		return 0;
	pr_debug("%s: %llu pages would be locked, RLIMIT_MEMLOCK allows %llu: raise it, or have CAP_IPC_LOCK\n",
		 current->comm, pages, limit);
	return -ENOMEM;
}

static int charge_user(struct litepcie_charge *charge, u64 limit)
{
	charge->user = get_current_user();
	return over_limit(atomic_long_add_return(charge->pages, &charge->user->locked_vm), limit);
}

/*
 * Charge the pages to the calling process.  Returns -ENOMEM if its count pinned_vm is then over
 * @limit.  The count also includes pages that other drivers, such as RDMA's, have pinned for the
 * process.
 */
static int charge_process(struct litepcie_charge *charge, u64 limit)
{
	charge->mm = current->mm;
	mmgrab(charge->mm);
	return over_limit(atomic64_add_return(charge->pages, &charge->mm->pinned_vm), limit);
}

/*
 * Charge @pages to the calling process, and to its user if the process has no CAP_IPC_LOCK.  If
 * @allowance is not NULL and no ring has it, the allowance is taken instead and nobody is charged.
 * Otherwise returns -ENOMEM if a process without CAP_IPC_LOCK or its user would exceed
 * RLIMIT_MEMLOCK, or if the caller is a kernel thread.  After an error nothing is charged.
 */
int litepcie_charge(struct litepcie_charge *charge, unsigned long pages,
		    struct litepcie_allowance *allowance)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	bool limited;
	int err = 0;

	*charge = (struct litepcie_charge){ .pages = pages };
	if (allowance && !atomic_cmpxchg(&allowance->taken, 0, 1)) {
		kref_get(&allowance->kref);
		charge->allowance = allowance;
		return 0;
	}
	if (!current->mm)
		return -ENOMEM;
	limited = !capable(CAP_IPC_LOCK);
	if (limited)
		err = charge_user(charge, limit);
	if (!err)
		err = charge_process(charge, limited ? limit : U64_MAX);
	if (err)
		litepcie_discharge(charge);
	return err;
}

/*
 * Undo litepcie_charge(), in any process, even after the charged process has exited.  If all fields
 * of @charge are 0, nothing is done.
 */
void litepcie_discharge(struct litepcie_charge *charge)
{
	if (charge->allowance) {
		atomic_set(&charge->allowance->taken, 0);
		litepcie_allowance_put(charge->allowance);
	}
	if (charge->mm) {
		atomic64_sub(charge->pages, &charge->mm->pinned_vm);
		mmdrop(charge->mm);
	}
	if (charge->user) {
		atomic_long_sub(charge->pages, &charge->user->locked_vm);
		free_uid(charge->user);
	}
	*charge = (struct litepcie_charge){ };
}
