/* Reading, comparing and naming the nodes of a run. */
#include "coord/hello.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/msg.h"
#include "base/str.h"

#define MOST_CARDS 64
#define NOTES_SAID 3 /* of one kind */

/* --- reading ------------------------------------------------------------------- */

static const char *first_line(struct arena *arena, const char *root, const char *path)
{
	struct str text = {0};
	const char *kept = "";

	if (file_read_line(tmpf("%s%s", root, path), &text))
		kept = arena_str(arena, str_text(&text));
	str_release(&text);
	return kept;
}

/* "GPU UUID: 	 GPU-…" of the driver's text; a driver that does not know it yet
 * writes question marks. */
static const char *card_uuid(struct arena *arena, const char *root, const char *address)
{
	struct str text = {0}, path = {0};
	const char *at, *kept = arena_str(arena, address);

	str_addf(&path, "%s/proc/driver/nvidia/gpus/%s/information", root, address);
	if (file_read(&text, path.data, 1 << 16, NULL) == ST_OK) {
		at = strstr(str_text(&text), "GPU-");
		if (at && !memchr(at, '?', strcspn(at, "\n")))
			kept = arena_strn(arena, at, strcspn(at, " \t\n"));
	}
	str_release(&text);
	str_release(&path);
	return kept;
}

void identity_read(struct identity *id, struct arena *arena, const char *root, const char *host,
                   const char *version, const char *options)
{
	DIR *gpus = opendir(tmpf("%s/proc/driver/nvidia/gpus", root));
	const char **cards = arena_array(arena, MOST_CARDS, sizeof(*cards));
	const struct dirent *entry;

	*id = (struct identity){
		.host = host,
		.version = version,
		.program = "",
		.options = options,
		.machine_id = first_line(arena, root, "/etc/machine-id"),
		.boot_id = first_line(arena, root, "/proc/sys/kernel/random/boot_id"),
		.cards = cards,
	};
	while (gpus && (entry = readdir(gpus)) && id->n_cards < MOST_CARDS)
		if (entry->d_name[0] != '.')
			cards[id->n_cards++] = card_uuid(arena, root, entry->d_name);
	if (gpus)
		closedir(gpus);
}

void identity_write(const struct identity *id, struct json_out *j)
{
	json_put_string(j, "host", id->host);
	json_put_string(j, "version", id->version);
	json_put_string(j, "program", id->program);
	json_put_string(j, "options", id->options);
	json_put_string(j, "machine_id", id->machine_id);
	json_put_string(j, "boot_id", id->boot_id);
	json_array_begin(j, "cards");
	for (int i = 0; i < id->n_cards; i++)
		json_put_string(j, NULL, id->cards[i]);
	json_array_end(j);
}

const char *host_name_fit(struct arena *arena, const char *name)
{
	char *kept = arena_strn(arena, name, strnlen(name, NAME_MAX));

	for (char *p = kept; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '_';
	if (*kept == '.')
		*kept = '_';
	return *kept ? kept : "_";
}

void identity_parse(struct identity *id, struct arena *arena, const cJSON *o)
{
	const cJSON *list = json_get(o, "cards");
	const char **cards = arena_array(arena, MOST_CARDS, sizeof(*cards));

	*id = (struct identity){
		.host = host_name_fit(arena, json_string(o, "host", "")),
		.version = arena_str(arena, json_string(o, "version", "?")),
		.program = arena_str(arena, json_string(o, "program", "")),
		.options = arena_str(arena, json_string(o, "options", "")),
		.machine_id = arena_str(arena, json_string(o, "machine_id", "")),
		.boot_id = arena_str(arena, json_string(o, "boot_id", "")),
		.cards = cards,
	};
	for (const cJSON *c = list ? list->child : NULL; c && id->n_cards < MOST_CARDS; c = c->next)
		if (cJSON_IsString(c))
			cards[id->n_cards++] = arena_str(arena, c->valuestring);
}

/* --- comparing -------------------------------------------------------------------- */

/* One word of one rank; equal words come side by side when sorted. */
struct word {
	const char *text;
	int rank;
};

static int by_text(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

struct comparison {
	const struct identity *ids;
	int count;
	struct arena *arena;
	struct hello_result result;
	struct str notes;
	int of_kind; /* notes, said or not */
};

static void refuse(struct comparison *c, const char *text)
{
	if (!c->result.refusal)
		c->result.refusal = arena_str(c->arena, text);
}

static void note(struct comparison *c, const char *text)
{
	if (c->of_kind++ < NOTES_SAID)
		str_addf(&c->notes, "%s\n", text);
}

static void end_notes(struct comparison *c)
{
	if (c->of_kind > NOTES_SAID)
		str_addf(&c->notes, "%s\n",
		         say(MSG_hello_more, tmpf("%d", c->of_kind - NOTES_SAID)));
	c->of_kind = 0;
}

/* Calls meet for each word that a later rank shares with an earlier one. */
static void find_equal(struct comparison *c, struct word *words, int n,
                       void (*meet)(struct comparison *c, int a, int b, const char *word))
{
	qsort(words, (size_t)n, sizeof(*words), by_text);
	for (int i = 1; i < n; i++)
		if (*words[i].text && strcmp(words[i].text, words[i - 1].text) == 0)
			meet(c, words[i - 1].rank, words[i].rank, words[i].text);
	end_notes(c);
}

static void same_kernel(struct comparison *c, int a, int b, const char *word)
{
	const char *x = c->ids[a].host, *y = c->ids[b].host;

	(void)word;
	if (strcmp(x, y) == 0)
		refuse(c, say(MSG_hello_twice, tmpf("%d", a), tmpf("%d", b), x));
	else
		note(c, say(MSG_hello_kernel, x, y));
}

static void same_card(struct comparison *c, int a, int b, const char *word)
{
	refuse(c, say(MSG_hello_card, tmpf("%d", a), c->ids[a].host, tmpf("%d", b), c->ids[b].host,
	              word));
}

static void same_name(struct comparison *c, int a, int b, const char *word)
{
	note(c, say(MSG_hello_name, tmpf("%d", a), tmpf("%d", b), word));
}

static void same_machine(struct comparison *c, int a, int b, const char *word)
{
	(void)word;
	if (strcmp(c->ids[a].boot_id, c->ids[b].boot_id) != 0)
		note(c, say(MSG_hello_machine, c->ids[a].host, c->ids[b].host));
}

static void compare_words(struct comparison *c)
{
	struct word *words =
		arena_array(c->arena, (size_t)c->count * MOST_CARDS + 1, sizeof(*words));
	int n = 0;

#define EACH(member, meet)                                                                         \
	do {                                                                                       \
		n = 0;                                                                             \
		for (int i = 0; i < c->count; i++)                                                 \
			if (c->ids[i].host)                                                        \
				words[n++] = (struct word){c->ids[i].member, i};                   \
		find_equal(c, words, n, meet);                                                     \
	} while (0)
	EACH(boot_id, same_kernel);
	EACH(host, same_name);
	EACH(machine_id, same_machine);
#undef EACH
	n = 0;
	/* A PCI address is on every node. */
	for (int i = 0; i < c->count; i++)
		for (int k = 0; c->ids[i].host && k < c->ids[i].n_cards; k++)
			if (str_starts(c->ids[i].cards[k], "GPU-"))
				words[n++] = (struct word){c->ids[i].cards[k], i};
	find_equal(c, words, n, same_card);
}

static bool has_line(const char *text, const char *line, size_t len)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		if (n == len && memcmp(text, line, len) == 0)
			return true;
		text += n + (text[n] == '\n');
	}
	return false;
}

/* The first of a's options that b was not given as well, or given as another one. */
static const char *own_option(struct arena *arena, const char *a, const char *b)
{
	while (*a) {
		size_t n = strcspn(a, "\n");

		if (!has_line(b, a, n))
			return arena_strn(arena, a, n);
		a += n + (a[n] == '\n');
	}
	return NULL;
}

static const char *without(struct arena *arena, const char *option)
{
	const char *name = str_starts(option, "--") ? option + 2 : option;

	return say(MSG_hello_without, arena_strn(arena, name, strcspn(name, " ")));
}

static void refuse_options(struct comparison *c, int a, int b)
{
	const struct identity *x = &c->ids[a], *y = &c->ids[b];
	const char *one = own_option(c->arena, x->options, y->options),
		   *two = own_option(c->arena, y->options, x->options);

	if (!one && !two)
		one = two = say(MSG_hello_order);
	refuse(c, say(MSG_hello_options, tmpf("%d", a), x->host, one ? one : without(c->arena, two),
	              tmpf("%d", b), y->host, two ? two : without(c->arena, one)));
}

static void compare_starts(struct comparison *c)
{
	const struct identity *first = NULL;

	for (int i = 0; i < c->count; i++) {
		const struct identity *id = &c->ids[i];

		if (!id->host)
			continue;
		if (!first)
			first = id;
		if (strcmp(first->version, id->version) != 0)
			refuse(c, say(MSG_hello_version, tmpf("%d", (int)(first - c->ids)),
			              first->host, first->version, tmpf("%d", i), id->host,
			              id->version));
		if (strcmp(first->options, id->options) != 0)
			refuse_options(c, (int)(first - c->ids), i);
		if (*first->program && *id->program && strcmp(first->program, id->program) != 0)
			note(c, say(MSG_hello_program, tmpf("%d", i), id->host, id->version,
			            tmpf("%d", (int)(first - c->ids)), first->host));
	}
	end_notes(c);
}

/* The host with the rank behind it, which may be the name of another host. */
static const char *free_name(const struct comparison *c, const struct word *words, int n,
                             const struct word *w)
{
	const char *name = arena_strf(c->arena, "%s-%d", w->text, w->rank);

	for (int i = 0; i < n; i++) {
		if (strcmp(words[i].text, name) != 0)
			continue;
		name = arena_strf(c->arena, "%s_", name);
		i = -1;
	}
	return name;
}

static void name_ranks(const struct comparison *c, const char **names)
{
	struct word *words = arena_array(c->arena, (size_t)c->count + 1, sizeof(*words));
	int n = 0;

	for (int i = 0; i < c->count; i++) {
		names[i] = c->ids[i].host;
		if (names[i])
			words[n++] = (struct word){names[i], i};
		else
			names[i] = arena_strf(c->arena, "rank-%d", i);
	}
	qsort(words, (size_t)n, sizeof(*words), by_text);
	for (int i = 1; i < n; i++)
		if (strcmp(words[i].text, words[i - 1].text) == 0)
			names[words[i].rank] = free_name(c, words, n, &words[i]);
}

struct hello_result hello_check(const struct identity *ids, int count, const char **names,
                                struct arena *arena)
{
	struct comparison c = {.ids = ids, .count = count, .arena = arena};

	compare_starts(&c);
	compare_words(&c);
	name_ranks(&c, names);
	if (c.notes.len)
		c.result.notes = arena_strn(arena, c.notes.data, c.notes.len - 1);
	str_release(&c.notes);
	return c.result;
}
