/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares the accounting of ring memory, which is charged to a process and its user.
 */
#ifndef LITEPCIE_CHARGE_H
#define LITEPCIE_CHARGE_H

#include <linux/types.h>

struct litepcie_allowance;
struct mm_struct;
struct user_struct;

/*
 * The process and the user whose counts of pinned and locked memory include one ring's pages.
 */
struct litepcie_charge {
	/* process whose pinned_vm includes the ring's @pages pages; NULL: none */
	struct mm_struct		*mm;
	/*
	 * user whose locked_vm includes the ring's @pages pages; NULL: none, as for a process with
	 * CAP_IPC_LOCK
	 */
	struct user_struct		*user;
	/*
	 * allowance (charge.c) that the ring has taken, or NULL.  An allowance lets one ring
	 * at a time be charged to nobody, so @mm and @user are NULL then.
	 */
	struct litepcie_allowance	*allowance;
	unsigned long			pages;
};

struct litepcie_allowance *litepcie_allowance_alloc(void);
void litepcie_allowance_put(struct litepcie_allowance *allowance);

int litepcie_charge(struct litepcie_charge *charge, unsigned long pages,
		    struct litepcie_allowance *allowance);
void litepcie_discharge(struct litepcie_charge *charge);

#endif /* LITEPCIE_CHARGE_H */
