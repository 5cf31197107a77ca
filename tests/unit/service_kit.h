/* Heartbeat logs made line by line, for tests of what is read from them. */
#ifndef ASSAY_TESTS_SERVICE_KIT_H
#define ASSAY_TESTS_SERVICE_KIT_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "service/availability.h"
#include "tests/cleanup.h"

#define S NS_PER_S

struct made_log {
	struct str text;
	char prev[SHA256_HEX];
	const char *observer, *boot;
	int64_t seq, mono_ns, start_ns; /* of the boot, on the wall */
};

static inline int64_t at(const char *text)
{
	int64_t ns;

	if (!time_parse_utc(text, &ns))
		abort();
	return ns;
}

static inline struct made_log log_begin(const char *observer)
{
	struct made_log log = {.observer = observer, .boot = "boot-1"};

	str_add(&log.text, HEARTBEAT_COLUMNS);
	sha256_text(log.text.data, log.text.len, log.prev);
	str_addc(&log.text, '\n');
	return log;
}

/* The monotonic clock follows the wall clock unless start_ns was moved. */
static inline void log_line(struct made_log *log, const char *node, int64_t wall_ns,
                            enum beat_kind kind, enum node_state state, const char *note)
{
	struct heartbeat b = {.wall_ns = wall_ns,
	                      .mono_ns = wall_ns - log->start_ns,
	                      .node = node,
	                      .observer = log->observer,
	                      .seq = ++log->seq,
	                      .boot_id = log->boot,
	                      .kind = kind,
	                      .state = state,
	                      .cards = 8,
	                      .xid = -1,
	                      .ecc = -1,
	                      .links = -1,
	                      .kernel_ms = NAN,
	                      .note = note};
	size_t from = log->text.len;

	heartbeat_format(&log->text, &b, log->prev);
	sha256_text(log->text.data + from, log->text.len - from - 1, log->prev);
}

static inline void log_beats(struct made_log *log, const char *node, int64_t from, int64_t to,
                             int64_t step, enum node_state state)
{
	for (int64_t t = from; t <= to; t += step)
		log_line(log, node, t, BEAT_BEAT, state, "");
}

/* <dir>/<name>.heartbeat.csv */
static inline void log_save(struct made_log *log, const char *dir, const char *name)
{
	const char *path = tmpf("%s/%s%s", dir, name, HEARTBEAT_ENDING);

	if (file_write(path, str_text(&log->text), log->text.len, NULL) != ST_OK)
		abort();
	str_release(&log->text);
}

static inline char *fresh_dir(void)
{
	/* In memory where there is such a place: each beat is synced. */
	char *dir = strdup(access("/dev/shm", W_OK) == 0 ? "/dev/shm/assay-service-XXXXXX"
	                                                 : "/tmp/assay-service-XXXXXX");

	if (!mkdtemp(dir))
		abort();
	return dir;
}

#endif
