// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Decides which of the driver's requests to the kernel is refused, and keeps the lists of the
 * resources and locks that the driver holds: see faults.h. A test can also let the driver hear of a
 * fatal PCIe error, for machines that cannot produce one, and can change the type and the version
 * of a block in the driver's copy of the capability table.
 */

#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pci.h>

#define FAULTS_THEMSELVES
#include "card.h"
#include "faults.h"

#define HELD_MAX	512
#define LOCKS_MAX	64

struct held {
	const char		*what;
	const void	*key;
};

struct taken {
	const char		*name, *function;
	const void		*lock;
	const struct task_struct *task;
};

/* lock: protects the lists @held and @taken of what the driver holds, and the count @wrong */
static DEFINE_SPINLOCK(lock);
static struct held held[HELD_MAX];
static struct taken taken[LOCKS_MAX];
/*
 * number of times that the driver gave back a resource or lock that it did not hold, or took one
 * when the list was full
 */
static unsigned int wrong;

static int fail;
module_param(fail, int, 0644);
MODULE_PARM_DESC(fail, "the how manieth request from now on is refused; 0: none");

static int times = 1;
module_param(times, int, 0644);
MODULE_PARM_DESC(times, "how many are refused in a row");

static int struck;
module_param(struck, int, 0644);
MODULE_PARM_DESC(struck, "how many have been refused");

/*
 * Returns true if this request of the driver is to fail, by the module parameters `fail` and
 * `times`. No lock protects these parameters against requests on other processors.
 */
bool faults_strike(const char *what)
{
	if (!fail || --fail)
		return false;
	if (++struck < times)
		fail = 1;
	pr_info("fault: %s is refused\n", what);
	return true;
}

static struct held *find(const char *what, const void *key)
{
	for (unsigned int i = 0; i < HELD_MAX; i++)
		if (held[i].key == key && (!key || !strcmp(held[i].what, what)))
			return &held[i];
	return NULL;
}

void faults_hold(const char *what, const void *key)
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

void faults_drop(const char *what, const void *key)
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

/*
 * Returns the entry for the lock @key in the list @taken, or NULL if @task does not hold the lock.
 * If @key is NULL, returns a free entry, or NULL if the list is full.
 */
static struct taken *find_taken(const void *key, const struct task_struct *task)
{
	for (unsigned int i = 0; i < LOCKS_MAX; i++)
		if (taken[i].lock == key && (!key || taken[i].task == task))
			return &taken[i];
	return NULL;
}

/*
 * Called before the driver waits for a mutex or an rwsem. A task that waits for a lock that it
 * holds itself could wait for ever, so the kernel panics with a message instead.
 */
void faults_want_lock(const char *name, const char *function, const void *key)
{
	struct taken *place;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	place = find_taken(key, current);
	spin_unlock_irqrestore(&lock, flags);
	if (place)
		panic("fault: lock %s is wanted in %s() by its holder since %s()\n", name,
		      function, place->function);
}

void faults_take_lock(const char *name, const char *function, const void *key)
{
	struct taken *place;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	place = find_taken(NULL, NULL);
	if (place)
		*place = (struct taken){ name, function, key, current };
	else
		wrong++;
	spin_unlock_irqrestore(&lock, flags);
}

void faults_leave_lock(const char *name, const void *key)
{
	struct taken *place;
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	place = find_taken(key, current);
	if (place)
		place->lock = NULL;
	else
		wrong++;
	spin_unlock_irqrestore(&lock, flags);
	if (!place)
		pr_err("fault: lock %s is left by a task that does not have it\n", name);
}

/*
 * Module parameter `held`: print the names of the resources and locks that the driver holds, and
 * the count @wrong if it is not 0.
 */
static int held_get(char *buffer, const struct kernel_param *param)
{
	int length = 0;

	spin_lock_irq(&lock);
	for (unsigned int i = 0; i < HELD_MAX; i++)
		if (held[i].key)
			length += scnprintf(buffer + length, PAGE_SIZE - length, "%s ",
					    held[i].what);
	for (unsigned int i = 0; i < LOCKS_MAX; i++)
		if (taken[i].lock)
			length += scnprintf(buffer + length, PAGE_SIZE - length,
					    "lock %s since %s() ", taken[i].name,
					    taken[i].function);
	if (wrong)
		length += scnprintf(buffer + length, PAGE_SIZE - length, "wrong %u ", wrong);
	spin_unlock_irq(&lock);
	return length + scnprintf(buffer + length, PAGE_SIZE - length, "\n");
}

static const struct kernel_param_ops held_ops = { .get = held_get };
module_param_cb(held, &held_ops, NULL, 0444);
MODULE_PARM_DESC(held, "what has not been given back");

bool faults_stuck;
module_param_named(stuck, faults_stuck, bool, 0644);
MODULE_PARM_DESC(stuck, "no direction stops, as far as the driver can see");

/* Call @call for each card of the driver, one after the other, with the PCI device's lock held. */
static void for_each_card(void (*call)(struct pci_dev *pdev, const char *value),
			  const char *value)
{
	struct pci_dev *pdev = NULL;

	while ((pdev = pci_get_device(PCI_VENDOR_ID_XILINX, PCI_ANY_ID, pdev))) {
		device_lock(&pdev->dev);
		if (pdev->driver == &litepcie_pci_driver)
			call(pdev, value);
		device_unlock(&pdev->dev);
	}
}

static void tell_fatal(struct pci_dev *pdev, const char *value)
{
	const struct pci_error_handlers *handlers = litepcie_pci_driver.err_handler;
	bool permanent = sysfs_streq(value, "permanent");
	pci_ers_result_t result = PCI_ERS_RESULT_RECOVERED;

	if (!sysfs_streq(value, "resume")) {
		result = handlers->error_detected(pdev, permanent ? pci_channel_io_perm_failure :
								    pci_channel_io_frozen);
		if (!permanent)
			result = handlers->slot_reset(pdev);
	}
	if (result == PCI_ERS_RESULT_RECOVERED && !sysfs_streq(value, "reset"))
		handlers->resume(pdev);
	pr_info("fault: fatal, %s\n",
		result == PCI_ERS_RESULT_RECOVERED ? "recovered" :
		result == PCI_ERS_RESULT_DISCONNECT ? "given up" : "neither");
}

/*
 * Module parameter `fatal`: report a fatal PCIe error to the driver of each card by the calls that
 * the kernel makes, but without a reset of the bus. "frozen" makes the calls error_detected(),
 * slot_reset() and, if the card has recovered, resume(). "permanent" makes only the call
 * error_detected(), with another state. "reset" makes the first two calls, and "resume" only
 * resume().
 */
static int fatal_set(const char *value, const struct kernel_param *param)
{
	for_each_card(tell_fatal, value);
	return 0;
}

static const struct kernel_param_ops fatal_ops = { .set = fatal_set };
module_param_cb(fatal, &fatal_ops, NULL, 0200);
MODULE_PARM_DESC(fatal, "the cards have a fatal error: frozen, or permanent; reset: up to the reset, resume: what is left of it");

static void change_type(struct pci_dev *pdev, const char *value)
{
	struct litepcie *card = pci_get_drvdata(pdev);
	unsigned int n, type, version;

	if (sscanf(value, "%u %u %u", &n, &type, &version) == 3 && n < card->block_count) {
		card->blocks[n].type = type;
		card->blocks[n].version = version;
	}
}

static int plant_set(const char *value, const struct kernel_param *param)
{
	for_each_card(change_type, value);
	return 0;
}

static const struct kernel_param_ops plant_ops = { .set = plant_set };
module_param_cb(plant, &plant_ops, NULL, 0200);
MODULE_PARM_DESC(plant, "a block's number in the capability table, and the type and version that it has from now on");
