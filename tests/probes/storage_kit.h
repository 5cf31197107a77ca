/* What the tests of the storage probe share: a directory whose name fio would cut
 * to pieces if it were told it, and fios that misbehave. */
#ifndef ASSAY_TESTS_STORAGE_KIT_H
#define ASSAY_TESTS_STORAGE_KIT_H

#include "probe_harness.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "storage_data.h"
#include "tests/cleanup.h"

extern const struct probe probe_storage;

/* Every metric of a set, without its prefix; those of an operating point first. */
static const char *const names[] = {
	"storage_read_iops",
	"storage_read_lat_mean_ms",
	"storage_read_lat_p99_ms",
	"storage_read_lat_p999_ms",
	"storage_read_cv",
	"storage_read_worst_second",
	"storage_read_thirds",
	"storage_lat_depth1_us",
	"storage_read_iops_max",
	"storage_knee_depth",
	"storage_depth_below_1ms",
	"storage_offered_iops",
	"storage_limit",
	"storage_data_real",
	"storage_counter_ratio",
	"storage_cache_signs",
	"storage_burst_signs",
	"storage_signs",
	"storage_reduction",
	"storage_write_mbs",
	"storage_engine",
	"storage_direct",
	"storage_fs",
	"storage_shared",
};
enum { POINT_METRICS = 4, HELD_METRICS = 7, METRICS = sizeof(names) / sizeof(*names) };

/* --- a directory and an honest path for each test --------------------------------------------- */

struct place {
	struct harness h;
	char scratch[80], bin[80];
	char *path; /* PATH as it was */
};

static inline int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	strcpy(p->scratch, "/var/tmp/assay a:b#c;d,e=\"f'%g$h\\i XXXXXX");
	strcpy(p->bin, "/var/tmp/assay-bin-XXXXXX");
	assert_non_null(mkdtemp(p->scratch));
	assert_non_null(mkdtemp(p->bin));
	p->path = strdup(getenv("PATH"));
	harness_init(&p->h, &probe_storage);
	p->h.ctx.scratch = p->scratch;
	p->h.ctx.subject_id = "/mnt/named";
	*state = p;
	return 0;
}

static inline int tear_down(void **state)
{
	struct place *p = *state;

	setenv("PATH", p->path, 1);
	dir_remove(p->bin, NULL);
	dir_remove(p->scratch, NULL);
	harness_release(&p->h);
	free(p->path);
	free(p);
	return 0;
}

static inline int files_in(const char *dir)
{
	DIR *d = opendir(dir);
	int n = -2; /* . and .. */

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* A short run: two points, 16 MiB. */
static inline void set_short(struct harness *h)
{
	harness_set(h, "size", "16M");
	harness_set(h, "runtime_s", "0.5");
	harness_set(h, "ramp_s", "0");
	harness_set(h, "depths", "2,8");
	harness_set(h, "hold_s", "0");
	harness_set(h, "pairs", "0");
}

/* A `fio` that answers --version with `version` and then does `body`. */
static inline void fake_fio(struct place *p, const char *version, const char *body)
{
	FILE *f = fopen(arena_strf(&p->h.arena, "%s/fio", p->bin), "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\nPATH='%s'\n[ \"$1\" = --version ] && { %s; }\n%s\n", p->path,
	        version, body);
	fchmod(fileno(f), 0700);
	fclose(f);
	setenv("PATH", p->bin, 1);
}

/* Bodies of a fio: its version, a recorded output, the real one. */
#define IS_FIO       "echo fio-3.33; exit 0"
#define SAMPLE(name) "cat '" TESTS_DIR "/probes/data/fio/" name "'"
#define REAL         "exec fio \"$@\""

/* All metrics but `said` have one reading, of this outcome and reason. */
static inline void expect_rest(const struct harness *h, enum outcome outcome, const char *code,
                               const char *said)
{
	for (int i = 0; i < METRICS; i++)
		if (!said || !strstr(said, names[i]))
			harness_expect(h, names[i], outcome, code);
	assert_true(h->n_readings == METRICS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
