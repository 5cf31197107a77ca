/* A node of stand-ins looked at by the real inventory: the node file, the /proc
 * and /sys that belong to it, the probe in a child of its own as the coordinator
 * would start it, and its readings judged by a profile. */
#ifndef ASSAY_TESTS_INVENTORY_KIT_H
#define ASSAY_TESTS_INVENTORY_KIT_H

#include "tests/unit/config_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coord/worker.h"
#include "run/journal.h"
#include "tests/cleanup.h"

/* What a test wants to have different. */
struct look {
	const char *faults;      /* members of the JSON array */
	const char *more;        /* members of the node, with a trailing comma */
	const char *cards;       /* of the node; NULL: four a100-sxm4-80gb */
	const char *visible;     /* CUDA_VISIBLE_DEVICES */
	const char *kmsg;        /* kernel log */
	const char *libraries;   /* folder of the doubles: lib, old */
	const char *files[8][2]; /* path and text, written over the tree */
	const char *remove;      /* folder of the tree that is taken away */
	double deadline_s;       /* of the child; 0: 60 */
	bool hangs;              /* and is ended */
	const char *hang_s;      /* the parameter; NULL: as it is */
};

struct seen {
	struct arena arena;
	char root[40];
	struct rundir run;
	struct scorecard card;
	struct profile *profile;
	int status; /* of the child */
};

static inline void kit_put(struct seen *s, const char *path, const char *text)
{
	char *full = arena_strf(&s->arena, "%s/tree%s", s->root, path), *slash = strrchr(full, '/');
	FILE *f;

	*slash = '\0';
	assert_int_equal(dir_make(full, NULL), ST_OK);
	*slash = '/';
	f = fopen(full, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static inline void kit_make_node(struct seen *s, const struct look *look)
{
	const char *cards = look->cards ? look->cards : "{\"model\":\"a100-sxm4-80gb\"}";
	FILE *f;

	strcpy(s->root, "/tmp/assay-inventory-XXXXXX");
	assert_non_null(mkdtemp(s->root));
	f = fopen(tmpf("%s/node.json", s->root), "w");
	assert_non_null(f);
	fprintf(f, "{%s%s\"cards\":[%s],\"faults\":[%s]}", look->more ? look->more : "",
	        look->cards ? "" : "\"count\":4,", cards, look->faults ? look->faults : "");
	assert_int_equal(fclose(f), 0);
	setenv("ASSAY_STANDIN", tmpf("%s/node.json", s->root), 1);
	assert_int_equal(system(tmpf("%s/tests/standin/standin_tree %s/tree", BINARY_DIR, s->root)),
	                 0);
	if (look->kmsg)
		kit_put(s, "/dev/kmsg", look->kmsg);
	for (int i = 0; look->files[i][0]; i++)
		kit_put(s, look->files[i][0], look->files[i][1]);
	if (look->remove)
		assert_int_equal(dir_remove(tmpf("%s/tree%s", s->root, look->remove), NULL), ST_OK);
}

static inline _Noreturn void kit_child(const struct seen *s, const struct look *look)
{
	int in = open(tmpf("%s/request", s->root), O_RDONLY);
	int out = open(tmpf("%s/lines", s->root), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (look->visible)
		setenv("CUDA_VISIBLE_DEVICES", look->visible, 1);
	else
		unsetenv("CUDA_VISIBLE_DEVICES");
	if (look->hangs)
		alarm(2);
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, WORKER_CHANNEL) < 0)
		_exit(98);
	_exit(worker_main(probe_table));
}

static inline void kit_take_lines(struct seen *s)
{
	struct str text = {0};
	char *rest, *line;
	size_t most = 1;

	assert_int_equal(file_read(&text, tmpf("%s/lines", s->root), 1 << 24, NULL), ST_OK);
	for (const char *p = str_text(&text); (p = strchr(p, '\n')); p++)
		most++;
	s->run.readings = arena_array(&s->arena, most, sizeof(*s->run.readings));
	rest = arena_str(&s->arena, str_text(&text));
	while ((line = strsep(&rest, "\n"))) {
		struct reading *r = &s->run.readings[s->run.n_readings];
		const char *why = NULL;

		if (!str_starts(line, "{\"v\":"))
			continue;
		if (reading_parse(r, &s->arena, line, strlen(line), &why) != ST_OK)
			fail_msg("%s: %s", why, line);
		r->seq = ++s->run.n_readings;
	}
	str_release(&text);
}

static inline struct seen *look_at(struct look look)
{
	struct seen *s = calloc(1, sizeof(*s));
	const char *libraries = look.libraries ? look.libraries : "lib";
	FILE *f;
	pid_t pid;

	assert_non_null(s);
	kit_make_node(s, &look);
	f = fopen(tmpf("%s/request", s->root), "w");
	assert_non_null(f);
	fprintf(f,
	        "{\"probe\":\"inventory\",\"node\":\"n001\",\"work\":\"5f0c5f0c5f0c\",\"budget\":1,"
	        "\"deadline_s\":%g,\"lib_dir\":\"%s/tests/standin/%s\",\"sys_root\":\"%s/tree\","
	        "\"params\":{%s}}\n",
	        look.deadline_s > 0 ? look.deadline_s : 60, BINARY_DIR, libraries, s->root,
	        look.hang_s ? tmpf("\"hang_s\":\"%s\"", look.hang_s) : "");
	assert_int_equal(fclose(f), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		kit_child(s, &look);
	assert_int_equal(waitpid(pid, &s->status, 0), pid);
	kit_take_lines(s);
	return s;
}

/* Judges the readings by the profile, with that many cards expected. */
static inline void judge(struct seen *s, const char *profile, int64_t cards)
{
	struct error err = {0};

	s->run.info = (struct run_info){
		.created = "2026-12-02T03:00:00.000Z",
		.version = "0.1.0",
		.budget = "standard",
		.expected_nodes = 1,
		.expected_cards = cards,
	};
	s->run.ended = "2026-12-02T03:10:00.000Z";
	s->run.digest = "d";
	if (profile_load(&s->profile, profile, CONFIGS, &metrics, &err) != ST_OK ||
	    score_run(&s->card, &s->arena, &s->run, s->profile, &metrics,
	              &(struct score_options){0}, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
}

static inline void look_away(struct seen *s)
{
	if (s->profile)
		profile_free(s->profile);
	assert_int_equal(dir_remove(s->root, NULL), ST_OK);
	arena_release(&s->run.arena);
	arena_release(&s->arena);
	free(s);
}

/* --- asking ------------------------------------------------------------------------- */

static inline const struct reading *reading_of(const struct seen *s, const char *metric,
                                               const char *pci)
{
	const struct reading *found = NULL;

	for (int64_t i = 0; i < s->run.n_readings; i++) {
		const struct reading *r = &s->run.readings[i];

		if (strcmp(r->metric, metric) != 0 ||
		    (pci && (!r->subject.pci || strcmp(r->subject.pci, pci) != 0)))
			continue;
		if (found)
			fail_msg("%s of %s: twice", metric, pci ? pci : "any");
		found = r;
	}
	if (!found)
		fail_msg("%s of %s: no reading", metric, pci ? pci : "any");
	return found;
}

static inline double value_of(const struct seen *s, const char *metric, const char *pci)
{
	const struct reading *r = reading_of(s, metric, pci);

	if (r->outcome != OUTCOME_MEASURED)
		fail_msg("%s: %s, %s", metric, outcome_name(r->outcome), r->reason.text);
	assert_int_equal(r->value_kind, VALUE_NUMBER);
	return r->value;
}

static inline const char *text_of(const struct seen *s, const char *metric, const char *pci)
{
	const struct reading *r = reading_of(s, metric, pci);

	if (r->outcome != OUTCOME_MEASURED)
		fail_msg("%s: %s, %s", metric, outcome_name(r->outcome), r->reason.text);
	assert_int_equal(r->value_kind, VALUE_TEXT);
	return r->text;
}

static inline const struct reading *expect_not(const struct seen *s, const char *metric,
                                               const char *pci, enum outcome outcome,
                                               const char *code)
{
	const struct reading *r = reading_of(s, metric, pci);

	assert_string_equal(outcome_name(r->outcome), outcome_name(outcome));
	assert_string_equal(r->reason.code, code);
	return r;
}

/* A member of params, printed as JSON without blanks; "" when it is not there. */
static inline const char *param_of(struct seen *s, const struct reading *r, const char *key)
{
	struct json_doc doc;
	const cJSON *item;
	char *text;
	const char *kept = "";

	assert_int_equal(json_parse(&doc, "params", r->params, strlen(r->params), 0, NULL), ST_OK);
	item = json_get(doc.root, key);
	if (item) {
		text = cJSON_PrintUnformatted(item);
		kept = arena_str(&s->arena, text);
		free(text);
	}
	json_release(&doc);
	return kept;
}

/* The worst finding of a rule about a subject with this PCI address, or of the
 * rule when NULL. */
static inline const struct finding *finding_of(const struct seen *s, const char *rule,
                                               const char *pci)
{
	for (int64_t i = 0; i < s->card.n_findings; i++) {
		const struct finding *f = &s->card.findings[i];

		if (strcmp(f->rule->id, rule) == 0 &&
		    (!pci || (f->subject.pci && strcmp(f->subject.pci, pci) == 0)))
			return f;
	}
	fail_msg("no finding of %s about %s", rule, pci ? pci : "anything");
	return NULL;
}

/* Verdict of a rule about one card, and that no other card has this verdict. */
static inline void expect_finding(const struct seen *s, const char *rule, const char *pci,
                                  const char *verdict)
{
	assert_string_equal(verdict_name(finding_of(s, rule, pci)->verdict), verdict);
	for (int64_t i = 0; pci && i < s->card.n_findings; i++) {
		const struct finding *f = &s->card.findings[i];

		if (strcmp(f->rule->id, rule) == 0 && f->verdict == VERDICT_FAIL &&
		    (!f->subject.pci || strcmp(f->subject.pci, pci) != 0))
			fail_msg("%s blames %s too", rule, f->subject.id);
	}
}

#endif
