/* The words of the contracts, both ways, from their lists. */
#include <math.h>
#include <string.h>

#include "assay/finding.h"
#include "assay/reading.h"

#define X(name, text) text,
static const char *const subject_kinds[] = {SUBJECT_LIST(X)};
static const char *const outcomes[] = {OUTCOME_LIST(X)};
static const char *const origins[] = {ORIGIN_LIST(X)};
static const char *const betters[] = {BETTER_LIST(X)};
static const char *const stats[] = {STAT_LIST(X)};
static const char *const verdicts[] = {VERDICT_LIST(X)};
static const char *const culprit_kinds[] = {CULPRIT_LIST(X)};
static const char *const culprit_ways[] = {CULPRIT_WAY_LIST(X)};
#undef X
static const char *const overalls[] = {"ACCEPT", "REJECT", "INCOMPLETE"};

#define COUNT(list) (int)(sizeof(list) / sizeof(*(list)))

static const char *word(const char *const *list, int count, int index)
{
	return index >= 0 && index < count ? list[index] : "?";
}

static int find(const char *const *list, int count, const char *name)
{
	for (int i = 0; name && i < count; i++)
		if (strcmp(list[i], name) == 0)
			return i;
	return -1;
}

/* Defines TYPE_name() and TYPE_parse() for a list. */
#define WORDS(type, tag, list)                                                                     \
	const char *type##_name(enum tag x)                                                        \
	{                                                                                          \
		return word(list, COUNT(list), (int)x);                                            \
	}                                                                                          \
	bool type##_parse(const char *name, enum tag *x)                                           \
	{                                                                                          \
		int i = find(list, COUNT(list), name);                                             \
                                                                                                   \
		if (i < 0)                                                                         \
			return false;                                                              \
		*x = (enum tag)i;                                                                  \
		return true;                                                                       \
	}

WORDS(subject_kind, subject_kind, subject_kinds)
WORDS(outcome, outcome, outcomes)
WORDS(origin, origin, origins)
WORDS(better, better, betters)
WORDS(stat, stat_id, stats)
WORDS(verdict, verdict, verdicts)

const char *overall_name(enum overall overall)
{
	return word(overalls, COUNT(overalls), (int)overall);
}

const char *culprit_kind_name(enum culprit_kind kind)
{
	return word(culprit_kinds, COUNT(culprit_kinds), (int)kind);
}

const char *culprit_way_name(enum culprit_way way)
{
	return word(culprit_ways, COUNT(culprit_ways), (int)way);
}

struct reading reading_init(void)
{
	struct reading r = {.attempt = 1, .subject = {.index = -1}};

	for (int i = 0; i < STATS; i++)
		r.stats[i] = NAN;
	return r;
}
