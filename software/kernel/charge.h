/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Who pays for the memory of a ring, and how much one user may have.
 */
#ifndef LITEPCIE_CHARGE_H
#define LITEPCIE_CHARGE_H

#include <linux/types.h>

struct litepcie_allowance;
struct mm_struct;
struct user_struct;

/* All zero: nobody pays. */
struct litepcie_charge {
	struct mm_struct		*mm;
	struct user_struct		*user;		/* NULL: may lock as much as it likes */
	struct litepcie_allowance	*allowance;	/* instead of both */
	unsigned long			pages;
};

struct litepcie_allowance *litepcie_allowance_alloc(void);
void litepcie_allowance_put(struct litepcie_allowance *allowance);

int litepcie_charge(struct litepcie_charge *charge, unsigned long pages,
		    struct litepcie_allowance *allowance);
void litepcie_discharge(struct litepcie_charge *charge);

#endif /* LITEPCIE_CHARGE_H */
