/* How many readings a second rank 0 takes from nodes into its journal: the messages of a
 * run that was made are handed over as they would come, parsed, chained and written; the
 * clock stops when the last of them is on the disk.
 *
 *     append_lines RUN NEW
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "coord/leader.h"
#include "coord/wire.h"
#include "run/journal.h"
#include "run/rundir.h"

#define NODES 128

struct bench {
	struct journal *journal;
	struct leader l;
	struct cluster_options o;
	struct cluster_result result;
	struct comm comm;
	int64_t taken;
};

static enum status save(void *arg, const char *line, size_t len, struct error *err)
{
	return journal_append(((struct bench *)arg)->journal, line, len, err);
}

static void print(void *arg, const char *text, bool transient)
{
	(void)arg;
	if (!transient)
		fprintf(stderr, "%s\n", text);
}

static void say_line(void *arg, const char *text)
{
	print(arg, text, false);
}

/* As a node sends it: without the last two members, which are rank 0's. */
static void hand_over(struct bench *b, const char *line, struct str *message)
{
	const char *end = strstr(line, ",\"seq\":");

	if (!strstr(line, "\"metric\":") || !end)
		return;
	str_clear(message);
	str_addc(message, WIRE_LINE);
	str_addn(message, line, (size_t)(end - line));
	str_addc(message, '}');
	member_take(&b->l, (int)(b->taken++ % NODES), message->data, message->len);
}

static enum status append_all(struct bench *b, const char *run, struct error *err)
{
	struct str message = {0};
	size_t room = 0;
	char *line = NULL, *path = NULL;
	FILE *f;

	if (asprintf(&path, "%s/readings.jsonl", run) < 0)
		die_nomem();
	f = fopen(path, "r");
	if (!f) {
		error_set(err, ST_IO, MSG_path_error, path, "?");
		free(path);
		return ST_IO;
	}
	while (getline(&line, &room, f) > 0)
		hand_over(b, line, &message);
	fclose(f);
	free(line);
	free(path);
	str_release(&message);
	return ST_OK;
}

static void lead(struct bench *b)
{
	struct leader *l = &b->l;

	b->comm.size = NODES;
	b->o = (struct cluster_options){.agent = {.comm = &b->comm, .sys_root = ""},
	                                .store = save,
	                                .store_arg = b,
	                                .print = print};
	l->o = &b->o;
	l->result = &b->result;
	l->comm = &b->comm;
	l->count = NODES;
	l->members = arena_array(&l->arena, NODES, sizeof(*l->members));
	l->keeper = (struct keeper){.save = save, .arg = b};
	l->voice = (struct voice){.tell = say_line, .arg = b, .count = NODES};
	l->stage = LEAD_PHASE;
	for (int i = 0; i < NODES; i++)
		l->members[i].name = arena_strf(&l->arena, "n%03d", i);
}

int main(int argc, char **argv)
{
	static struct bench b;
	struct error err = {0};
	struct run_info info = {.id = "0123456789abcdef",
	                        .seed = "1",
	                        .created = "2026-12-02T03:04:05.678Z",
	                        .version = "0",
	                        .build = "0",
	                        .command = "append_lines",
	                        .budget = "standard",
	                        .host = "here",
	                        .profile_sha256 = "0",
	                        .expected_nodes = NODES,
	                        .expected_cards = -1};
	int64_t start;
	char digest[65];
	enum status st;

	if (argc != 3) {
		fprintf(stderr, "usage: %s RUN NEW\n", argv[0]);
		return EXIT_USAGE;
	}
	st = journal_create(&b.journal, argv[2], &info, &err);
	if (st == ST_OK) {
		lead(&b);
		start = clock_now(&clock_system);
		st = append_all(&b, argv[1], &err);
		if (st == ST_OK)
			st = keeper_end(&b.l.keeper, &err);
		if (journal_close(b.journal, false, digest, &err) != ST_OK)
			st = ST_IO;
		printf("%lld readings, %.0f a second\n", (long long)b.taken,
		       (double)b.taken * 1e9 / (double)(clock_now(&clock_system) - start));
		for (int i = 0; i < NODES; i++)
			card_names_release(&b.l.members[i].cards);
		voice_release(&b.l.voice);
		arena_release(&b.l.arena);
	}
	if (st != ST_OK)
		fprintf(stderr, "%s\n", str_text(&err.text));
	error_release(&err);
	return st == ST_OK && b.taken ? 0 : 1;
}
