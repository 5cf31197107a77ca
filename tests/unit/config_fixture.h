/* What the tests of configs/ share: the tables, the metrics there are, and
 * loading of profiles, with a failed test for everything that does not load. */
#ifndef ASSAY_TESTS_CONFIG_FIXTURE_H
#define ASSAY_TESTS_CONFIG_FIXTURE_H

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/file.h"
#include "base/json.h"
#include "score/accel.h"
#include "score/profile_read.h"

#define CONFIGS SOURCE_DIR "/configs"
#define BASE    "thousand-card"

static const struct metric of_evidence[] = {
#define EVIDENCE(name, unit, better, subject, formula)                                             \
	{#name, unit, BETTER_##better, SUBJECT_##subject, BACKEND_EVIDENCE, formula},
#include "bench/evidence.def"
#undef EVIDENCE
	{0},
};

static const struct metric planned[] = {
#define PLANNED(name, unit, better, subject, backend, formula)                                     \
	{#name, unit, BETTER_##better, SUBJECT_##subject, BACKEND_##backend, formula},
#include "bench/planned.def"
#undef PLANNED
	{0},
};

static const struct metric *tables[64];
static const struct metric_set metrics = {tables, planned};
static struct csv accelerators, measured, claims;
static char **profiles;

static inline void config_csv(struct csv *csv, const char *name)
{
	struct str text = {0};
	struct error err = {0};

	if (file_read(&text, tmpf("%s/%s", CONFIGS, name), 1 << 20, &err) != ST_OK ||
	    csv_parse(csv, name, str_text(&text), text.len, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	assert_null(memchr(text.data, '\r', text.len));
	str_release(&text);
}

static inline int config_setup(void **state)
{
	(void)state;
	tables[0] = of_evidence;
	for (int i = 0; probe_table[i] && i < 62; i++)
		tables[i + 1] = probe_table[i]->metrics;
	config_csv(&accelerators, "accelerators.csv");
	config_csv(&measured, "measured.csv");
	config_csv(&claims, "guide-claims.csv");
	profiles = config_list(CONFIGS, "profiles", ".json");
	return 0;
}

static inline int config_teardown(void **state)
{
	(void)state;
	csv_release(&accelerators);
	csv_release(&measured);
	csv_release(&claims);
	config_list_free(profiles);
	return 0;
}

static inline struct profile *config_profile(const char *name)
{
	struct profile *p;
	struct error err = {0};

	if (profile_load(&p, name, CONFIGS, &metrics, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	return p;
}

static inline struct json_doc config_json(const char *path)
{
	struct json_doc doc;
	struct error err = {0};

	if (json_load(&doc, tmpf("%s/%s", CONFIGS, path), JSON_COMMENTS, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	return doc;
}

static inline struct json_doc config_parse(const char *text)
{
	struct json_doc doc;

	assert_int_equal(json_parse(&doc, "test", text, strlen(text), JSON_STRICT, NULL), ST_OK);
	return doc;
}

/* Copies the next word of *text, which ends at a blank or comma; false at the
 * end. */
static inline bool config_word(const char **text, struct str *word)
{
	size_t len;

	str_clear(word);
	*text += strspn(*text, " ,");
	len = strcspn(*text, " ,");
	str_addn(word, *text, len);
	*text += len;
	return len > 0;
}

static inline const struct rule *config_rule(const struct profile *p, const char *id)
{
	for (int i = 0; i < p->n_rules; i++)
		if (strcmp(p->rules[i].info.id, id) == 0)
			return &p->rules[i];
	return NULL;
}

#endif
