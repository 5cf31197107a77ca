/* Names of containerd's images, by its data base alone: neither it nor the daemon is
 * opened or asked. The file is a B+tree of pages (bbolt, internal/common/page.go and
 * bucket.go of go.etcd.io/bbolt), in which buckets lie within buckets:
 *
 *   v1 / NAMESPACE / images / NAME / target / digest
 *
 * The daemon may write while we read, so of its two heads the latest whole one counts,
 * and nothing that a page says of places is believed. */
#include <string.h>

#include "base/hash.h"
#include "software.h"

#define FILE_MOST  ((size_t)256 << 20)
#define HEAD       16 /* bytes of a page's head, and of an element */
#define BUCKET     16 /* bytes of a bucket's head */
#define META       64
#define MAGIC      0xED0CDAEDu
#define DEPTH_MOST 20

enum { PAGE_BRANCH = 1, PAGE_LEAF = 2, IS_BUCKET = 1 };

struct bolt {
	struct sw_scan *s;
	struct sw_bytes file;
	size_t page;
	size_t budget; /* pages that may still be looked at: links may form circles */
	bool broken;
	struct sw_named_list *out;
	const char *name; /* of the image whose bucket is walked */
};

typedef void take_fn(struct bolt *b, struct sw_bytes key, struct sw_bytes value, bool bucket);

/* --- pages ---------------------------------------------------------------------------- */

static void walk_page(struct bolt *b, struct sw_bytes page, int depth, take_fn *take);

static void walk_number(struct bolt *b, uint64_t number, int depth, take_fn *take)
{
	size_t most = b->file.n / b->page;
	struct sw_bytes head = {0};
	uint64_t more;

	if (number < most && b->budget && depth < DEPTH_MOST)
		head = sw_part(b->file, (size_t)number * b->page, b->page);
	more = sw_le(head, 12, 4); /* pages that belong to it */
	if (!head.at || more > most - number - 1) {
		b->broken = true;
		return;
	}
	b->budget--;
	walk_page(b, sw_part(b->file, (size_t)number * b->page, ((size_t)more + 1) * b->page),
	          depth, take);
}

static void walk_leaf(struct bolt *b, struct sw_bytes page, size_t at, take_fn *take)
{
	size_t key_at = at + (size_t)sw_le(page, at + 4, 4), key_n = (size_t)sw_le(page, at + 8, 4);
	struct sw_bytes key = sw_part(page, key_at, key_n);
	struct sw_bytes value = sw_part(page, key_at + key_n, (size_t)sw_le(page, at + 12, 4));

	if (key.at && value.at)
		take(b, key, value, (sw_le(page, at, 4) & IS_BUCKET) != 0);
	else
		b->broken = true;
}

static void walk_page(struct bolt *b, struct sw_bytes page, int depth, take_fn *take)
{
	unsigned kind = (unsigned)sw_le(page, 8, 2), count = (unsigned)sw_le(page, 10, 2);

	if (kind != PAGE_LEAF && kind != PAGE_BRANCH)
		b->broken = true;
	for (unsigned i = 0; i < count && !b->broken && !sw_late(b->s); i++) {
		size_t at = HEAD + HEAD * (size_t)i;

		if (kind == PAGE_LEAF)
			walk_leaf(b, page, at, take);
		else
			walk_number(b, sw_le(page, at + 8, 8), depth + 1, take);
	}
}

/* A small bucket lies whole behind its head, where the number of its page is 0. */
static void walk_bucket(struct bolt *b, struct sw_bytes value, take_fn *take)
{
	uint64_t root = sw_le(value, 0, 8);

	if (value.n < BUCKET)
		b->broken = true;
	else if (root)
		walk_number(b, root, 0, take);
	else
		walk_page(b, sw_part(value, BUCKET, value.n - BUCKET), 0, take);
}

/* --- the way to the names ------------------------------------------------------------- */

static bool is_key(struct sw_bytes key, const char *text)
{
	return key.n == strlen(text) && memcmp(key.at, text, key.n) == 0;
}

static const char *kept(struct bolt *b, struct sw_bytes text)
{
	struct str out = {0};
	const char *copy;

	str_add_printable(&out, (const char *)text.at, text.n);
	copy = arena_str(b->s->arena, str_text(&out));
	str_release(&out);
	return copy;
}

static void take_digest(struct bolt *b, struct sw_bytes key, struct sw_bytes value, bool bucket)
{
	struct sw_named_list *l = b->out;

	if (bucket || !is_key(key, "digest"))
		return;
	l->item = sw_grow(b->s->arena, l->item, l->count, &l->cap, sizeof(*l->item));
	l->item[l->count++] = (struct sw_named){b->name, kept(b, value)};
}

static void take_target(struct bolt *b, struct sw_bytes key, struct sw_bytes value, bool bucket)
{
	if (bucket && is_key(key, "target"))
		walk_bucket(b, value, take_digest);
}

static void take_image(struct bolt *b, struct sw_bytes key, struct sw_bytes value, bool bucket)
{
	if (!bucket)
		return;
	b->name = kept(b, key);
	walk_bucket(b, value, take_target);
}

static void take_images(struct bolt *b, struct sw_bytes key, struct sw_bytes value, bool bucket)
{
	if (bucket && is_key(key, "images"))
		walk_bucket(b, value, take_image);
}

static void take_namespace(struct bolt *b, struct sw_bytes key, struct sw_bytes value, bool bucket)
{
	(void)key;
	if (bucket)
		walk_bucket(b, value, take_images);
}

static void take_version(struct bolt *b, struct sw_bytes key, struct sw_bytes value, bool bucket)
{
	if (bucket && is_key(key, "v1"))
		walk_bucket(b, value, take_namespace);
}

/* --- the file -------------------------------------------------------------------------- */

static bool is_meta(struct sw_bytes meta)
{
	return meta.at && sw_le(meta, 0, 4) == MAGIC && sw_le(meta, 4, 4) == 2 &&
	       sw_le(meta, META - 8, 8) == hash_add(HASH_START, meta.at, META - 8);
}

/* The head of the latest whole state; its pages tell their size, which the first may
 * have lost. at of the result is NULL: there is none. */
static struct sw_bytes find_meta(struct sw_bytes file)
{
	struct sw_bytes best = {0};

	for (size_t at = 0; at <= 65536; at = at ? at * 2 : 1024) {
		struct sw_bytes meta = sw_part(file, at + HEAD, META);

		if (!is_meta(meta) || (at && sw_le(meta, 8, 4) != at))
			continue;
		/* Number of the last change. */
		if (!best.at || sw_le(meta, 48, 8) > sw_le(best, 48, 8))
			best = meta;
	}
	return best;
}

bool sw_bolt_images(struct sw_scan *s, const char *path, struct sw_named_list *out)
{
	struct str text = {0};
	struct bolt b = {.s = s, .out = out};
	struct sw_bytes meta = {0};

	if (sw_read(s, &text, path, FILE_MOST)) {
		b.file = (struct sw_bytes){(const unsigned char *)str_text(&text), text.len};
		meta = find_meta(b.file);
		b.page = (size_t)sw_le(meta, 8, 4);
	}
	b.broken = b.page < 1024;
	if (!b.broken) {
		b.budget = b.file.n / b.page + 1;
		walk_number(&b, sw_le(meta, 16, 8), 0, take_version);
	}
	str_release(&text);
	return !b.broken;
}
