/* TCP connects to many machines at once; see peers.h. */
#include "service/peers.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "service/heartbeat.h"

#define BATCH 256
#define LIMIT ((size_t)16 << 20)

struct peer_address {
	const char *host, *port;
	struct sockaddr_storage at;
	socklen_t len;
};

/* --- names ------------------------------------------------------------------------- */

/* "host", "host:port", "[v6]:port"; a bare v6 address has several colons. */
static bool split(struct peer_address *a, struct arena *arena, const char *text)
{
	const char *colon = strrchr(text, ':'), *close = strchr(text, ']');

	a->port = PEERS_PORT;
	if (*text == '[') {
		if (!close || (close[1] && close[1] != ':'))
			return false;
		a->host = arena_strn(arena, text + 1, (size_t)(close - text - 1));
		if (close[1])
			a->port = arena_str(arena, close + 2);
	} else if (colon && colon == strchr(text, ':')) {
		a->host = arena_strn(arena, text, (size_t)(colon - text));
		a->port = arena_str(arena, colon + 1);
	} else {
		a->host = arena_str(arena, text);
	}
	return *a->host && *a->port;
}

enum status peers_add(struct peers *p, struct arena *arena, const char *text, struct error *err)
{
	const char *equals = strchr(text, '='), *where = equals ? equals + 1 : text;
	struct peer_address *a = &p->addresses[p->count];
	const char *name;

	if (!split(a, arena, where))
		return error_set(err, ST_USAGE, MSG_peers_form, text);
	name = equals ? arena_strn(arena, text, (size_t)(equals - text)) : a->host;
	if (!*name || !heartbeat_word(name))
		return error_set(err, ST_USAGE, MSG_peers_form, text);
	for (int i = 0; i < p->count; i++)
		if (strcmp(p->names[i], name) == 0)
			return error_set(err, ST_USAGE, MSG_peers_twice, name);
	p->names[p->count++] = name;
	return ST_OK;
}

/* And one more. */
static size_t most(const char *text)
{
	size_t n = 2;

	for (; *text; text++)
		n += *text == ',' || *text == '\n';
	return n;
}

enum status peers_parse(struct peers *p, struct arena *arena, const char *text, struct error *err)
{
	struct str file = {0};
	struct stat at;
	bool lines = stat(text, &at) == 0 && S_ISREG(at.st_mode);
	enum status st = lines ? file_read(&file, text, LIMIT, err) : ST_OK;
	const char *rest = lines ? str_text(&file) : text, *ends = lines ? "\n" : ",";
	size_t room = most(rest);

	*p = (struct peers){.names = arena_array(arena, room, sizeof(*p->names)),
	                    .addresses = arena_array(arena, room, sizeof(*p->addresses))};
	while (st == ST_OK && *rest) {
		size_t len, word;

		rest += strspn(rest, " \t");
		len = strcspn(rest, ends);
		word = strcspn(rest, " \t\r#\n,");
		if (word && word <= len)
			st = peers_add(p, arena, arena_strn(arena, rest, word), err);
		rest += len + (rest[len] != '\0');
	}
	str_release(&file);
	if (st == ST_OK && p->count == 0)
		st = error_set(err, ST_USAGE, MSG_peers_none, text);
	return st;
}

enum status peers_resolve(struct peers *p, struct error *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};

	for (int i = 0; i < p->count; i++) {
		struct peer_address *a = &p->addresses[i];
		struct addrinfo *found;
		int code = getaddrinfo(a->host, a->port, &hints, &found);

		if (code != 0)
			return error_set(err, ST_NOTFOUND, MSG_peers_unknown, p->names[i],
			                 gai_strerror(code));
		memcpy(&a->at, found->ai_addr, found->ai_addrlen);
		a->len = found->ai_addrlen;
		freeaddrinfo(found);
	}
	return ST_OK;
}

/* --- looking -------------------------------------------------------------------------- */

/* A refusal comes from the machine too. */
static bool there(int error)
{
	return error == 0 || error == ECONNREFUSED;
}

static int begin(const struct peer_address *a, bool *reached)
{
	int fd = socket(a->at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	*reached = false;
	if (fd < 0)
		return -1;
	error = connect(fd, (const struct sockaddr *)&a->at, a->len) == 0 ? 0 : errno;
	if (error == EINPROGRESS)
		return fd;
	*reached = there(error);
	close(fd);
	return -1;
}

static bool finish(int fd)
{
	int error = 0;
	socklen_t len = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && there(error);
}

static void look_batch(const struct peers *p, int first, int count, int timeout_ms, bool *reached)
{
	int64_t end = clock_now(&clock_system) + timeout_ms * NS_PER_MS;
	struct pollfd fds[BATCH];
	int open = 0;

	for (int i = 0; i < count; i++) {
		fds[i] = (struct pollfd){begin(&p->addresses[first + i], &reached[first + i]),
		                         POLLOUT, 0};
		open += fds[i].fd >= 0;
	}
	while (open > 0) {
		int64_t left = (end - clock_now(&clock_system)) / NS_PER_MS;

		if (left <= 0 || (poll(fds, (nfds_t)count, (int)left) < 0 && errno != EINTR))
			break;
		for (int i = 0; i < count; i++) {
			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			reached[first + i] = finish(fds[i].fd);
			close(fds[i].fd);
			fds[i] = (struct pollfd){-1, 0, 0};
			open--;
		}
	}
	for (int i = 0; i < count; i++)
		if (fds[i].fd >= 0)
			close(fds[i].fd);
}

void peers_look(const struct peers *p, int timeout_ms, bool *reached)
{
	for (int first = 0; first < p->count; first += BATCH) {
		int count = p->count - first < BATCH ? p->count - first : BATCH;

		look_batch(p, first, count, timeout_ms, reached);
	}
}
