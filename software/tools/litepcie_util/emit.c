/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Print a result as text or as JSON. emit.h says what each function promises. */
#include "emit.h"

#include <math.h>
#include <stdarg.h>

/* Writing JSON -------------------------------------------------------------------------------- */

/*
 * Write the text that stands before a JSON value. Inside an object or array the text is a comma, if
 * the value is not the first one there, then a line break and the indentation. The key follows, if
 * @key is neither NULL nor empty.
 */
static void begin_value(struct json *json, const char *key)
{
	if (json->depth)
		fprintf(json->file, "%s\n%*s", json->filled ? "," : "", 2 * json->depth, "");
	if (key && *key)
		fprintf(json->file, "\"%s\": ", key);
	json->filled = true;
}

static void begin(struct json *json, const char *key, char bracket)
{
	if (!json)
		return;
	begin_value(json, key);
	fputc(bracket, json->file);
	json->depth++;
	json->filled = false;
}

static void end(struct json *json, char bracket)
{
	if (!json)
		return;
	json->depth--;
	if (json->filled)
		fprintf(json->file, "\n%*s", 2 * json->depth, "");
	fputc(bracket, json->file);
	json->filled = true;
	if (!json->depth)
		fputc('\n', json->file);
}

static void write_escaped(FILE *file, const char *value)
{
	for (const char *p = value; *p; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\')
			fprintf(file, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(file, "\\u%04x", c);
		else
			fputc(c, file);
	}
}

/*
 * Begin the JSON value @key. Returns the file to which the value is to be written. If the output is
 * text or @key is NULL, nothing is written, and the result is NULL.
 */
static FILE *value_of(const struct emit *emit, const char *key)
{
	if (!emit->json || !key)
		return NULL;
	begin_value(emit->json, key);
	return emit->json->file;
}

/* Values as text and as JSON ------------------------------------------------------------------ */

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
	FILE *file = value_of(emit, key);

	if (file && value) {
		fputc('"', file);
		write_escaped(file, value);
		fputc('"', file);
	} else if (file) {
		fputs("null", file);
	} else if (!emit->json && format && value) {
		printf(format, value);
	}
}

void emit_unsigned(const struct emit *emit, const char *key, const char *format, uint64_t value)
{
	FILE *file = value_of(emit, key);

	if (file)
		fprintf(file, "%llu", (unsigned long long)value);
	else if (!emit->json && format)
		printf(format, (unsigned long long)value);
}

void emit_number(const struct emit *emit, const char *key, const char *format, double value)
{
	FILE *file = value_of(emit, key);

	if (file && isfinite(value))
		fprintf(file, "%.9g", value);
	else if (file)
		fputs("null", file);
	else if (!emit->json && format && isfinite(value))
		printf(format, value);
}

void emit_bool(const struct emit *emit, const char *key, bool value)
{
	FILE *file = value_of(emit, key);

	if (file)
		fputs(value ? "true" : "false", file);
}

void emit_null(const struct emit *emit, const char *key)
{
	emit_string(emit, key, NULL, NULL);
}

void emit_known(const struct emit *emit, const char *key, int64_t value)
{
	if (value < 0)
		emit_null(emit, key);
	else
		emit_unsigned(emit, key, NULL, (uint64_t)value);
}

void emit_object(const struct emit *emit, const char *key)
{
	begin(emit->json, key, '{');
}

bool emit_object_if(const struct emit *emit, const char *key, bool known)
{
	if (known)
		emit_object(emit, key);
	else
		emit_null(emit, key);
	return known;
}

void emit_object_end(const struct emit *emit)
{
	end(emit->json, '}');
}

void emit_array(const struct emit *emit, const char *key)
{
	begin(emit->json, key, '[');
}

void emit_array_end(const struct emit *emit)
{
	end(emit->json, ']');
}

const char *emit_filled(const char *text)
{
	return *text ? text : NULL;
}
