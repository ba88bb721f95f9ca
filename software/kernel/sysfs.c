// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Provides the attributes in /sys/class/litepcie/litepcieN: the gateware's target and the digest of
 * its sources, how each direction runs, and counters.
 */

#include <linux/sysfs.h>

#include "card.h"

static struct litepcie_chan *to_chan(struct device *dev)
{
	return dev_get_drvdata(dev);
}

static ssize_t target_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_chan(dev)->card->target);
}
static DEVICE_ATTR_RO(target);

static ssize_t source_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_chan(dev)->card->digest);
}
static DEVICE_ATTR_RO(source);

static const char *run_name(const struct litepcie_way *way)
{
	static const char *const names[] = {
		[LITEPCIE_RUN_REST] = "rest", [LITEPCIE_RUN_LOOP] = "loop",
		[LITEPCIE_RUN_HELD] = "held", [LITEPCIE_RUN_STREAM] = "stream",
	};

	return names[READ_ONCE(way->run)];
}

static ssize_t h2c_run_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", run_name(&to_chan(dev)->way[LITEPCIE_WAY_H2C]));
}
static DEVICE_ATTR_RO(h2c_run);

static ssize_t c2h_run_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", run_name(&to_chan(dev)->way[LITEPCIE_WAY_C2H]));
}
static DEVICE_ATTR_RO(c2h_run);

struct count_attribute {
	struct device_attribute	attr;
	u32			id;
	size_t			offset;
};

static ssize_t count_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct count_attribute *count = container_of(attr, struct count_attribute, attr);
	struct litepcie_way *way = &to_chan(dev)->way[count->id];
	u64 value;

	spin_lock_irq(&way->wait.lock);
	value = *(u64 *)((char *)way + count->offset);
	spin_unlock_irq(&way->wait.lock);
	return sysfs_emit(buf, "%llu\n", value);
}

#define COUNT_ATTRIBUTE(_name, _way, _field)					\
	static struct count_attribute count_##_name = {				\
		.attr	= __ATTR(_name, 0444, count_show, NULL),		\
		.id	= _way,							\
		.offset	= offsetof(struct litepcie_way, _field),		\
	}

COUNT_ATTRIBUTE(h2c_buffers, LITEPCIE_WAY_H2C, hw_count);
COUNT_ATTRIBUTE(c2h_buffers, LITEPCIE_WAY_C2H, hw_count);
COUNT_ATTRIBUTE(h2c_interrupts, LITEPCIE_WAY_H2C, interrupts);
COUNT_ATTRIBUTE(c2h_interrupts, LITEPCIE_WAY_C2H, interrupts);
COUNT_ATTRIBUTE(h2c_lost, LITEPCIE_WAY_H2C, lost);
COUNT_ATTRIBUTE(c2h_lost, LITEPCIE_WAY_C2H, lost);
COUNT_ATTRIBUTE(h2c_unsent, LITEPCIE_WAY_H2C, unsent);
COUNT_ATTRIBUTE(h2c_interrupts_missed, LITEPCIE_WAY_H2C, missed);
COUNT_ATTRIBUTE(c2h_interrupts_missed, LITEPCIE_WAY_C2H, missed);

static struct attribute *litepcie_attrs[] = {
	&dev_attr_target.attr,
	&dev_attr_source.attr,
	&dev_attr_h2c_run.attr,
	&dev_attr_c2h_run.attr,
	&count_h2c_buffers.attr.attr,
	&count_c2h_buffers.attr.attr,
	&count_h2c_interrupts.attr.attr,
	&count_c2h_interrupts.attr.attr,
	&count_h2c_lost.attr.attr,
	&count_c2h_lost.attr.attr,
	&count_h2c_unsent.attr.attr,
	&count_h2c_interrupts_missed.attr.attr,
	&count_c2h_interrupts_missed.attr.attr,
	NULL
};

static const struct attribute_group litepcie_group = {
	.attrs = litepcie_attrs,
};

const struct attribute_group *litepcie_groups[] = {
	&litepcie_group,
	NULL
};
