/* NCCL's own log: which algorithm and protocol it chose and which ranks came, which
 * no call of it tells. It goes to a file without a name, so that nothing is left on
 * the machine and nothing lands among what the probe says. */
#include "collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "software.h"

extern char **environ;

struct collective_log {
	int fd; /* -1: no log */
	int64_t mark;
	const char *environment;
};

/* More than a call or an opening writes. */
#define MOST_READ ((int64_t)4 << 20)

static const char *found_environment(struct arena *arena)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	for (char **e = environ; *e; e++) {
		const char *value = strchr(*e, '=');

		if (!str_starts(*e, "NCCL_") || !value || sw_is_secret(*e, (size_t)(value - *e)))
			continue;
		json_put_string(&j, arena_strn(arena, *e, (size_t)(value - *e)), value + 1);
	}
	json_object_end(&j);
	kept = arena_str(arena, str_text(&text));
	str_release(&text);
	return kept;
}

struct collective_log *collective_log_open(struct arena *arena)
{
	struct collective_log *log = arena_alloc(arena, sizeof(*log));

	log->environment = found_environment(arena);
	log->fd = memfd_create("nccl-log", MFD_CLOEXEC);
	if (log->fd < 0)
		return log;
	setenv("NCCL_DEBUG", "INFO", 1);
	setenv("NCCL_DEBUG_SUBSYS", "INIT,ENV,TUNING", 1);
	setenv("NCCL_DEBUG_FILE", tmpf("/proc/self/fd/%d", log->fd), 1);
	return log;
}

const char *collective_log_environment(const struct collective_log *log)
{
	return log->environment;
}

static int64_t size_of(const struct collective_log *log)
{
	return log->fd < 0 ? 0 : (int64_t)lseek(log->fd, 0, SEEK_END);
}

void collective_log_mark(struct collective_log *log)
{
	log->mark = size_of(log);
}

/* Text of the log from there on; "" where there is none. */
static void read_from(const struct collective_log *log, int64_t from, struct str *out)
{
	int64_t end = size_of(log);
	char part[4096];

	if (end - from > MOST_READ)
		from = end - MOST_READ;
	while (from < end) {
		ssize_t n = pread(log->fd, part, sizeof(part), (off_t)from);

		if (n <= 0)
			break;
		str_addn(out, part, (size_t)n);
		from += n;
	}
}

void collective_log_text(const struct collective_log *log, struct str *out)
{
	read_from(log, 0, out);
}

/* --- the choice ---------------------------------------- */

/* NCCL before 2.24 gives numbers. */
static const char *word_of(const char *const *words, int count, const char *text, size_t len,
                           struct arena *arena)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (end == text + len && number >= 0 && number < count)
		return words[number];
	return arena_strn(arena, text, len);
}

const char *collective_log_find_algorithm(struct arena *arena, const char *text)
{
	static const char *const algorithms[] = {
		"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
	static const char *const protocols[] = {"LL", "LL128", "SIMPLE"};
	static const char head[] = " Bytes -> Algo ", between[] = " proto ";
	static const char channels[] = "channel{Lo..Hi}={";
	const char *last = NULL, *algorithm, *protocol, *rest;
	size_t len, protocol_len;
	int lo, hi;

	for (const char *p = text; (p = strstr(p, head)); p++)
		last = p;
	if (!last)
		return NULL;
	algorithm = last + strlen(head);
	len = strcspn(algorithm, " \n");
	protocol = algorithm + len;
	if (!str_starts(protocol, between))
		return NULL;
	protocol += strlen(between);
	protocol_len = strcspn(protocol, " \n");
	algorithm = word_of(algorithms, 7, algorithm, len, arena);
	rest = protocol + protocol_len + 1;
	protocol = word_of(protocols, 3, protocol, protocol_len, arena);
	if (rest[-1] && str_starts(rest, channels) &&
	    sscanf(rest + strlen(channels), "%d..%d", &lo, &hi) == 2 && lo >= 0 && hi >= lo)
		return arena_strf(arena, "%s %s, %d channels", algorithm, protocol, hi - lo + 1);
	return arena_strf(arena, "%s %s", algorithm, protocol);
}

const char *collective_log_algorithm(struct collective_log *log, struct arena *arena)
{
	struct str text = {0};
	const char *found;

	read_from(log, log->mark, &text);
	found = collective_log_find_algorithm(arena, str_text(&text));
	str_release(&text);
	return found;
}

const char *collective_log_transports(struct collective_log *log, struct arena *arena)
{
	static const char *const ways[] = {"P2P", "SHM", "NET", "COLLNET"};
	struct str text = {0}, found = {0};
	const char *kept;

	read_from(log, 0, &text);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strstr(str_text(&text), tmpf(" via %s", ways[i])))
			str_addf(&found, "%s%s", found.len ? " " : "", ways[i]);
	kept = found.len ? arena_str(arena, found.data) : NULL;
	str_release(&text);
	str_release(&found);
	return kept;
}

/* --- who came ---------------------------------------- */

/* "… ncclCommInitRank comm 0x… rank 4 nranks 16 … - Init START" */
bool collective_log_came(struct collective_log *log, int rank, bool *any)
{
	struct str text = {0};
	bool came = false;

	*any = false;
	read_from(log, log->mark, &text);
	for (const char *p = str_text(&text); (p = strstr(p, " rank ")); p++) {
		size_t line = strcspn(p, "\n");
		const char *start = strstr(p, "Init START");

		if (!start || (size_t)(start - p) > line)
			continue;
		*any = true;
		came |= atoi(p + strlen(" rank ")) == rank;
	}
	str_release(&text);
	return came;
}
