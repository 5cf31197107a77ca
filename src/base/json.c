/* JSON in: cJSON does the parsing; this file adds what a person needs when a
 * file is wrong (file:line:column) and refuses what cJSON lets through
 * (duplicate keys, infinite numbers, trailing text). Places are found by
 * walking the source text again, only when something is to be reported. */
#include "base/json.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/unit.h"

/* In memory a document is up to 32 times its text. */
#define JSON_FILE_LIMIT ((size_t)64 << 20)

/* Overwrites comments with spaces so that every place stays where it was. */
static void blank_comments(char *text, size_t len)
{
	bool string = false;

	for (size_t i = 0; i < len; i++) {
		if (string) {
			if (text[i] == '\\')
				i++;
			else if (text[i] == '"')
				string = false;
		} else if (text[i] == '"') {
			string = true;
		} else if (text[i] == '/' && i + 1 < len && text[i + 1] == '/') {
			while (i < len && text[i] != '\n')
				text[i++] = ' ';
		} else if (text[i] == '/' && i + 1 < len && text[i + 1] == '*') {
			text[i] = text[i + 1] = ' ';
			for (i += 2;
			     i < len && !(text[i] == '*' && i + 1 < len && text[i + 1] == '/'); i++)
				if (text[i] != '\n')
					text[i] = ' ';
			if (i + 1 < len)
				text[i] = text[i + 1] = ' ';
		}
	}
}

void json_line_column(const char *text, size_t offset, int *line, int *column)
{
	*line = *column = 1;
	for (size_t i = 0; i < offset && text[i]; i++) {
		if (text[i] == '\n') {
			(*line)++;
			*column = 1;
		} else {
			(*column)++;
		}
	}
}

static const char *place_at(const struct json_doc *doc, size_t offset)
{
	int line, column;

	json_line_column(doc->text, offset, &line, &column);
	return tmpf("%s:%d:%d", doc->name, line, column);
}

/* --- walking the source ------------------------------------------------- */

static const char *skip_space(const char *p)
{
	while (*p && (unsigned char)*p <= ' ')
		p++;
	return p;
}

static const char *skip_string(const char *p)
{
	for (p++; *p && *p != '"'; p++)
		if (*p == '\\' && p[1])
			p++;
	return *p ? p + 1 : p;
}

/* Finds where `wanted` stands in the text of the (valid) value at p. Returns
 * the end of the value; *found is set when met. */
static const char *walk(const char *p, const cJSON *node, const cJSON *wanted, const char *key,
                        const char **found)
{
	bool object = cJSON_IsObject(node);

	p = skip_space(p);
	if (node == wanted)
		*found = key ? key : p;
	if (!object && !cJSON_IsArray(node)) {
		if (*p == '"')
			return skip_string(p);
		while (*p && !strchr(",]} \t\r\n", *p))
			p++;
		return p;
	}
	p++;
	for (const cJSON *child = node->child; child && !*found; child = child->next) {
		const char *at = p = skip_space(p);

		if (object) {
			p = skip_space(skip_string(p));
			p++; /* the colon */
		}
		p = skip_space(walk(p, child, wanted, object ? at : NULL, found));
		p++; /* comma or closing bracket */
	}
	return node->child ? p : skip_space(p) + 1;
}

const char *json_place(const struct json_doc *doc, const cJSON *node)
{
	const char *found = NULL;

	walk(doc->text, doc->root, node, NULL, &found);
	return place_at(doc, found ? (size_t)(found - doc->text) : 0);
}

/* --- checks cJSON leaves out -------------------------------------------- */

/* Documents read here are configuration-sized objects; sorting would cost more
 * code than it saves. */
static enum status check_keys(const struct json_doc *doc, const cJSON *object, struct error *err)
{
	for (const cJSON *a = object->child; a; a = a->next)
		for (const cJSON *b = a->next; b; b = b->next)
			if (strcmp(a->string, b->string) == 0)
				return error_set(err, ST_PARSE, MSG_json_duplicate,
				                 json_place(doc, b), b->string);
	return ST_OK;
}

static enum status check(const struct json_doc *doc, const cJSON *node, int flags,
                         struct error *err)
{
	enum status st = ST_OK;

	if (cJSON_IsNumber(node) && !isfinite(node->valuedouble))
		return error_set(err, ST_RANGE, MSG_json_number, json_place(doc, node));
	if (cJSON_IsObject(node) && !(flags & JSON_DUPLICATES))
		st = check_keys(doc, node, err);
	for (const cJSON *c = node->child; c && st == ST_OK; c = c->next)
		st = check(doc, c, flags, err);
	return st;
}

/* Of the first byte that is no UTF-8; len: none. */
static size_t find_foreign(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		int n = utf8_len(text + at, text + len);

		if (!n)
			break;
		at += (size_t)n;
	}
	return at;
}

enum status json_parse(struct json_doc *doc, const char *name, const char *text, size_t len,
                       int flags, struct error *err)
{
	const char *end = NULL;
	size_t foreign = flags & JSON_COMMENTS ? find_foreign(text, len) : len;
	enum status st;

	*doc = (struct json_doc){.len = len};
	doc->name = strdup(name);
	doc->text = malloc(len + 1);
	if (!doc->name || !doc->text)
		die_nomem();
	memcpy(doc->text, text, len);
	doc->text[len] = '\0';
	if (foreign < len) {
		st = error_set(err, ST_PARSE, MSG_json_utf8, place_at(doc, foreign));
		goto fail;
	}
	if (memchr(text, '\0', len)) {
		st = error_set(err, ST_PARSE, MSG_json_nul, place_at(doc, strlen(doc->text)));
		goto fail;
	}
	if (flags & JSON_COMMENTS)
		blank_comments(doc->text, len);
	if (!*skip_space(doc->text)) {
		st = error_set(err, ST_PARSE, MSG_json_empty, name);
		goto fail;
	}
	doc->root = cJSON_ParseWithLengthOpts(doc->text, len + 1, &end, false);
	if (!doc->root) {
		st = error_set(err, ST_PARSE, MSG_json_syntax,
		               place_at(doc, end ? (size_t)(end - doc->text) : 0));
		goto fail;
	}
	if (*skip_space(end)) {
		st = error_set(err, ST_PARSE, MSG_json_trailing,
		               place_at(doc, (size_t)(skip_space(end) - doc->text)));
		goto fail;
	}
	st = check(doc, doc->root, flags, err);
	if (st == ST_OK)
		return ST_OK;
fail:
	json_release(doc);
	return st;
}

enum status json_load(struct json_doc *doc, const char *path, int flags, struct error *err)
{
	struct str text = {0};
	enum status st;

	*doc = (struct json_doc){0};
	st = file_read(&text, path, JSON_FILE_LIMIT, err);
	if (st == ST_OK)
		st = json_parse(doc, path, str_text(&text), text.len, flags, err);
	str_release(&text);
	return st;
}

void json_release(struct json_doc *doc)
{
	cJSON_Delete(doc->root);
	free(doc->name);
	free(doc->text);
	*doc = (struct json_doc){0};
}

/* --- typed access ------------------------------------------------------- */

const char *json_string(const cJSON *object, const char *key, const char *fallback)
{
	const cJSON *n = json_get(object, key);

	return cJSON_IsString(n) ? n->valuestring : fallback;
}

double json_number(const cJSON *object, const char *key, double fallback)
{
	const cJSON *n = json_get(object, key);

	return cJSON_IsNumber(n) ? n->valuedouble : fallback;
}

bool json_bool(const cJSON *object, const char *key, bool fallback)
{
	const cJSON *n = json_get(object, key);

	return cJSON_IsBool(n) ? cJSON_IsTrue(n) : fallback;
}

int64_t json_int64(const cJSON *object, const char *key, int64_t fallback)
{
	const cJSON *n = json_get(object, key);
	int64_t value;

	if (cJSON_IsString(n) && parse_int64(n->valuestring, &value))
		return value;
	if (!cJSON_IsNumber(n) || fabs(n->valuedouble) > 9007199254740992.0 ||
	    n->valuedouble != floor(n->valuedouble))
		return fallback;
	return (int64_t)n->valuedouble;
}

int json_int(const cJSON *object, const char *key, int fallback)
{
	int64_t value = json_int64(object, key, fallback);

	return value >= INT_MIN && value <= INT_MAX ? (int)value : fallback;
}
