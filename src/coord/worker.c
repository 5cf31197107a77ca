/* The inside of a probe child. It fills in what every reading has in common,
 * checks what a probe hands over, and is the only writer on the channel. */
#include "coord/worker.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sha256.h"
#include "coord/params.h"
#include "run/journal.h"

#define REQUEST_LIMIT ((size_t)1 << 20)
#define QUIET_NS      (50 * NS_PER_MS) /* between two lines about the same */

struct worker {
	struct probe_ctx ctx;
	struct arena arena;
	struct json_doc request;
	struct setting settings[64];
	int n_settings;
	int channel;
	const char *phase, *work, *raw_dir;
	int writer, attempt, times;
	bool told; /* progress: what last, and when */
	enum stage told_stage;
	enum msg told_what;
	int64_t told_ns;
	struct str input; /* of stdin, read and not used yet */
	struct peer_text *texts;
};

/* One text from a peer, in the order they came. */
struct peer_text {
	struct peer_text *next;
	int from;
	const char *text;
};

const char *const stage_names[STAGES] = {"loading", "preparing", "measuring"};

static void send_line(struct worker *w, struct str *line)
{
	str_addc(line, '\n');
	/* Nobody listens any more: the guard is about to end us. */
	if (fd_write_all(w->channel, line->data, line->len) != ST_OK)
		_exit(EXIT_INTERNAL);
	str_release(line);
}

/* --- what a probe may ask for ------------------------------------------- */

static const char *text_of(struct probe_ctx *ctx, const char *name, const struct param **row)
{
	struct worker *w = ctx->self;

	*row = param_find(ctx->probe, name);
	if (!*row) {
		fprintf(stderr, "%s\n", say(MSG_param_unknown, ctx->probe->name, name));
		_exit(EXIT_INTERNAL);
	}
	return param_value(ctx->probe, *row, ctx->budget, w->settings, w->n_settings);
}

static int64_t param_int(struct probe_ctx *ctx, const char *name)
{
	const struct param *row;
	const char *value = text_of(ctx, name, &row);

	return (int64_t)param_number(row, value);
}

static double param_real(struct probe_ctx *ctx, const char *name)
{
	const struct param *row;
	const char *value = text_of(ctx, name, &row);

	return param_number(row, value);
}

static const char *param_word(struct probe_ctx *ctx, const char *name)
{
	const struct param *row;

	return text_of(ctx, name, &row);
}

/* A probe may tell of each window, and windows can be short. */
static void progress(struct probe_ctx *ctx, enum stage stage, double done, enum msg what)
{
	struct worker *w = ctx->self;
	int64_t now = clock_now(&clock_system);
	struct str line = {0};
	struct json_out j = json_writer(&line, 0);

	if (w->told && stage == w->told_stage && what == w->told_what &&
	    now < w->told_ns + QUIET_NS)
		return;
	w->told = true;
	w->told_stage = stage;
	w->told_what = what;
	w->told_ns = now;
	json_object_begin(&j, NULL);
	json_put_string(&j, "kind", "progress");
	json_put_string(&j, "stage", stage_names[stage]);
	json_put_number(&j, "done", done);
	json_put_string(&j, "what", msg_name(what));
	json_object_end(&j);
	send_line(ctx->self, &line);
}

/* What is wrong with a reading a probe hands over, or NULL. */
static const char *reading_fault(const struct metric *metric, const struct reading *r)
{
	bool measured = r->outcome == OUTCOME_MEASURED;

	if (!metric)
		return "metric not listed by the probe";
	if (measured && r->value_kind == VALUE_NONE)
		return "measured without a value";
	if (r->value_kind == VALUE_NUMBER && !isfinite(r->value))
		return "value is not a finite number";
	if (r->value_kind == VALUE_TEXT && !r->text)
		return "text value missing";
	if (!measured && !r->reason.code)
		return "outcome without a reason";
	return NULL;
}

static enum status emit(struct probe_ctx *ctx, const struct reading *given)
{
	struct worker *w = ctx->self;
	struct reading r = *given;
	const struct metric *metric = NULL;
	struct str line = {0}, time = {0};
	const char *fault;

	for (const struct metric *m = ctx->probe->metrics; m->name && !metric; m++)
		if (r.metric && strcmp(m->name, r.metric) == 0)
			metric = m;
	fault = reading_fault(metric, &r);
	if (fault) {
		r.outcome = OUTCOME_FAILED;
		r.value_kind = VALUE_NONE;
		reason_set(ctx, &r.reason, MSG_bad_reading, ctx->probe->name,
		           r.metric ? r.metric : "?", fault);
	}
	time_add_utc(&time, clock_wall(ctx->clock));
	r.time = time.data;
	if (!r.node)
		r.node = ctx->node;
	r.writer = w->writer;
	r.phase = w->phase;
	r.attempt = w->attempt;
	r.work = w->work;
	r.probe = ctx->probe->name;
	r.unit = metric ? metric->unit : "1";
	r.better = metric ? metric->better : BETTER_NEITHER;
	r.origin = ctx->simulated ? ORIGIN_SIMULATED : ORIGIN_MEASURED;
	reading_format(&line, &r);
	send_line(w, &line);
	str_release(&time);
	return ST_OK;
}

/* File name of raw samples: subject, attempt and which reading of it keep units apart. */
static void raw_name(struct worker *w, struct str *name, const char *given)
{
	if (w->ctx.subject_id)
		str_addf(name, "%s-", w->ctx.subject_id);
	str_add(name, given);
	for (char *p = name->data; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '_';
	if (name->data[0] == '.')
		name->data[0] = '_';
	if (w->attempt > 1)
		str_addf(name, ".attempt%d", w->attempt);
	if (w->times > 1)
		str_addf(name, ".reading%d", w->times);
}

static enum status save_raw(struct probe_ctx *ctx, const char *given, const char *data, size_t len,
                            struct raw_file *raw)
{
	struct worker *w = ctx->self;
	struct str name = {0}, path = {0};
	char hex[SHA256_HEX];
	struct error err = {0};
	enum status st;

	*raw = (struct raw_file){0};
	if (!w->raw_dir)
		return ST_OK;
	raw_name(w, &name, given);
	st = dir_make(w->raw_dir, &err);
	if (st == ST_OK)
		st = file_write(path_join(&path, w->raw_dir, name.data), data, len, &err);
	if (st == ST_OK) {
		sha256_text(data, len, hex);
		raw->file = arena_strf(ctx->arena, "raw/%s/%s", ctx->node, name.data);
		raw->sha256 = arena_str(ctx->arena, hex);
		raw->bytes = (int64_t)len;
	} else {
		fprintf(stderr, "%s\n", str_text(&err.text));
	}
	error_release(&err);
	str_release(&name);
	str_release(&path);
	return st;
}

/* --- peers ------------------------------------------------------------------ */

/* The next line of stdin, waited for until then (< 0: without end); NULL: none
 * came, and *st says why. From the arena. */
static const char *next_line(struct worker *w, int64_t until_ns, enum status *st)
{
	for (;;) {
		char *end = w->input.len ? memchr(w->input.data, '\n', w->input.len) : NULL;
		struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
		int64_t left = until_ns < 0 ? 3600 * NS_PER_S : until_ns - clock_now(&clock_system);
		char more[4096];
		ssize_t n;
		int here;

		if (end) {
			size_t len = (size_t)(end - w->input.data);
			const char *line = arena_strn(&w->arena, w->input.data, len);

			str_drop(&w->input, len + 1);
			return line;
		}
		*st = w->input.len > REQUEST_LIMIT ? ST_RANGE : ST_OK;
		if (*st != ST_OK)
			return NULL;
		/* What has come by now is taken, even where nothing is waited for. */
		here = poll(&fd, 1, left > 0 ? (int)(left / NS_PER_MS) + 1 : 0);
		if (here <= 0 && left <= 0)
			*st = ST_TIMEOUT;
		if (*st != ST_OK)
			return NULL;
		if (here <= 0)
			continue;
		n = read(STDIN_FILENO, more, sizeof(more));
		if (n == 0 && w->input.len) { /* the last line may lack its end */
			str_addc(&w->input, '\n');
			continue;
		}
		if (n == 0 || (n < 0 && errno != EINTR)) {
			*st = ST_IO;
			return NULL;
		}
		if (n > 0)
			str_addn(&w->input, more, (size_t)n);
	}
}

static enum status send_text(struct probe_ctx *ctx, int to, const char *text)
{
	struct str line = {0};
	struct json_out j = json_writer(&line, 0);

	if (strlen(text) > PEER_TEXT_MAX)
		return ST_RANGE;
	json_object_begin(&j, NULL);
	json_put_string(&j, "kind", "peer");
	json_put_int(&j, "to", to);
	json_put_string(&j, "text", text);
	json_object_end(&j);
	send_line(ctx->self, &line);
	return ST_OK;
}

/* Takes a line of stdin in; false: it was none we know. */
static bool keep_text(struct worker *w, const char *line)
{
	struct peer_text *t = arena_alloc(&w->arena, sizeof(*t)), **at = &w->texts;
	struct json_doc doc;

	if (json_parse(&doc, "peer", line, strlen(line), JSON_STRICT, NULL) != ST_OK)
		return false;
	*t = (struct peer_text){.from = json_int(doc.root, "from", -1),
	                        .text = arena_str(&w->arena, json_string(doc.root, "text", ""))};
	json_release(&doc);
	while (*at)
		at = &(*at)->next;
	*at = t;
	return true;
}

static enum status recv_text(struct probe_ctx *ctx, int from, double seconds, const char **text)
{
	struct worker *w = ctx->self;
	int64_t until = clock_now(&clock_system) + (int64_t)(seconds * 1e9);
	enum status st = ST_OK;

	for (;;) {
		const char *line;

		for (struct peer_text **at = &w->texts; *at; at = &(*at)->next)
			if ((*at)->from == from) {
				*text = (*at)->text;
				*at = (*at)->next;
				return ST_OK;
			}
		line = next_line(w, until, &st);
		if (!line)
			return st;
		if (!keep_text(w, line))
			return ST_PARSE;
	}
}

/* --- the request --------------------------------------------------------- */

static enum status read_settings(struct worker *w, const cJSON *params)
{
	for (const cJSON *p = params ? params->child : NULL; p; p = p->next) {
		if (!cJSON_IsString(p) || w->n_settings == 64)
			return ST_INTERNAL;
		w->settings[w->n_settings++] = (struct setting){
			.probe = w->ctx.probe->name, .key = p->string, .value = p->valuestring};
	}
	return ST_OK;
}

static void read_peers(struct worker *w, const cJSON *root)
{
	const cJSON *list = json_get(root, "peers");
	int n = list ? cJSON_GetArraySize(list) : 0;
	const char **peers = arena_array(&w->arena, (size_t)n + 1, sizeof(*peers));

	for (int i = 0; i < n; i++) {
		const cJSON *name = cJSON_GetArrayItem(list, i);

		peers[i] = cJSON_IsString(name) ? name->valuestring : "";
	}
	w->ctx.peers = peers;
	w->ctx.n_peers = n;
	w->ctx.self_index = json_int(root, "self", 0);
	w->ctx.ahead_s = json_number(root, "ahead_s", NAN);
}

static enum status read_request(struct worker *w, const struct probe *const *probes,
                                struct error *err)
{
	const cJSON *root;
	const char *name;
	enum status st = ST_OK;
	const char *line = next_line(w, -1, &st);

	if (!line)
		return error_set(err, st, MSG_request_line);
	st = json_parse(&w->request, "request", line, strlen(line), JSON_STRICT, err);
	if (st != ST_OK)
		return st;
	root = w->request.root;
	name = json_string(root, "probe", "");
	for (; *probes && !w->ctx.probe; probes++)
		if (strcmp((*probes)->name, name) == 0)
			w->ctx.probe = *probes;
	if (!w->ctx.probe)
		return error_set(err, ST_USAGE, MSG_probe_unknown, name);
	w->phase = json_string(root, "phase", w->ctx.probe->phase);
	w->work = json_string(root, "work", "");
	w->raw_dir = json_string(root, "raw_dir", NULL);
	w->writer = json_int(root, "writer", 0);
	w->attempt = json_int(root, "attempt", 1);
	w->times = json_int(root, "times", 1);
	w->ctx.node = json_string(root, "node", "");
	w->ctx.budget = (enum budget)json_number(root, "budget", BUDGET_STANDARD);
	w->ctx.seed = strtoull(json_string(root, "seed", "0"), NULL, 16);
	w->ctx.deadline_ns =
		clock_now(&clock_system) + (int64_t)(json_number(root, "deadline_s", 60) * 1e9);
	w->ctx.subject_id = json_string(root, "subject", NULL);
	w->ctx.scratch = json_string(root, "scratch", NULL);
	w->ctx.lib_dir = json_string(root, "lib_dir", NULL);
	w->ctx.sys_root = json_string(root, "sys_root", "");
	w->ctx.simulated = *w->ctx.sys_root != '\0';
	read_peers(w, root);
	return read_settings(w, json_get(root, "params"));
}

static void send_end(struct worker *w, enum status st)
{
	struct str line = {0};
	struct json_out j = json_writer(&line, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "kind", "done");
	json_put_string(&j, "status", status_name(st));
	json_object_end(&j);
	send_line(w, &line);
}

static void send_support(struct worker *w, const struct support *s)
{
	struct str line = {0};
	struct json_out j = json_writer(&line, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "kind", "support");
	json_put_bool(&j, "yes", s->yes);
	json_put_string(&j, "text", s->reason.text);
	json_object_end(&j);
	send_line(w, &line);
}

static struct support try_probe(struct probe_ctx *ctx)
{
	struct support s = ctx->probe->supported(ctx);

	if (s.yes && ctx->probe->try_run)
		s = ctx->probe->try_run(ctx);
	return s;
}

int worker_main(const struct probe *const *probes)
{
	struct worker w = {.channel = WORKER_CHANNEL};
	struct error err = {0};
	enum status st;

	w.ctx.arena = &w.arena;
	w.ctx.clock = &clock_system;
	w.ctx.param_int = param_int;
	w.ctx.param_real = param_real;
	w.ctx.param_word = param_word;
	w.ctx.emit = emit;
	w.ctx.progress = progress;
	w.ctx.save_raw = save_raw;
	w.ctx.send_text = send_text;
	w.ctx.recv_text = recv_text;
	w.ctx.self = &w;
	st = read_request(&w, probes, &err);
	if (st != ST_OK) {
		fprintf(stderr, "%s\n", str_text(&err.text));
	} else if (json_bool(w.request.root, "try", false)) {
		struct support s = try_probe(&w.ctx);

		send_support(&w, &s);
	} else {
		st = w.ctx.probe->run(&w.ctx);
		send_end(&w, st);
	}
	error_release(&err);
	json_release(&w.request);
	str_release(&w.input);
	arena_release(&w.arena);
	return st == ST_OK ? 0 : EXIT_INTERNAL;
}
