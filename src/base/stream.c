/* Bounded keeping and splitting of what children write. */
#include "base/stream.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/msg.h"

#define CHUNK 65536

void capture_add(struct capture *c, const char *data, size_t len)
{
	size_t half = c->limit / 2, room = half - c->head.len;
	size_t first = len < room ? len : room;

	c->total += len;
	str_addn(&c->head, data, first);
	str_addn(&c->tail, data + first, len - first);
	/* Moved rarely, so that a flood costs one copy a byte. */
	if (c->tail.len > 2 * half + CHUNK) {
		memmove(c->tail.data, c->tail.data + c->tail.len - half, half);
		c->tail.len = half;
	}
}

void capture_finish(struct capture *c, struct str *out)
{
	size_t half = c->limit / 2;

	if (c->head.len)
		str_addn(out, c->head.data, c->head.len);
	if (c->total > c->head.len + half) {
		uint64_t missing = c->total - c->head.len - half;

		if (out->len && out->data[out->len - 1] != '\n')
			str_addc(out, '\n');
		msg_add(out, MSG_stream_cut, tmpf("%llu", (unsigned long long)missing));
		str_addc(out, '\n');
		str_addn(out, c->tail.data + c->tail.len - half, half);
	} else if (c->tail.len) {
		str_addn(out, c->tail.data, c->tail.len);
	}
	str_release(&c->head);
	str_release(&c->tail);
}

static void end_line(struct liner *l)
{
	if (l->dropping)
		l->dropped++;
	else if (l->on_line)
		l->on_line(l->arg, str_text(&l->line), l->line.len);
	l->dropping = false;
	str_clear(&l->line);
}

static void add_part(struct liner *l, const char *data, size_t len)
{
	if (l->dropping)
		return;
	if (l->line.len + len > l->limit) {
		l->dropping = true;
		str_release(&l->line);
		return;
	}
	str_addn(&l->line, data, len);
}

void liner_add(struct liner *l, const char *data, size_t len)
{
	const char *end = data + len;

	while (data < end) {
		const char *newline = memchr(data, '\n', (size_t)(end - data));

		add_part(l, data, (size_t)((newline ? newline : end) - data));
		if (!newline)
			break;
		end_line(l);
		data = newline + 1;
	}
}

void liner_finish(struct liner *l)
{
	if (l->line.len || l->dropping)
		end_line(l);
	str_release(&l->line);
}

enum drain stream_drain(int fd, size_t budget,
                        void (*take)(void *arg, const char *data, size_t len), void *arg)
{
	char chunk[CHUNK];

	while (budget > 0) {
		ssize_t n = read(fd, chunk, budget < CHUNK ? budget : CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return DRAIN_EMPTY;
		if (n <= 0)
			return DRAIN_END;
		take(arg, chunk, (size_t)n);
		budget -= (size_t)n;
	}
	return DRAIN_MORE;
}
