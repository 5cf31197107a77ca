/* Shared by the files that read profiles: members with the document they came
 * from, so that every complaint can say file:line:column. */
#ifndef ASSAY_SCORE_PROFILE_READ_H
#define ASSAY_SCORE_PROFILE_READ_H

#include "base/json.h"
#include "score/profile.h"

/* One member of an object, and where it stands. */
struct member {
	const char *key;
	const cJSON *node;
	const struct json_doc *doc;
};

/* A rule gathered over all files of the chain, nearest file last. */
struct draft {
	const char *id;
	struct member *members;
	int n_members;
	struct member own; /* the rule object in the nearest file, for places */
};

struct reader {
	struct profile *profile;
	const struct metric_set *metrics;
	struct error *err;
};

/* Typed values; a wrong type is an error at its place. Strings come from the
 * profile's arena. */
enum status member_text(const struct reader *r, const struct member *m, const char **out);
enum status member_number(const struct reader *r, const struct member *m, double min, double max,
                          double *out);
enum status member_count(const struct reader *r, const struct member *m, int64_t *out);
enum status member_bool(const struct reader *r, const struct member *m, bool *out);
/* One word of a NULL-terminated list; *out is its index. */
enum status member_word(const struct reader *r, const struct member *m, const char *const *words,
                        int *out);
enum status member_object(const struct reader *r, const struct member *m);
enum status member_array(const struct reader *r, const struct member *m);
/* "expected {what}" at the member. */
enum status member_type_error(const struct reader *r, const struct member *m, const char *what);
/* "unknown {what} "{word}"", with the nearest of the list or the whole list. */
enum status unknown_word(const struct reader *r, const struct member *m, const char *what,
                         const char *word, const char *const *words);
/* Every key of an object must be in the NULL-terminated list. */
enum status check_known_keys(const struct reader *r, const struct member *object,
                             const char *const *known);
/* A metric by name, or the nearest name offered. */
enum status member_metric(const struct reader *r, const struct member *m,
                          const struct metric **metric, bool *planned);
const char *const *metric_names(const struct reader *r);

/* Child of an object as a member; node NULL if absent. */
struct member member_child(const struct member *object, const char *key);
/* "file:line:column", short-lived. */
const char *member_place(const struct member *m);

/* rule.c */
extern const char *const rule_key_names[]; /* ends with NULL */
bool rule_key_is_limit(const char *key);
enum status rule_read(const struct reader *r, const struct draft *draft, struct rule *rule);
/* rule_limit.c: the members that hold limits. */
enum status limit_read(const struct reader *r, const struct member *m, struct rule *rule);
enum status warn_read(const struct reader *r, const struct member *m, struct rule *rule);
/* rule_check.c: rules against each other. */
enum status rules_check(const struct reader *r, const struct draft *drafts);

/* profile_digest.c: canonical text (keys sorted, no comments, shortest
 * numbers) of the merged profile and its card row. */
void profile_canonical(struct str *out, const struct profile *p, const struct member *top,
                       int n_top, const struct draft *drafts, int n_drafts);

#endif
