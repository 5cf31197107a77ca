/* Threads of the pair probe. They do nothing but send, or receive and compare; who
 * looks at the clock is the thread that started them. A direction ends by cutting
 * its connections, so that what lies in queues does not run into the next one. */
#include "net_streams.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "stats/rng.h"

struct stream {
	struct net_streams *all;
	int number, fd;
	pthread_t thread;
	bool running;
	/* Each on its own cache line: they are written all the time. */
	_Alignas(64) atomic_uint_fast64_t bytes;
	atomic_int broken; /* an errno value */
	atomic_bool wrong;
	struct net_wrong first; /* once wrong */
};

struct net_streams {
	int count;
	size_t block;
	uint64_t seed;
	atomic_bool over;
	struct stream *list;
};

/* --- blocks -------------------------------------------------------------------------- */

static void block_words(unsigned char *block, size_t size, uint64_t seed)
{
	for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
		uint64_t word = splitmix64(&seed);
		size_t n = size - at < sizeof(word) ? size - at : sizeof(word);

		memcpy(block + at, &word, n);
	}
}

/* Different for each stream, block and place, and never the words around it: what
 * is stale, doubled, moved or zero does not look right. */
static uint64_t stamp_of(int stream, uint64_t number, size_t at)
{
	uint64_t state = (number << 8 | (uint64_t)stream) ^ (uint64_t)at << 40;

	return splitmix64(&state);
}

static void block_stamp(unsigned char *block, size_t size, int stream, uint64_t number)
{
	for (size_t at = 0; at + sizeof(uint64_t) <= size; at += NET_STAMP_STEP) {
		uint64_t stamp = stamp_of(stream, number, at);

		memcpy(block + at, &stamp, sizeof(stamp));
	}
}

/* Place of the first difference, or the size. */
static size_t compare_all(const unsigned char *a, const unsigned char *b, size_t size)
{
	size_t at = 0;

	if (memcmp(a, b, size) == 0)
		return size;
	while (a[at] == b[at])
		at++;
	return at;
}

static size_t compare_stamps(const unsigned char *block, size_t size, int stream, uint64_t number)
{
	for (size_t at = 0; at + sizeof(uint64_t) <= size; at += NET_STAMP_STEP) {
		uint64_t stamp = stamp_of(stream, number, at);

		if (memcmp(block + at, &stamp, sizeof(stamp)) != 0)
			return at;
	}
	return size;
}

/* --- threads --------------------------------------------------------------------------- */

/* The end of a connection that was to go on. */
static void breaks(struct stream *s, int errnum)
{
	if (!atomic_load(&s->all->over))
		atomic_store(&s->broken, errnum);
}

static unsigned char *block_new(const struct net_streams *s)
{
	unsigned char *block = malloc(s->block);

	if (!block)
		die_nomem();
	block_words(block, s->block, s->seed);
	return block;
}

static void *send_all(void *arg)
{
	struct stream *s = arg;
	size_t size = s->all->block;
	unsigned char *block = block_new(s->all);
	bool broken = false;

	for (uint64_t number = 0; !broken && !atomic_load(&s->all->over); number++) {
		block_stamp(block, size, s->number, number);
		for (size_t done = 0; done < size && !broken;) {
			ssize_t n = send(s->fd, block + done, size - done, MSG_NOSIGNAL);

			broken = n < 0 && errno != EINTR;
			if (broken)
				breaks(s, errno);
			if (n > 0) {
				done += (size_t)n;
				atomic_fetch_add_explicit(&s->bytes, (uint64_t)n,
				                          memory_order_relaxed);
			}
		}
	}
	free(block);
	return NULL;
}

static bool receive_block(struct stream *s, unsigned char *block, size_t size)
{
	for (size_t have = 0; have < size;) {
		ssize_t n = recv(s->fd, block + have, size - have, 0);

		if (atomic_load(&s->all->over))
			return false;
		if (n == 0 || (n < 0 && errno != EINTR)) {
			breaks(s, n == 0 ? ECONNRESET : errno);
			return false;
		}
		if (n > 0) {
			have += (size_t)n;
			atomic_fetch_add_explicit(&s->bytes, (uint64_t)n, memory_order_relaxed);
		}
	}
	return true;
}

static void *receive_all(void *arg)
{
	struct stream *s = arg;
	size_t size = s->all->block, at = size;
	unsigned char *block = block_new(s->all), *want = block_new(s->all);
	uint64_t number = 0;

	while (receive_block(s, block, size)) {
		if (number % NET_WHOLE_EVERY == 0) {
			block_stamp(want, size, s->number, number);
			at = compare_all(block, want, size);
		} else {
			at = compare_stamps(block, size, s->number, number);
		}
		if (at < size)
			break;
		number++;
	}
	if (at < size) {
		s->first = (struct net_wrong){.stream = s->number, .block = number, .at = at};
		atomic_store(&s->wrong, true);
	}
	free(block);
	free(want);
	return NULL;
}

/* --- all of them -------------------------------------------------------------------------- */

struct net_streams *net_streams_new(struct arena *arena, int count, size_t block, uint64_t seed)
{
	struct net_streams *s = arena_alloc(arena, sizeof(*s));
	char *room = arena_alloc(arena, ((size_t)count + 1) * sizeof(*s->list));

	/* The arena aligns to 16 bytes, cache lines are 64. */
	room += (64 - (uintptr_t)room % 64) % 64;
	*s = (struct net_streams){
		.count = count, .block = block, .seed = seed, .list = (void *)room};
	for (int i = 0; i < count; i++) {
		s->list[i].all = s;
		s->list[i].number = i;
		s->list[i].fd = -1;
	}
	return s;
}

bool net_streams_set(struct net_streams *s, uint64_t number, int fd)
{
	/* Cut, not closed: see the top. */
	const struct linger cut = {.l_onoff = 1};

	if (number >= (uint64_t)s->count || s->list[number].fd >= 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &cut, sizeof(cut));
	s->list[number].fd = fd;
	return true;
}

int net_streams_start(struct net_streams *s, bool sends)
{
	for (int i = 0; i < s->count; i++) {
		struct stream *one = &s->list[i];
		int failed =
			pthread_create(&one->thread, NULL, sends ? send_all : receive_all, one);

		if (failed)
			return failed;
		one->running = true;
	}
	return 0;
}

uint64_t net_streams_bytes(const struct net_streams *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < s->count; i++)
		sum += atomic_load_explicit(&s->list[i].bytes, memory_order_relaxed);
	return sum;
}

bool net_streams_wrong(const struct net_streams *s, struct net_wrong *first)
{
	for (int i = 0; i < s->count; i++) {
		if (!atomic_load(&s->list[i].wrong))
			continue;
		*first = s->list[i].first;
		return true;
	}
	return false;
}

int net_streams_broken(const struct net_streams *s)
{
	int errnum = 0;

	for (int i = 0; i < s->count && !errnum; i++)
		errnum = atomic_load(&s->list[i].broken);
	return errnum;
}

void net_streams_tcp(const struct net_streams *s, struct net_tcp *tcp)
{
	bool told = true;

	*tcp = (struct net_tcp){0};
	for (int i = 0; i < s->count; i++) {
		struct tcp_info info = {0};
		socklen_t len = sizeof(info);

		told = getsockopt(s->list[i].fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 && told;
		tcp->retransmits += info.tcpi_total_retrans;
		tcp->mss = (int)info.tcpi_snd_mss;
		len = sizeof(tcp->congestion) - 1;
		getsockopt(s->list[i].fd, IPPROTO_TCP, TCP_CONGESTION, tcp->congestion, &len);
	}
	if (!told)
		tcp->retransmits = -1;
}

void net_streams_end(struct net_streams *s)
{
	atomic_store(&s->over, true);
	for (int i = 0; i < s->count; i++)
		if (s->list[i].fd >= 0)
			shutdown(s->list[i].fd, SHUT_RDWR);
	for (int i = 0; i < s->count; i++) {
		if (s->list[i].running)
			pthread_join(s->list[i].thread, NULL);
		if (s->list[i].fd >= 0)
			close(s->list[i].fd);
		s->list[i].running = false;
		s->list[i].fd = -1;
	}
}
