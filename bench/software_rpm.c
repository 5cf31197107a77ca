/* Packages of Red Hat's kind, by their data base alone: rpm and its libraries belong to
 * the image and are not run. Three containers of it are in use (SQLite since RHEL 9, a
 * Berkeley DB hash before, SUSE's own), all holding the same headers; of each only what
 * leads to the headers is read, and nothing in it is believed that cannot be. Formats:
 * sqlite.org/fileformat2.html, db_page.h of Berkeley DB 5.3, rpm's lib/backend/ndb/rpmpkg.c
 * and its manual "RPM v4 header format". */
#include <string.h>

#include "software.h"

#define FILE_MOST    ((size_t)512 << 20)
#define HEADER_MOST  ((size_t)32 << 20) /* of one package, with its list of files */
#define ENTRIES_MOST 65536              /* in a header */
#define TEXT_MOST    1024               /* of a name or version */

struct store {
	struct sw_scan *s;
	struct sw_bytes file;
	const char *path;
	struct str blob; /* one header that lay in pieces */
	size_t budget;   /* pages that may still be looked at: links may form circles */
	bool broken;     /* something was not as the format wants it */
};

static unsigned be(struct sw_bytes b, size_t at, int count)
{
	unsigned value = 0;

	if (at > b.n || b.n - at < (size_t)count)
		return 0;
	for (int i = 0; i < count; i++)
		value = value << 8 | b.at[at + (size_t)i];
	return value;
}

static unsigned le(struct sw_bytes b, size_t at, int count)
{
	return (unsigned)sw_le(b, at, count);
}

/* --- headers ------------------------------------------------------------------------------ */

enum { TAG_NAME = 1000, TAG_VERSION = 1001, TAG_RELEASE = 1002, TYPE_STRING = 6 };

/* Text of a tag in the data of a header; NULL: none, or no text that ends. */
static const char *text_at(struct sw_scan *s, struct sw_bytes data, size_t at)
{
	const unsigned char *end = at < data.n ? memchr(data.at + at, '\0', data.n - at) : NULL;

	return end && end > data.at + at && end <= data.at + at + TEXT_MOST
	               ? arena_strn(s->arena, (const char *)data.at + at,
	                            (size_t)(end - (data.at + at)))
	               : NULL;
}

static void take_header(struct store *st, struct sw_bytes b)
{
	size_t entries = be(b, 0, 4), length = be(b, 4, 4);
	struct sw_bytes index = sw_part(b, 8, entries * 16),
			data = sw_part(b, 8 + entries * 16, length);
	const char *name = NULL, *version = NULL, *release = NULL;
	struct sw_package *p;

	if (entries == 0 || entries > ENTRIES_MOST || !index.at || !data.at) {
		st->broken = true;
		return;
	}
	for (size_t i = 0; i < entries; i++) {
		unsigned tag = be(index, i * 16, 4), at = be(index, i * 16 + 8, 4);

		if (be(index, i * 16 + 4, 4) != TYPE_STRING)
			continue;
		if (tag == TAG_NAME)
			name = text_at(st->s, data, at);
		else if (tag == TAG_VERSION)
			version = text_at(st->s, data, at);
		else if (tag == TAG_RELEASE)
			release = text_at(st->s, data, at);
	}
	/* Keys of signatures are kept as if they were packages. */
	if (!name || strcmp(name, "gpg-pubkey") == 0) {
		st->broken = st->broken || !name;
		return;
	}
	p = sw_add_package(st->s, SW_RPM);
	p->name = name;
	p->dir = st->path;
	if (version)
		p->version =
			release ? arena_strf(st->s->arena, "%s-%s", version, release) : version;
	else
		p->fault = "no version";
}

/* --- SQLite --------------------------------------------------------------------------------- */

struct sqlite {
	struct store *st;
	size_t page, usable;
	/* What is done with each row of the table that is walked. */
	void (*take)(struct sqlite *q, struct sw_bytes record);
	unsigned root; /* page of the table Packages, once it is found; else 0 */
};

static struct sw_bytes page_of(const struct sqlite *q, unsigned number)
{
	return number ? sw_part(q->st->file, (size_t)(number - 1) * q->page, q->page)
	              : (struct sw_bytes){0};
}

/* A number of 1 to 9 bytes; *at moves behind it. */
static uint64_t varint(struct sw_bytes b, size_t *at)
{
	uint64_t value = 0;

	for (int i = 0; i < 9 && *at < b.n; i++) {
		unsigned char byte = b.at[(*at)++];

		if (i == 8)
			return value << 8 | byte;
		value = value << 7 | (byte & 0x7f);
		if (!(byte & 0x80))
			break;
	}
	return value;
}

/* What of a payload lies in the leaf; the rest is in a chain of pages. */
static size_t local_part(const struct sqlite *q, uint64_t size)
{
	size_t most = q->usable - 35, least = (q->usable - 12) * 32 / 255 - 23, want;

	if (size <= most)
		return (size_t)size;
	want = least + (size_t)((size - least) % (q->usable - 4));
	return want <= most ? want : least;
}

static void take_cell(struct sqlite *q, struct sw_bytes page, size_t at)
{
	struct store *st = q->st;
	uint64_t size = varint(page, &at);
	size_t local;
	unsigned next;

	varint(page, &at); /* the row's number */
	local = local_part(q, size);
	if (size > HEADER_MOST || !sw_part(page, at, local).at) {
		st->broken = true;
		return;
	}
	if (local == size) {
		q->take(q, sw_part(page, at, local));
		return;
	}
	str_clear(&st->blob);
	str_addn(&st->blob, (const char *)page.at + at, local);
	next = be(page, at + local, 4);
	while (next && st->blob.len < size && st->budget) {
		struct sw_bytes more = page_of(q, next);
		size_t left = (size_t)size - st->blob.len;

		st->budget--;
		if (!more.at)
			break;
		str_addn(&st->blob, (const char *)more.at + 4,
		         left < q->usable - 4 ? left : q->usable - 4);
		next = be(more, 0, 4);
	}
	if (st->blob.len == size)
		q->take(q, (struct sw_bytes){(const unsigned char *)st->blob.data, st->blob.len});
	else
		st->broken = true;
}

/* A tree of a table: inner pages lead to leaves. */
static void walk_table(struct sqlite *q, unsigned number, int depth)
{
	struct sw_bytes page = page_of(q, number);
	size_t head = number == 1 ? 100 : 0;
	unsigned kind = be(page, head, 1), cells = be(page, head + 3, 2);
	size_t index = head + (kind == 5 ? 12 : 8);

	if (!page.at || depth > 20 || !q->st->budget || (kind != 5 && kind != 13)) {
		q->st->broken = true;
		return;
	}
	q->st->budget--;
	for (unsigned i = 0; i < cells && !sw_late(q->st->s); i++) {
		size_t at = be(page, index + 2 * (size_t)i, 2);

		if (kind == 5)
			walk_table(q, be(page, at, 4), depth + 1);
		else
			take_cell(q, page, at);
	}
	if (kind == 5)
		walk_table(q, be(page, head + 8, 4), depth + 1);
}

/* Bytes of a column by its type; integers other than of 1 to 4 bytes are not needed. */
static size_t column_size(uint64_t type)
{
	static const size_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};

	return type < 10 ? sizes[type] : type < 12 ? 0 : (size_t)((type - 12) / 2);
}

/* Column `wanted` of a record; *type tells what it is. */
static struct sw_bytes column(struct sw_bytes record, int wanted, uint64_t *type)
{
	size_t at = 0, head = (size_t)varint(record, &at), data = head;

	for (int i = 0; at < head && at < record.n; i++) {
		*type = varint(record, &at);
		if (i == wanted)
			return sw_part(record, data, column_size(*type));
		data += column_size(*type);
	}
	return (struct sw_bytes){0};
}

static void take_schema(struct sqlite *q, struct sw_bytes record)
{
	uint64_t type;
	struct sw_bytes name = column(record, 1, &type), root;

	if (!name.at || name.n != 8 || memcmp(name.at, "Packages", 8) != 0)
		return;
	root = column(record, 3, &type);
	if (root.at && type >= 1 && type <= 4)
		q->root = be(root, 0, (int)root.n);
}

static void take_package(struct sqlite *q, struct sw_bytes record)
{
	uint64_t type;
	struct sw_bytes blob = column(record, 1, &type);

	if (blob.at)
		take_header(q->st, blob);
	else
		q->st->broken = true;
}

static void read_sqlite(struct store *st)
{
	struct sqlite q = {.st = st, .page = be(st->file, 16, 2), .take = take_schema};

	q.page = q.page == 1 ? 65536 : q.page;
	q.usable = q.page - be(st->file, 20, 1);
	if (st->file.n < 512 || memcmp(st->file.at, "SQLite format 3", 16) != 0 || q.page < 512 ||
	    q.usable < 480) {
		st->broken = true;
		return;
	}
	st->budget = 2 * (st->file.n / q.page + 1);
	walk_table(&q, 1, 0);
	q.take = take_package;
	if (q.root)
		walk_table(&q, q.root, 0);
	else
		st->broken = true;
}

/* --- Berkeley DB, hash ------------------------------------------------------------------------ */

enum {
	BDB_HASH_MAGIC = 0x61561,
	BDB_HASH = 13,
	BDB_HASH_OLD = 2,
	BDB_OFF_PAGE = 3,
	BDB_OVERFLOW = 7,
	BDB_HEAD = 26
};

/* A value that lies in a chain of pages of its own, as all headers do. */
static void take_chain(struct store *st, size_t page_size, unsigned number, size_t length)
{
	if (length > HEADER_MOST) {
		st->broken = true;
		return;
	}
	str_clear(&st->blob);
	while (number && st->blob.len < length && st->budget) {
		struct sw_bytes page = sw_part(st->file, (size_t)number * page_size, page_size);
		size_t used = le(page, 22, 2), left = length - st->blob.len;

		st->budget--;
		number = le(page, 16, 4);
		used = number && used == 0 ? page_size - BDB_HEAD : used;
		if (!page.at || le(page, 25, 1) != BDB_OVERFLOW || used > page_size - BDB_HEAD)
			break;
		str_addn(&st->blob, (const char *)page.at + BDB_HEAD, left < used ? left : used);
	}
	if (st->blob.len == length)
		take_header(st, (struct sw_bytes){(const unsigned char *)st->blob.data, length});
	else
		st->broken = true;
}

static void read_bdb(struct store *st)
{
	size_t size = le(st->file, 20, 4);

	if (le(st->file, 12, 4) != BDB_HASH_MAGIC || size < 512 || size > 65536) {
		st->broken = true; /* of the other byte order too: no such cards there */
		return;
	}
	st->budget = 2 * (st->file.n / size + 1);
	for (size_t at = size; at + size <= st->file.n && !sw_late(st->s); at += size) {
		struct sw_bytes page = sw_part(st->file, at, size);
		unsigned kind = le(page, 25, 1), entries = le(page, 20, 2);

		/* Keys and values in turn. */
		for (unsigned i = 1; (kind == BDB_HASH || kind == BDB_HASH_OLD) && i < entries;
		     i += 2) {
			size_t item = le(page, BDB_HEAD + 2 * (size_t)i, 2);

			if (le(page, item, 1) == BDB_OFF_PAGE)
				take_chain(st, size, le(page, item + 4, 4), le(page, item + 8, 4));
		}
	}
}

/* --- SUSE's ------------------------------------------------------------------------------------ */

static void read_ndb(struct store *st)
{
	size_t slots = (size_t)le(st->file, 12, 4) * 4096 / 16;

	if (st->file.n < 4096 || memcmp(st->file.at, "RpmP", 4) != 0) {
		st->broken = true;
		return;
	}
	for (size_t i = 2; i < slots && 16 * i + 16 <= st->file.n && !sw_late(st->s); i++) {
		size_t slot = 16 * i, at = (size_t)le(st->file, slot + 8, 4) * 16;
		struct sw_bytes head = sw_part(st->file, at, 16);
		bool is_slot = memcmp(st->file.at + slot, "Slot", 4) == 0;

		st->broken = st->broken || !is_slot;
		if (!is_slot || le(st->file, slot + 4, 4) == 0)
			continue; /* of package 0: free */
		if (!head.at || memcmp(head.at, "BlbS", 4) != 0)
			st->broken = true;
		else
			take_header(st, sw_part(st->file, at + 16, le(head, 12, 4)));
	}
}

/* --- which one --------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*read)(struct store *st);
} kinds[] = {
	{"rpmdb.sqlite", read_sqlite},
	{"Packages.db", read_ndb},
	{"Packages", read_bdb},
};

static const char *const dirs[] = {"/usr/lib/sysimage/rpm", "/var/lib/rpm"};

/* What a crash or a running rpm left beside it is not read, and said. */
static void note_log(struct sw_scan *s, const char *path)
{
	struct stat at;

	if (sw_stat(s, tmpf("%s-wal", path), &at) && at.st_size > 32)
		sw_add_text(s, &s->unreadable,
		            tmpf("%s-wal: changes that are not in %s yet", path, path));
}

static void read_store(struct sw_scan *s, const char *path, void (*read)(struct store *st))
{
	struct str text = {0};
	struct store st = {.s = s, .path = path};

	if (!sw_read(s, &text, path, FILE_MOST)) {
		sw_add_text(s, &s->unreadable, tmpf("%s: cannot be read", path));
	} else {
		st.file = (struct sw_bytes){(const unsigned char *)str_text(&text), text.len};
		read(&st);
		note_log(s, path);
		if (st.broken)
			sw_add_text(s, &s->unreadable, tmpf("%s: not all of it is sound", path));
	}
	str_release(&st.blob);
	str_release(&text);
}

void sw_find_rpm(struct sw_scan *s)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
		for (size_t d = 0; d < sizeof(dirs) / sizeof(*dirs); d++) {
			const char *path = arena_strf(s->arena, "%s/%s", dirs[d], kinds[k].name);

			if (!sw_there(s, path))
				continue;
			read_store(s, path, kinds[k].read);
			return;
		}
}
