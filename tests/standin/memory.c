/* Memory of the cards, at addresses that the host cannot touch, and pinned host
 * memory. What a range holds is known by a tag where possible, so that work
 * whose result is already there need not be done again. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/standin.h"

#define BASE     0x200000000000u
#define SPAN     0x010000000000u
#define ALIGN    512
#define MAX_TAGS 256

struct block {
	struct block *next;
	size_t at, bytes;
};

struct tag {
	struct tag *next;
	size_t at, bytes;
	uint64_t value;
};

static struct pinned {
	struct pinned *next;
	char *at;
	size_t bytes;
} * pinned;

/* --- the cards' memory ------------------------------------------------------------- */

static size_t region_bytes(const struct card *card)
{
	return ((size_t)card->says[LAYER_CUDA].memory_bytes + 65535) & ~(size_t)65535;
}

static bool aliased(const struct card *card)
{
	return card->real_bytes < ((size_t)card->says[LAYER_CUDA].memory_bytes & ~(size_t)65535);
}

/* Memory that is claimed and not there is the same memory again. */
static void map_memory(struct card *card)
{
	size_t region = region_bytes(card);
	int fd = -1;

	card->memory = mmap(NULL, region, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (card->memory == MAP_FAILED)
		node_bad("no memory for a card");
	if (!aliased(card))
		return;
	fd = memfd_create("card", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)card->real_bytes) != 0)
		node_bad("no memory for a card");
	for (size_t at = 0; at < region; at += card->real_bytes) {
		size_t part = region - at < card->real_bytes ? region - at : card->real_bytes;

		if (mmap(card->memory + at, part, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		         fd, 0) == MAP_FAILED)
			node_bad("no memory for a card");
	}
	close(fd);
}

size_t memory_reserved(const struct card *card)
{
	size_t bytes = (size_t)card->says[LAYER_CUDA].memory_bytes / 128;

	for (struct fault *f = NULL; (f = fault_next(f, FAULT_FOREIGN_PROCESS, card->index));)
		bytes += (size_t)((double)f->number2 * 1048576 / node.memory_divisor);
	return bytes;
}

size_t memory_used(const struct card *card)
{
	size_t used = 0;

	for (const struct block *b = card->blocks; b; b = b->next)
		used += b->bytes;
	return used;
}

static device_ptr address_of(const struct card *card, size_t at)
{
	return BASE + SPAN * (device_ptr)card->index + at;
}

int memory_alloc(struct card *card, size_t bytes, device_ptr *out)
{
	size_t size = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1), at = 0, end;
	struct block **p = &card->blocks, *b;

	end = (size_t)card->says[LAYER_CUDA].memory_bytes;
	end = end > memory_reserved(card) ? end - memory_reserved(card) : 0;
	if (bytes == 0)
		return 1;
	if (!card->memory)
		map_memory(card);
	while (*p && (*p)->at - at < size) {
		at = (*p)->at + (*p)->bytes;
		p = &(*p)->next;
	}
	if (size > end || at > end - size)
		return 2;
	b = calloc(1, sizeof(*b));
	if (!b)
		node_bad("out of memory");
	*b = (struct block){*p, at, size};
	*p = b;
	*out = address_of(card, at);
	memset(card->memory + at, 0xa5, size);
	memory_wrote(*out, size);
	return 0;
}

struct card *memory_card(device_ptr p)
{
	if (p < BASE || (p - BASE) / SPAN >= (device_ptr)node.n_cards)
		return NULL;
	return &node.cards[(p - BASE) / SPAN];
}

int memory_free(struct card *card, device_ptr p)
{
	for (struct block **at = &card->blocks; *at; at = &(*at)->next)
		if (address_of(card, (*at)->at) == p) {
			struct block *gone = *at;

			*at = gone->next;
			free(gone);
			return 0;
		}
	return 1;
}

void *memory_at(device_ptr p, size_t bytes)
{
	struct card *card = memory_card(p);
	size_t at;

	if (!card)
		return host_pinned((void *)(uintptr_t)p, bytes) ? (void *)(uintptr_t)p : NULL;
	at = (size_t)(p - address_of(card, 0));
	for (struct block *b = card->blocks; b; b = b->next)
		if (at >= b->at && at - b->at <= b->bytes && bytes <= b->bytes - (at - b->at))
			return card->memory + at;
	return NULL;
}

/* --- the host's ---------------------------------------------------------------------- */

void *host_alloc(size_t bytes)
{
	struct pinned *p = calloc(1, sizeof(*p));

	if (!p)
		node_bad("out of memory");
	p->bytes = bytes;
	p->at = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);
	if (!p->at) {
		free(p);
		return NULL;
	}
	memset(p->at, 0xa5, bytes);
	p->next = pinned;
	pinned = p;
	return p->at;
}

bool host_free(void *at)
{
	for (struct pinned **p = &pinned; *p; p = &(*p)->next)
		if ((*p)->at == at) {
			struct pinned *gone = *p;

			*p = gone->next;
			free(gone->at);
			free(gone);
			return true;
		}
	return false;
}

bool host_pinned(const void *at, size_t bytes)
{
	for (const struct pinned *p = pinned; p; p = p->next)
		if ((const char *)at >= p->at && (size_t)((const char *)at - p->at) <= p->bytes &&
		    bytes <= p->bytes - (size_t)((const char *)at - p->at))
			return true;
	return false;
}

/* --- what it holds --------------------------------------------------------------------- */

static bool has_stuck_bit(const struct card *card, size_t at, size_t bytes)
{
	bool any = false;

	for (struct fault *f = NULL; (f = fault_next(f, FAULT_BAD_MEMORY, card->index));) {
		size_t where = (size_t)f->number2 + (size_t)f->number / 8;

		if (where < at || where - at >= bytes)
			continue;
		any = true;
		if (f->flag)
			card->memory[where] |= (unsigned char)(1u << f->number % 8);
		else
			card->memory[where] &= (unsigned char)~(1u << f->number % 8);
	}
	return any;
}

void memory_wrote(device_ptr p, size_t bytes)
{
	struct card *card = memory_card(p);
	size_t at;

	if (!card || !bytes)
		return;
	at = (size_t)(p - address_of(card, 0));
	has_stuck_bit(card, at, bytes);
	for (struct tag **t = &card->tags; *t;) {
		struct tag *gone = *t;

		if (gone->at < at + bytes && at < gone->at + gone->bytes) {
			*t = gone->next;
			free(gone);
		} else {
			t = &gone->next;
		}
	}
}

/* Not the same in another process either: tags travel with collectives. */
static uint64_t unique_tag(void)
{
	static uint64_t serial;

	return hash64((uint64_t)getpid(), ++serial);
}

static struct tag *find_tag(struct card *card, size_t at, size_t bytes)
{
	for (struct tag *t = card->tags; t; t = t->next)
		if (t->at == at && t->bytes == bytes)
			return t;
	return NULL;
}

static void add_tag(struct card *card, size_t at, size_t bytes, uint64_t value)
{
	struct tag *t = calloc(1, sizeof(*t));
	int count = 0;

	if (!t)
		node_bad("out of memory");
	*t = (struct tag){card->tags, at, bytes, value};
	card->tags = t;
	for (; t->next; t = t->next)
		if (++count == MAX_TAGS) {
			free(t->next);
			t->next = NULL;
			break;
		}
}

uint64_t content_tag(device_ptr p, size_t bytes)
{
	struct card *card = memory_card(p);
	size_t at;
	struct tag *t;

	if (!card || aliased(card))
		return unique_tag();
	at = (size_t)(p - address_of(card, 0));
	t = find_tag(card, at, bytes);
	if (!t) {
		add_tag(card, at, bytes, unique_tag());
		t = card->tags;
	}
	return t->value;
}

void content_set(device_ptr p, size_t bytes, uint64_t tag)
{
	struct card *card = memory_card(p);
	size_t at;

	if (!card || aliased(card))
		return;
	at = (size_t)(p - address_of(card, 0));
	if (!has_stuck_bit(card, at, bytes))
		add_tag(card, at, bytes, tag);
}

bool content_is(device_ptr p, size_t bytes, uint64_t tag)
{
	struct card *card = memory_card(p);
	struct tag *t = NULL;

	if (card && !aliased(card))
		t = find_tag(card, (size_t)(p - address_of(card, 0)), bytes);
	return t && t->value == tag;
}

const void *content_find(uint64_t tag, size_t bytes)
{
	for (int c = 0; c < node.n_cards; c++)
		for (struct tag *t = node.cards[c].tags; t; t = t->next)
			if (t->value == tag && t->bytes == bytes)
				return node.cards[c].memory + t->at;
	return NULL;
}

uint64_t content_digest(const void *data, size_t bytes)
{
	const unsigned char *p = data;
	uint64_t h = 0xcbf29ce484222325u ^ bytes, word;

	for (; bytes >= 8; bytes -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	word = 0;
	memcpy(&word, p, bytes);
	return hash64(h, word);
}
