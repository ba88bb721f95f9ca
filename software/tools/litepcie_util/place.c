/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Access the place that peek and poke name. place.h says what each function promises. */
#include "place.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

bool place_width(const struct util_option *option, const char *text)
{
	uint64_t *bytes = option->to;

	return util_parse_number(text, 4, 8, bytes) && *bytes % 4 == 0;
}

void place_emit(const struct emit *out, const struct place *place)
{
	emit_string(out, "register", NULL, emit_filled(place->name));
	emit_unsigned(out, "bar", NULL, place->bar);
	emit_unsigned(out, "offset_bytes", NULL, place->offset);
	emit_unsigned(out, "size_bytes", NULL, place->size);
}

static bool find_offset(struct util *util, struct place *place)
{
	unsigned int bar = (unsigned int)place->bar;
	uint64_t bytes = litepcie_bar_size(util->dev, bar);

	if (!place->size)
		place->size = 4;
	if (place->offset % place->size)
		util_fail(util, "0x%llx is not a multiple of the access's %u bytes",
			  (unsigned long long)place->offset, (unsigned int)place->size);
	else if (!bytes)
		util_fail(util, "BAR%u cannot be reached: the card has none there, or this way to "
			  "it has not", bar);
	else if (place->offset + place->size > bytes)
		util_fail(util, "0x%llx is behind the end of BAR%u, which has 0x%llx bytes",
			  (unsigned long long)place->offset, bar, (unsigned long long)bytes);
	return !util->failed;
}

static bool find_name(struct util *util, struct place *place)
{
	struct litepcie_register found = { .struct_size = sizeof(found) };
	const char *csr = util_csr(place->csr);
	int rc = csr ? litepcie_csr_load(util->dev, csr) : 0;

	if (rc == 0)
		rc = litepcie_register_find(util->dev, place->text, &found);
	util_check(util, rc, place->text);
	if (rc < 0)
		return false;
	snprintf(place->name, sizeof(place->name), "%s", found.name);
	place->offset = found.offset;
	place->size = 4 * found.words;
	return true;
}

bool place_find(struct util *util, struct place *place)
{
	if (isdigit((unsigned char)place->text[0])) {
		if (!util_parse_number(place->text, 0, UINT32_MAX, &place->offset)) {
			util_fail(util, "%s is not an offset", place->text);
			return false;
		}
		return find_offset(util, place);
	}
	return find_name(util, place);
}

int place_read(struct util *util, const struct place *place, uint64_t *value)
{
	int rc;

	*value = 0;
	if (place->name[0])
		return litepcie_register_read(util->dev, place->name, value);
	rc = litepcie_bar_read(util->dev, (unsigned int)place->bar, place->offset, value,
			       place->size);
	return rc > 0 ? 0 : rc;
}

int place_write(struct util *util, const struct place *place, uint64_t value)
{
	int rc;

	if (place->name[0])
		return litepcie_register_write(util->dev, place->name, value);
	rc = litepcie_bar_write(util->dev, (unsigned int)place->bar, place->offset, &value,
				place->size);
	return rc > 0 ? 0 : rc;
}
