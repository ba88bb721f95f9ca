/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Write one JSON object. Each call writes its part to the file at once, with commas and
 * indentation.
 *
 * Keys must need no escaping; string values are escaped. A NULL key writes an element of an array.
 * A NULL string or a number that is not finite is written as null.
 */
#ifndef LITEPCIE_UTIL_JSON_H
#define LITEPCIE_UTIL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE	*file;
	int	depth;
	/* true: the innermost open object or array already has an element, so a comma comes next */
	bool	filled;
};

void json_begin_object(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_begin_array(struct json *json, const char *key);
void json_end_array(struct json *json);

void json_string(struct json *json, const char *key, const char *value);
void json_unsigned(struct json *json, const char *key, uint64_t value);
/* Write a number. A value that is not finite is written as null. */
void json_number(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

#endif /* LITEPCIE_UTIL_JSON_H */
