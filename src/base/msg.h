/* The message catalogue: every text a person reads has an id here, so it can
 * be said in another language. Each part of Assay keeps its own list in
 * base/messages/PART.def, rows of
 *
 *     MSG(id_in_lower_case, "English with {1} and {2} as arguments")
 *
 * Arguments are strings; numbers are formatted by the caller (tmpf, unit.h).
 * A reading's reason stores id and arguments, so it can be said again later.
 *
 * To add a text: one row in the list of the part that says it. */
#ifndef ASSAY_BASE_MSG_H
#define ASSAY_BASE_MSG_H

#include "assay/message.h"
#include "base/str.h"

/* The text with its placeholders, in the current language. */
const char *msg_format(enum msg id);
/* The id as a word ("no_driver"), the form used in JSON. */
const char *msg_name(enum msg id);
/* Looks an id up by its word; false if there is none. */
bool msg_parse(const char *name, enum msg *id);

/* Adds the message with its arguments; args ends with NULL. A missing
 * argument is written as "?" (the test of the catalogue finds such calls). */
void msg_add_list(struct str *out, enum msg id, const char *const *args);
#define msg_add(out, id, ...)                                                                      \
	msg_add_list(out, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* A short-lived text, valid until 16 later calls of tmpf or say. */
const char *say_list(enum msg id, const char *const *args);
#define say(id, ...) say_list(id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* Number of distinct placeholders in a text: the highest {n}. */
int msg_arity(const char *text);

#endif
