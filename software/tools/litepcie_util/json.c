/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Write JSON. json.h says what each function promises. */
#include "json.h"

#include <math.h>

static void indent(struct json *json)
{
	fprintf(json->file, "%s\n%*s", json->filled ? "," : "", 2 * json->depth, "");
}

static void begin_value(struct json *json, const char *key)
{
	if (json->depth)
		indent(json);
	if (key)
		fprintf(json->file, "\"%s\": ", key);
	json->filled = true;
}

static void begin(struct json *json, const char *key, char bracket)
{
	begin_value(json, key);
	fputc(bracket, json->file);
	json->depth++;
	json->filled = false;
}

static void end(struct json *json, char bracket)
{
	json->depth--;
	if (json->filled)
		fprintf(json->file, "\n%*s", 2 * json->depth, "");
	fputc(bracket, json->file);
	json->filled = true;
	if (!json->depth)
		fputc('\n', json->file);
}

void json_begin_object(struct json *json, const char *key)
{
	begin(json, key, '{');
}

void json_end_object(struct json *json)
{
	end(json, '}');
}

void json_begin_array(struct json *json, const char *key)
{
	begin(json, key, '[');
}

void json_end_array(struct json *json)
{
	end(json, ']');
}

/*
 * Write a string with JSON's escapes. Bytes above 127 are written unchanged, so a path in UTF-8
 * stays UTF-8.
 */
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

void json_string(struct json *json, const char *key, const char *value)
{
	if (!value) {
		json_null(json, key);
		return;
	}
	begin_value(json, key);
	fputc('"', json->file);
	write_escaped(json->file, value);
	fputc('"', json->file);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	fprintf(json->file, "%llu", (unsigned long long)value);
}

void json_number(struct json *json, const char *key, double value)
{
	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	begin_value(json, key);
	fprintf(json->file, "%.9g", value);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->file);
}

void json_null(struct json *json, const char *key)
{
	begin_value(json, key);
	fputs("null", json->file);
}
