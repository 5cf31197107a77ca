/* The message catalogue: every text a person reads has an id here, so it can
 * be said in another language. Each part of Assay keeps its own list in
 * base/messages/PART.def, rows of
 *
 *     MSG(id_in_lower_case, "English with {1} and {2} as arguments")
 *
 * and its translation in base/messages/zh/PART.def, rows of ZH(id, "...") with
 * the same placeholders in any order. Arguments are strings; numbers are
 * formatted by the caller (tmpf, unit.h).
 *
 * To add a text: one row in the list of the part that says it, and one in zh/.
 *
 * English is the language in which everything is worked out, passed between
 * processes and stored: readings, scorecards, JSON and CSV do not depend on who
 * looked. What is printed for a person is said in the reader's language, which
 * the command line sets once at the start: it is spoken only where msg_speak
 * says so, in the thread that called it. Child processes never
 * speak another language than English; their reasons and progress carry ids,
 * and what comes as a ready sentence is recognised by msg_again. */
#ifndef ASSAY_BASE_MSG_H
#define ASSAY_BASE_MSG_H

#include "assay/message.h"
#include "base/str.h"

enum language { LANGUAGE_EN, LANGUAGE_ZH, LANGUAGES };

/* What this thread speaks; returns what it spoke before. English at first. */
enum language msg_speak(enum language language);
enum language msg_spoken(void);
/* What the person at the terminal reads; set before any thread is started. */
void msg_set_reader(enum language language);
enum language msg_reader(void);

/* The text with its placeholders, in the language that is spoken. */
const char *msg_format(enum msg id);
/* In that language, or NULL where it has no such row. */
const char *msg_text(enum language language, enum msg id);
/* The id as a word ("no_driver"), the form used in JSON. */
const char *msg_name(enum msg id);
/* Looks an id up by its word; false if there is none. */
bool msg_parse(const char *name, enum msg *id);

/* Adds the message with its arguments; args ends with NULL. A missing
 * argument is written as "?" (the test of the catalogue finds such calls). */
void msg_add_list(struct str *out, enum msg id, const char *const *args);
#define msg_add(out, id, ...)                                                                      \
	msg_add_list(out, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* Says an English text in the language that is spoken: the message whose words
 * it has, its arguments likewise, or what follows a name and a colon. Names and
 * what was never a message stay as they are. */
void msg_again(struct str *out, const char *english);
/* A message of which only the arguments are English texts. */
void msg_add_again(struct str *out, enum msg id, const char *const *args);

/* A reason by its id and arguments in the language that is spoken; as recorded
 * where the catalogue does not know it (a run of another version). */
struct reason;
void reason_say(struct str *out, const struct reason *reason);

/* A short-lived text, valid until 16 later calls of tmpf or say. */
const char *say_list(enum msg id, const char *const *args);
#define say(id, ...) say_list(id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* Number of distinct placeholders in a text: the highest {n}. */
int msg_arity(const char *text);

#endif
