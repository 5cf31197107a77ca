/* JSON: parsing is cJSON's, with places (file:line:column) for errors and
 * with comments allowed where asked for; writing is a small streaming writer
 * that escapes, keeps UTF-8 valid and never prints NaN or infinity.
 *
 * The process stays in the C numeric locale: cJSON reads and prints numbers
 * with the locale's decimal point. */
#ifndef ASSAY_BASE_JSON_H
#define ASSAY_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* A parsed document with its source text, kept so that any node can be
 * located in it. Release with json_release. */
struct json_doc {
	cJSON *root;
	char *name; /* file name used in messages */
	char *text; /* comments blanked out, same length as the source */
	size_t len;
};

enum json_flags {
	JSON_STRICT = 0,
	JSON_COMMENTS = 1,   /* written by people: // and block comments, and UTF-8 throughout */
	JSON_DUPLICATES = 2, /* a key twice in an object is let pass: foreign output */
};

/* Parses `len` bytes; `name` is only for messages. Trailing text, duplicate
 * keys, numbers that overflow to infinity and NUL bytes are errors. */
enum status json_parse(struct json_doc *doc, const char *name, const char *text, size_t len,
                       int flags, struct error *err);
enum status json_load(struct json_doc *doc, const char *path, int flags, struct error *err);
void json_release(struct json_doc *doc);

/* "file:line:column" of a node of the document (short-lived text, as tmpf).
 * For an object member: where its key stands. */
const char *json_place(const struct json_doc *doc, const cJSON *node);

/* Line and column (from 1) of a byte offset. */
void json_line_column(const char *text, size_t offset, int *line, int *column);

/* Typed access. Missing or of another type: the fallback. */
const char *json_string(const cJSON *object, const char *key, const char *fallback);
double json_number(const cJSON *object, const char *key, double fallback);
bool json_bool(const cJSON *object, const char *key, bool fallback);
/* 64-bit counters: numbers up to 2^53, decimal strings beyond. */
int64_t json_int64(const cJSON *object, const char *key, int64_t fallback);
/* The same of what fits into an int. */
int json_int(const cJSON *object, const char *key, int fallback);
static inline const cJSON *json_get(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* --- writing ---------------------------------------------------------- */

/* A writer on a text buffer. With indent > 0 pretty-printed. Commas are the
 * writer's business. Keys are given with each member of an object and NULL
 * inside arrays. */
struct json_out {
	struct str *out;
	int indent;
	int depth;
	bool first;
};

struct json_out json_writer(struct str *out, int indent);
void json_object_begin(struct json_out *j, const char *key);
void json_object_end(struct json_out *j);
void json_array_begin(struct json_out *j, const char *key);
void json_array_end(struct json_out *j);
void json_put_string(struct json_out *j, const char *key, const char *value); /* NULL: null */
void json_put_number(struct json_out *j, const char *key, double value);      /* not finite: null */
void json_put_int(struct json_out *j, const char *key, int64_t value);        /* > 2^53: string */
void json_put_bool(struct json_out *j, const char *key, bool value);
void json_put_null(struct json_out *j, const char *key);
/* Text that is already JSON. */
void json_put_raw(struct json_out *j, const char *key, const char *json);

/* Adds a quoted, escaped JSON string; invalid UTF-8 becomes U+FFFD. */
void json_quote(struct str *out, const char *text, size_t len);
/* The shortest decimal form that reads back as the same double. */
void json_number_text(struct str *out, double value);

#endif
