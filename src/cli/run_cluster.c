/* The command line's side of coord/cluster. */
#include "cli/run_cluster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/proc.h"
#include "cli/cli.h"
#include "cli/deploy.h"
#include "cli/evidence_archive.h"
#include "cli/progress.h"
#include "coord/comm.h"
#include "coord/hello.h"
#include "score/suspects.h"

#define HELLO_S 120
/* For MPI_Finalize, which many ranks on few cores take longer for. */
#define CLOSE_S(ranks) (10 + (ranks) / 8.0)

static void ignore(int number)
{
	(void)number;
}

/* What mpirun forwards, and then waits: its own way of ending ranks leaves them
 * seconds, and takes a minute. */
static void end(int number)
{
	(void)number;
	cli_signal = SIGTERM;
}

enum status run_join(struct comm **comm, const struct options *o, struct error *err)
{
	/* What resumes has its number of nodes in run.json; some may be gone. */
	struct comm_request request = {.module = option_text(o, "comm-module", NULL),
	                               .nodes = (int)option_int(o, "nodes", 0)};
	struct comm_launcher launcher;

	option_list(o, "absent", &request.absent);
	comm_launcher_find(&launcher, getenv);
	/* One node's run with the others named is a run all the same. */
	if (!launcher.name) {
		*comm = comm_local();
		return ST_OK;
	}
	/* With it Hydra tells all ranks that one has died; it would end us. Handled and
	 * not ignored, which children would inherit. */
	signal(SIGUSR1, ignore);
	signal(SIGUSR2, end);
	return comm_open(comm, &request, err);
}

/* What all ranks have to be started with alike: other places of libraries and of /proc
 * are a node's own affair. */
static const char *common_options(struct arena *arena, const struct options *o)
{
	static const char *const own[] = {"lib-dir", "sys-root", "comm-module", "lang"};
	struct str text = {0};
	const char *kept;

	for (int i = 0; o->rows[i].name; i++) {
		bool common = true;

		for (size_t k = 0; k < sizeof(own) / sizeof(*own); k++)
			common = common && strcmp(o->rows[i].name, own[k]) != 0;
		for (int k = 0; k < o->count[i] && common; k++)
			str_addf(&text, "--%s%s%s\n", o->rows[i].name, *o->values[i][k] ? " " : "",
			         o->values[i][k]);
	}
	kept = arena_str(arena, str_text(&text));
	str_release(&text);
	return kept;
}

static struct agent_options agent_options(struct comm *comm, const struct options *o,
                                          const char *host, double scale, struct arena *arena)
{
	char digest[SHA256_HEX];
	bool known = evidence_tool(digest, NULL) == ST_OK;

	return (struct agent_options){
		.comm = comm,
		.probes = probe_table,
		.host = host,
		.version = ASSAY_VERSION,
		.program = known ? arena_str(arena, digest) : "",
		.options = common_options(arena, o),
		.lib_dir = option_text(o, "lib-dir", NULL),
		.sys_root = option_text(o, "sys-root", ""),
		.deadline_scale = scale,
		.lost_after_s = (double)option_int(o, "lost-after", 30),
		.stop = &cli_signal,
	};
}

int run_follow(struct comm *comm, const struct options *o, struct error *err)
{
	struct arena arena = {0};
	struct agent_options options =
		agent_options(comm, o, local_node_name(&arena),
	                      (double)option_int(o, "deadline-percent", 100) / 100, &arena);
	bool all_alive = false;
	enum status st;

	cli_catch_signals();
	proc_init();
	/* Silence of rank 0 is only sure when it also had time to call us lost. */
	options.lost_after_s *= 2;
	st = cluster_follow(&options, &all_alive, err);
	run_leave(comm, all_alive && st == ST_OK, cli_status_code(st), err);
	arena_release(&arena);
	return cli_status_code(st);
}

/* --- rank 0 ----------------------------------------------------------------------- */

enum status run_open_journal(struct journal **journal, struct run_setup *s, struct error *err)
{
	struct error trouble = {0};
	struct str path = {0};
	enum status st;

	if (s->resume)
		return journal_resume(journal, s->dir, ASSAY_VERSION, s->profile_sha256, err);
	st = journal_create(journal, s->dir, &s->info, err);
	if (st == ST_OK && file_write(path_join(&path, s->dir, PROFILE_FILE), s->profile_text,
	                              strlen(s->profile_text), &trouble) != ST_OK)
		log_note(MSG_profile_unkept, str_text(&trouble.text));
	error_release(&trouble);
	str_release(&path);
	return st;
}

enum status run_store(void *arg, const char *line, size_t len, struct error *err)
{
	const struct run_saving *s = arg;

	deploy_hear(s->deploy, line, len);
	return journal_append(s->journal, line, len, err);
}

enum status run_store_work(void *arg, const char *work, struct error *err)
{
	return journal_work_done(((struct run_saving *)arg)->journal, work, err);
}

enum status run_store_sync(void *arg, struct error *err)
{
	return journal_sync(((struct run_saving *)arg)->journal, err);
}

static enum status begin(void *arg, struct error *err)
{
	struct run_saving *s = arg;

	return run_open_journal(&s->journal, s->setup, err);
}

static void print(void *arg, const char *text, bool transient)
{
	progress_line(arg, text, transient);
}

static enum pair_choice pairs_of(const struct options *o)
{
	const char *word = option_text(o, "pairs", "sample");

	return strcmp(word, "all") == 0 ? PAIRS_ALL : PAIRS_SAMPLE;
}

static const char *const *absent_nodes(const struct options *o, struct arena *arena, int *count)
{
	const char *const *hosts = option_list(o, "absent", count);
	const char **names = arena_array(arena, (size_t)*count + 1, sizeof(*names));

	for (int i = 0; i < *count; i++)
		names[i] = host_name_fit(arena, hosts[i]);
	return names;
}

enum status run_lead(struct run_setup *s, const struct options *o, struct comm *comm,
                     bool *all_alive, bool *begun, struct error *err)
{
	struct run_saving saving = {.setup = s, .deploy = deploy_open(s)};
	struct progress_view view;
	struct cluster_result result;
	struct suspects *suspects = suspects_open();
	const struct judge judge = {
		.on_reading = suspects_hear, .suspects = suspects_find, .arg = suspects};
	struct cluster_options options = {
		.agent = agent_options(comm, o, s->request.node, s->deadline_scale, &s->arena),
		.request = &s->request,
		.dir = s->dir,
		.resume = s->resume ? &s->earlier : NULL,
		.pairs = pairs_of(o),
		.judge = &judge,
		.hello_s = HELLO_S,
		.begin = begin,
		.store = run_store,
		.store_work = run_store_work,
		.store_sync = run_store_sync,
		.store_arg = &saving,
		.print = print,
		.print_arg = &view,
	};
	char digest[65];
	enum status st, ended;

	options.absent = absent_nodes(o, &s->arena, &options.n_absent);
	if (comm->recovery == COMM_RECOVERY_OFF)
		log_note(MSG_recovery_off, comm->library);
	progress_init(&view);
	st = cluster_lead(&result, &options, err);
	if (st == ST_OK && saving.journal)
		st = deploy_tell(saving.deploy, run_store, &saving, err);
	deploy_close(saving.deploy);
	progress_end(&view);
	suspects_close(suspects);
	*all_alive = result.all_alive;
	*begun = saving.journal != NULL;
	if (!*begun)
		return st;
	ended = journal_close(saving.journal, st == ST_INTERRUPTED, digest, err);
	return st == ST_OK ? ended : st;
}

void run_leave(struct comm *comm, bool all_alive, int code, struct error *err)
{
	/* MPI_Finalize may be cut short by its deadline, and the process with it; and a
	 * launcher that ends its ranks in haste signals them when all is said. */
	msg_speak(msg_reader());
	cli_say_error(err);
	if (comm->size > 1) {
		signal(SIGINT, SIG_IGN);
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		signal(SIGUSR2, SIG_IGN);
		code = cli_signal ? 128 + cli_signal : code;
		comm_tell_exit(code);
		if (comm->rank == 0)
			cluster_say_leave(comm);
		cli_leave = true;
	}
	comm->ops->close(comm, all_alive, CLOSE_S(comm->size), code);
}
