// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Which of the driver's requests is refused, and what it holds: see faults.h.
 */

#include <linux/module.h>
#include <linux/moduleparam.h>

#define FAULTS_THEMSELVES
#include "faults.h"

#define HELD_MAX	512

struct held {
	const char		*what;
	const volatile void	*key;
};

static DEFINE_SPINLOCK(lock);	/* protects what follows */
static struct held held[HELD_MAX];
static unsigned int wrong;	/* given back, but not held; or held, but too many */

static int fail;
module_param(fail, int, 0644);
MODULE_PARM_DESC(fail, "the how manieth request from now on is refused; 0: none");

static int times = 1;
module_param(times, int, 0644);
MODULE_PARM_DESC(times, "how many are refused in a row");

static int struck;
module_param(struck, int, 0644);
MODULE_PARM_DESC(struck, "how many have been refused");

/* Without order among processors: a test asks for one thing after the other. */
bool faults_strike(const char *what)
{
	if (!fail || --fail)
		return false;
	if (++struck < times)
		fail = 1;
	pr_info("fault: %s is refused\n", what);
	return true;
}

static struct held *find(const char *what, const volatile void *key)
{
	for (unsigned int i = 0; i < HELD_MAX; i++)
		if (held[i].key == key && (!key || !strcmp(held[i].what, what)))
			return &held[i];
	return NULL;
}

void faults_hold(const char *what, const volatile void *key)
{
	unsigned long flags;
	struct held *place;

	spin_lock_irqsave(&lock, flags);
	place = find(what, NULL);
	if (place)
		*place = (struct held){ .what = what, .key = key };
	else
		wrong++;
	spin_unlock_irqrestore(&lock, flags);
}

void faults_drop(const char *what, const volatile void *key)
{
	unsigned long flags;
	struct held *place;

	if (!key)
		return;
	spin_lock_irqsave(&lock, flags);
	place = find(what, key);
	if (place)
		place->key = NULL;
	else
		wrong++;
	spin_unlock_irqrestore(&lock, flags);
	if (!place)
		pr_err("fault: %s %p is given back, but was not held\n", what, key);
}

/* What is held, by name, and how much went wrong. */
static int held_get(char *buffer, const struct kernel_param *param)
{
	int length = 0;

	spin_lock_irq(&lock);
	for (unsigned int i = 0; i < HELD_MAX; i++)
		if (held[i].key)
			length += scnprintf(buffer + length, PAGE_SIZE - length, "%s ",
					    held[i].what);
	if (wrong)
		length += scnprintf(buffer + length, PAGE_SIZE - length, "wrong %u ", wrong);
	spin_unlock_irq(&lock);
	return length + scnprintf(buffer + length, PAGE_SIZE - length, "\n");
}

static const struct kernel_param_ops held_ops = { .get = held_get };
module_param_cb(held, &held_ops, NULL, 0444);
MODULE_PARM_DESC(held, "what has not been given back");
