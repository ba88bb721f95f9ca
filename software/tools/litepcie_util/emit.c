/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Print a result as text or as JSON. emit.h says what each function promises. */
#include "emit.h"

#include <stdarg.h>
#include <stdio.h>

#include "json.h"

void emit_text(const struct emit *emit, const char *format, ...)
{
	va_list args;

	if (emit->json)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

void emit_string(const struct emit *emit, const char *key, const char *format, const char *value)
{
	if (emit->json && key)
		json_string(emit->json, key, value);
	else if (!emit->json && format)
		printf(format, value);
}

void emit_unsigned(const struct emit *emit, const char *key, const char *format, uint64_t value)
{
	if (emit->json && key)
		json_unsigned(emit->json, key, value);
	else if (!emit->json && format)
		printf(format, (unsigned long long)value);
}

void emit_number(const struct emit *emit, const char *key, const char *format, double value)
{
	if (emit->json && key)
		json_number(emit->json, key, value);
	else if (!emit->json && format)
		printf(format, value);
}

void emit_bool(const struct emit *emit, const char *key, bool value)
{
	if (emit->json)
		json_bool(emit->json, key, value);
}

void emit_known(const struct emit *emit, const char *key, int64_t value)
{
	if (value < 0)
		emit_null(emit, key);
	else
		emit_unsigned(emit, key, NULL, (uint64_t)value);
}

void emit_null(const struct emit *emit, const char *key)
{
	if (emit->json)
		json_null(emit->json, key);
}

void emit_object(const struct emit *emit, const char *key)
{
	if (emit->json)
		json_begin_object(emit->json, key);
}

void emit_object_end(const struct emit *emit)
{
	if (emit->json)
		json_end_object(emit->json);
}

void emit_array(const struct emit *emit, const char *key)
{
	if (emit->json)
		json_begin_array(emit->json, key);
}

void emit_array_end(const struct emit *emit)
{
	if (emit->json)
		json_end_array(emit->json);
}

const char *emit_filled(const char *text)
{
	return *text ? text : NULL;
}
