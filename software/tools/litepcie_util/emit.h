/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Print the result of a command, as text or as JSON. emit_string(), emit_unsigned() and
 * emit_number() serve both outputs: the caller gives a value, the key of the value in JSON, and the
 * format by which the value is printed as text. Each of the other functions that print serves only
 * one of the two outputs.
 *
 * A string or number with a NULL key is left out of JSON, and one with a NULL format is left out of
 * the text. A NULL string and a number that is not finite are null in JSON, and are left out of the
 * text. Strings are escaped in JSON. Keys must not contain characters that need escaping.
 */
#ifndef LITEPCIE_UTIL_EMIT_H
#define LITEPCIE_UTIL_EMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct util;

/* The state of the JSON text that is being written. Initially all members but @file are zero. */
struct json {
	FILE	*file;
	int	depth;		/* number of objects and arrays that have begun, but not ended */
	bool	filled;		/* true: the innermost open object or array has an element */
};

struct emit {
	const struct util	*util;
	struct json		*json;	/* state of the JSON text; NULL: the output is text */
};

/* The key of a JSON string or number that is an element of an array, and so has no name. */
#define EMIT_ELEMENT	""

/* If the output is text, print the arguments by @format as printf() does. JSON gets nothing. */
__attribute__((format(printf, 2, 3)))
void emit_text(const struct emit *emit, const char *format, ...);

/*
 * Print a value as text or as JSON. The text's @format has one conversion of printf(): %s for
 * emit_string(), %llu for emit_unsigned(), and one for a double, such as %f, for emit_number().
 */
void emit_string(const struct emit *emit, const char *key, const char *format, const char *value);
void emit_unsigned(const struct emit *emit, const char *key, const char *format, uint64_t value);
void emit_number(const struct emit *emit, const char *key, const char *format, double value);

/* Write true or false to JSON only. The caller may print the value as text by emit_text(). */
void emit_bool(const struct emit *emit, const char *key, bool value);
/* Write a number to JSON only. A negative @value means "not known" and is written as null. */
void emit_known(const struct emit *emit, const char *key, int64_t value);
void emit_null(const struct emit *emit, const char *key);

/*
 * emit_object() and emit_array() begin an object or an array of JSON. emit_object_end() and
 * emit_array_end() end the one that was begun last. Text gets nothing. With a NULL key the object
 * or array is an element of an array, or the whole JSON text.
 */
void emit_object(const struct emit *emit, const char *key);
/*
 * If @known is true, begin the JSON object @key. Otherwise write null for @key. Text gets nothing.
 * Returns @known. If that is true, emit_object_end() must follow, otherwise it must not.
 */
bool emit_object_if(const struct emit *emit, const char *key, bool known);
void emit_object_end(const struct emit *emit);
void emit_array(const struct emit *emit, const char *key);
void emit_array_end(const struct emit *emit);

/* Returns @text, or NULL if @text is empty, so that an empty string becomes null in JSON. */
const char *emit_filled(const char *text);

#endif /* LITEPCIE_UTIL_EMIT_H */
