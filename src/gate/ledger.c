/* Keeping account of cards and nodes; see ledger.h. */
#include "gate/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

#define LEDGER_MOST ((size_t)256 << 20)

struct card {
	const char *id, *node, *pci, *name, *serial, *vbios, *gsp, *bad;
	const char *board, *revision; /* PCI device and board; stepping of the chip */
};

struct node {
	const char *name, *machine_id, *driver;
};

/* One run; cards by id, slots the same by node and address, nodes by name. */
struct entry {
	const char *run, *time;
	struct card *cards, *slots;
	struct node *nodes;
	int n_cards, n_nodes;
};

struct ledger {
	struct arena arena;
	struct entry *entries;
	int n, cap;
};

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_id(const void *a, const void *b)
{
	return compare_text(((const struct card *)a)->id, ((const struct card *)b)->id);
}

static int by_slot(const void *a, const void *b)
{
	const struct card *x = a, *y = b;
	int c = compare_text(x->node, y->node);

	return c ? c : compare_text(x->pci, y->pci);
}

static int by_name(const void *a, const void *b)
{
	return compare_text(((const struct node *)a)->name, ((const struct node *)b)->name);
}

static const struct card *card_by_id(const struct entry *e, const struct card *like)
{
	return bsearch(like, e->cards, (size_t)e->n_cards, sizeof(*like), by_id);
}

static const struct card *card_in_slot(const struct entry *e, const struct card *like)
{
	return bsearch(like, e->slots, (size_t)e->n_cards, sizeof(*like), by_slot);
}

static const struct node *node_of(const struct entry *e, const char *name)
{
	const struct node like = {.name = name};

	return bsearch(&like, e->nodes, (size_t)e->n_nodes, sizeof(like), by_name);
}

/* --- from a run -------------------------------------------------------------------------- */

static bool load_params(struct json_doc *doc, const struct reading *r)
{
	return r->params &&
	       json_parse(doc, "params", r->params, strlen(r->params), 0, NULL) == ST_OK;
}

static const char *param(struct arena *arena, const struct reading *r, const char *key)
{
	const char *value = NULL;
	struct json_doc doc;

	if (load_params(&doc, r)) {
		value = arena_str(arena, json_string(doc.root, key, NULL));
		json_release(&doc);
	}
	return value;
}

/* As lspci writes it: 161 is a1. */
static const char *revision_of(struct arena *arena, const struct reading *r)
{
	struct json_doc doc;
	int64_t number = -1;

	if (load_params(&doc, r)) {
		number = json_int64(doc.root, "revision", -1);
		json_release(&doc);
	}
	return number >= 0 ? arena_strf(arena, "%02llx", (unsigned long long)number) : NULL;
}

static void take_card(struct arena *arena, struct entry *e, const struct reading *r,
                      const struct ledger_bad *bad, int n_bad)
{
	struct card *c = &e->cards[e->n_cards++];

	*c = (struct card){.id = r->subject.id,
	                   .node = r->node,
	                   .pci = r->subject.pci,
	                   .name = r->text,
	                   .serial = param(arena, r, "serial"),
	                   .vbios = param(arena, r, "vbios"),
	                   .gsp = param(arena, r, "gsp")};
	for (int i = 0; i < n_bad && !c->bad; i++)
		if (strcmp(bad[i].card, c->id) == 0)
			c->bad = bad[i].why;
}

/* Cards are sorted by id. */
static void take_board(struct arena *arena, struct entry *e, const struct reading *r)
{
	const struct card like = {.id = r->subject.id};
	struct card *c = bsearch(&like, e->cards, (size_t)e->n_cards, sizeof(like), by_id);
	const char *board = c ? param(arena, r, "subsystem") : NULL;

	if (!c)
		return;
	c->board = board ? arena_strf(arena, "%s %s", r->text ? r->text : "?", board) : r->text;
	c->revision = revision_of(arena, r);
}

static void take_node(struct entry *e, const struct reading *r)
{
	struct node *n = NULL;

	for (int i = e->n_nodes - 1; i >= 0 && !n; i--)
		if (strcmp(e->nodes[i].name, r->node) == 0)
			n = &e->nodes[i];
	if (!n) {
		n = &e->nodes[e->n_nodes++];
		*n = (struct node){.name = r->node};
	}
	if (strcmp(r->metric, "node_machine_id") == 0)
		n->machine_id = r->text;
	else
		n->driver = r->text;
}

static bool is_card(const struct reading *r)
{
	return strcmp(r->metric, "card_name") == 0 && r->subject.id &&
	       strcmp(r->subject.id, "*") != 0;
}

static bool is_board(const struct reading *r)
{
	return strcmp(r->metric, "card_pci_device") == 0 && r->subject.id;
}

static bool is_node(const struct reading *r)
{
	return r->node && (strcmp(r->metric, "node_machine_id") == 0 ||
	                   strcmp(r->metric, "node_driver_version") == 0);
}

static void take_run(struct entry *e, struct rundir *run, const struct ledger_bad *bad, int n_bad)
{
	struct effective f = rundir_effective(run);
	int64_t cards = 0, nodes = 0;

	for (int64_t i = 0; i < f.count; i++) {
		cards += is_card(f.readings[i]);
		nodes += is_node(f.readings[i]);
	}
	e->run = run->info.id;
	e->time = run->info.created;
	e->cards = arena_array(&run->arena, (size_t)cards + 1, sizeof(*e->cards));
	e->nodes = arena_array(&run->arena, (size_t)nodes + 1, sizeof(*e->nodes));
	for (int64_t i = 0; i < f.count; i++) {
		if (is_card(f.readings[i]))
			take_card(&run->arena, e, f.readings[i], bad, n_bad);
		if (is_node(f.readings[i]))
			take_node(e, f.readings[i]);
	}
	qsort(e->cards, (size_t)e->n_cards, sizeof(*e->cards), by_id);
	for (int64_t i = 0; i < f.count; i++)
		if (is_board(f.readings[i]))
			take_board(&run->arena, e, f.readings[i]);
}

static void put_known(struct json_out *j, const char *key, const char *text)
{
	if (text)
		json_put_string(j, key, text);
}

static void format(struct str *out, const struct entry *e, const char *vendor)
{
	struct json_out j = json_writer(out, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "v", 1);
	json_put_string(&j, "run", e->run);
	json_put_string(&j, "time", e->time);
	put_known(&j, "vendor", vendor);
	json_array_begin(&j, "nodes");
	for (int i = 0; i < e->n_nodes; i++) {
		json_object_begin(&j, NULL);
		json_put_string(&j, "name", e->nodes[i].name);
		put_known(&j, "machine_id", e->nodes[i].machine_id);
		put_known(&j, "driver", e->nodes[i].driver);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_array_begin(&j, "cards");
	for (int i = 0; i < e->n_cards; i++) {
		const struct card *c = &e->cards[i];

		json_object_begin(&j, NULL);
		json_put_string(&j, "id", c->id);
		put_known(&j, "node", c->node);
		put_known(&j, "pci", c->pci);
		put_known(&j, "name", c->name);
		put_known(&j, "serial", c->serial);
		put_known(&j, "vbios", c->vbios);
		put_known(&j, "gsp", c->gsp);
		put_known(&j, "board", c->board);
		put_known(&j, "revision", c->revision);
		put_known(&j, "bad", c->bad);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	str_addc(out, '\n');
}

/* --- from the file ------------------------------------------------------------------------- */

static void read_card(struct arena *a, struct card *c, const cJSON *item)
{
	*c = (struct card){
		.id = arena_str(a, json_string(item, "id", "?")),
		.node = arena_str(a, json_string(item, "node", NULL)),
		.pci = arena_str(a, json_string(item, "pci", NULL)),
		.name = arena_str(a, json_string(item, "name", NULL)),
		.serial = arena_str(a, json_string(item, "serial", NULL)),
		.vbios = arena_str(a, json_string(item, "vbios", NULL)),
		.gsp = arena_str(a, json_string(item, "gsp", NULL)),
		.board = arena_str(a, json_string(item, "board", NULL)),
		.revision = arena_str(a, json_string(item, "revision", NULL)),
		.bad = arena_str(a, json_string(item, "bad", NULL)),
	};
}

static void read_entry(struct ledger *l, const cJSON *root)
{
	const cJSON *cards = json_get(root, "cards"), *nodes = json_get(root, "nodes"), *item;
	struct arena *a = &l->arena;
	struct entry *e;

	if (l->n == l->cap) {
		struct entry *more;

		l->cap = l->cap ? l->cap * 2 : 16;
		more = arena_array(a, (size_t)l->cap, sizeof(*more));
		if (l->n)
			memcpy(more, l->entries, (size_t)l->n * sizeof(*more));
		l->entries = more;
	}
	e = &l->entries[l->n++];
	*e = (struct entry){.run = arena_str(a, json_string(root, "run", "?")),
	                    .time = arena_str(a, json_string(root, "time", "?"))};
	e->cards = arena_array(a, (size_t)cJSON_GetArraySize(cards) + 1, sizeof(*e->cards));
	e->slots = arena_array(a, (size_t)cJSON_GetArraySize(cards) + 1, sizeof(*e->slots));
	e->nodes = arena_array(a, (size_t)cJSON_GetArraySize(nodes) + 1, sizeof(*e->nodes));
	cJSON_ArrayForEach(item, cards)
	{
		read_card(a, &e->cards[e->n_cards++], item);
	}
	cJSON_ArrayForEach(item, nodes)
	{
		e->nodes[e->n_nodes++] = (struct node){
			arena_str(a, json_string(item, "name", "?")),
			arena_str(a, json_string(item, "machine_id", NULL)),
			arena_str(a, json_string(item, "driver", NULL)),
		};
	}
	memcpy(e->slots, e->cards, (size_t)e->n_cards * sizeof(*e->cards));
	qsort(e->cards, (size_t)e->n_cards, sizeof(*e->cards), by_id);
	qsort(e->slots, (size_t)e->n_cards, sizeof(*e->slots), by_slot);
	qsort(e->nodes, (size_t)e->n_nodes, sizeof(*e->nodes), by_name);
}

static enum status read_line(struct ledger *l, const char *path, int number, const char *line,
                             size_t len, struct error *err)
{
	struct error why = {0};
	struct json_doc doc;
	enum status st = json_parse(&doc, path, line, len, 0, &why);

	if (st != ST_OK) {
		error_set(err, ST_PARSE, MSG_ledger_bad_line, path, tmpf("%d", number),
		          str_text(&why.text));
		error_release(&why);
		return ST_PARSE;
	}
	if (json_number(doc.root, "v", 0) != 1 || !cJSON_IsArray(json_get(doc.root, "cards")) ||
	    !cJSON_IsArray(json_get(doc.root, "nodes")))
		st = error_set(err, ST_PARSE, MSG_ledger_bad_line, path, tmpf("%d", number),
		               "v, nodes, cards");
	else
		read_entry(l, doc.root);
	json_release(&doc);
	return st;
}

/* A file that is not there is an empty ledger. */
static enum status ledger_read(struct ledger *l, const char *path, struct error *err)
{
	struct str text = {0};
	struct error why = {0};
	enum status st = file_read(&text, path, LEDGER_MOST, &why);
	int number = 0;

	if (st == ST_NOTFOUND) {
		st = ST_OK;
		error_release(&why);
	} else if (st != ST_OK) {
		*err = why;
	}
	for (const char *p = str_text(&text); *p && st == ST_OK;) {
		size_t len = strcspn(p, "\n");

		st = read_line(l, path, ++number, p, len, err);
		p += len + (p[len] == '\n');
	}
	str_release(&text);
	return st;
}

/* --- adding ------------------------------------------------------------------------------------ */

static enum status append(const char *path, const struct str *line, struct error *err)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	enum status st;

	if (fd < 0)
		return error_errno(err, path, errno);
	st = fd_write_all(fd, line->data, line->len);
	if (st != ST_OK || fsync(fd) != 0)
		st = error_errno(err, path, errno);
	if (close(fd) != 0 && st == ST_OK)
		st = error_errno(err, path, errno);
	return st;
}

enum status ledger_add(const char *path, struct rundir *run, const struct ledger_bad *bad,
                       int n_bad, struct ledger_added *added, struct error *err)
{
	struct entry e = {0};
	struct ledger l = {0};
	struct str line = {0};
	enum status st = ledger_read(&l, path, err);

	*added = (struct ledger_added){0};
	for (int i = 0; i < l.n; i++)
		added->again = added->again || strcmp(l.entries[i].run, run->info.id) == 0;
	if (st == ST_OK && !added->again) {
		take_run(&e, run, bad, n_bad);
		added->nodes = e.n_nodes;
		added->cards = e.n_cards;
		if (!e.n_nodes)
			st = error_set(err, ST_USAGE, MSG_ledger_no_subjects, run->path);
	}
	if (st == ST_OK && !added->again) {
		format(&line, &e, run->info.vendor);
		st = append(path, &line, err);
	}
	str_release(&line);
	arena_release(&l.arena);
	return st;
}

/* --- telling ------------------------------------------------------------------------------------ */

static const char *place(const struct card *c)
{
	return tmpf("%s %s", c->node ? c->node : "?", c->pci ? c->pci : "?");
}

static const char *known(const struct card *c)
{
	return c->serial ? tmpf("%s (%s)", c->id, c->serial) : c->id;
}

static void tell(struct str *out, const char *line)
{
	str_addf(out, "%s\n", line);
}

static void tell_slots(struct str *out, const struct entry *before, const struct entry *now)
{
	for (int i = 0; i < before->n_cards; i++) {
		const struct card *old = &before->slots[i], *here = card_in_slot(now, old);
		const struct card *same = card_by_id(now, old);

		if (here && strcmp(here->id, old->id) != 0)
			tell(out,
			     say(MSG_ledger_swapped, old->node ? old->node : "?",
			         old->pci ? old->pci : "?", known(old), now->time, known(here)));
		if (same && by_slot(same, old) != 0)
			tell(out,
			     say(MSG_ledger_moved, known(old), place(old), now->time, place(same)));
		if (!same && !here && old->node && node_of(now, old->node))
			tell(out, say(MSG_ledger_missing, known(old), place(old), now->time));
	}
}

static void tell_change(struct str *out, const char *who, const char *what, const char *before,
                        const char *now)
{
	if (before && now && strcmp(before, now) != 0)
		tell(out, say(MSG_ledger_changed, who, what, before, now));
}

static void tell_firmware(struct str *out, const struct entry *before, const struct entry *now)
{
	for (int i = 0; i < now->n_cards; i++) {
		const struct card *c = &now->cards[i], *old = card_by_id(before, c);

		if (!old)
			continue;
		tell_change(out, known(c), "VBIOS", old->vbios, c->vbios);
		tell_change(out, known(c), "GSP", old->gsp, c->gsp);
	}
	for (int i = 0; i < now->n_nodes; i++) {
		const struct node *n = &now->nodes[i], *old = node_of(before, n->name);

		if (!old)
			continue;
		tell_change(out, n->name, "machine-id", old->machine_id, n->machine_id);
		tell_change(out, n->name, "driver", old->driver, n->driver);
	}
}

/* Bad in an earlier run and there in the latest: the last time it was bad is told, and
 * whether it was away in between. */
static void tell_bad(struct str *out, const struct ledger *l)
{
	const struct entry *now = &l->entries[l->n - 1];

	for (int i = 0; i < now->n_cards; i++) {
		const struct card *c = &now->cards[i], *bad = NULL;
		const char *when = NULL;
		bool away = false;

		for (int r = 0; r + 1 < l->n; r++) {
			const struct card *old = card_by_id(&l->entries[r], c);

			if (old && old->bad) {
				bad = old;
				when = l->entries[r].time;
				away = false;
			}
			away = away || (bad && !old);
		}
		if (bad)
			tell(out, say(away ? MSG_ledger_returned : MSG_ledger_stays_bad, known(c),
			              when, bad->bad, place(c)));
	}
}

/* What cards of one kind, or nodes, should have alike in the latest run: how many have
 * the first one's, and one of the others. */
struct alike {
	const char *first, *other;
	int same;
};

static void look_alike(struct alike *a, const char *value)
{
	if (!value)
		return;
	a->first = a->first ? a->first : value;
	if (strcmp(a->first, value) == 0)
		a->same++;
	else
		a->other = value;
}

/* Cards of one name: firmware, board, stepping. */
static void tell_mixed_cards(struct str *out, const struct entry *now, const char *name)
{
	static const char *const what[] = {"VBIOS", "GSP", "PCI", "PCI revision"};
	struct alike alike[4] = {0};

	for (int k = 0; k < now->n_cards; k++) {
		const struct card *c = &now->cards[k];
		const char *const values[] = {c->vbios, c->gsp, c->board, c->revision};

		for (int i = 0; i < 4 && c->name && strcmp(c->name, name) == 0; i++)
			look_alike(&alike[i], values[i]);
	}
	for (int i = 0; i < 4; i++)
		if (alike[i].other)
			tell(out, say(MSG_ledger_mixed, name, tmpf("%d", alike[i].same),
			              tmpf("%s %s", what[i], alike[i].first), alike[i].other));
}

static void tell_mixed(struct str *out, const struct entry *now)
{
	const char *told[64];
	struct alike drivers = {0};
	int n_told = 0;

	for (int i = 0; i < now->n_cards; i++) {
		const char *name = now->cards[i].name;
		bool known_name = !name || n_told == 64;

		for (int k = 0; k < n_told && !known_name; k++)
			known_name = strcmp(told[k], name) == 0;
		if (known_name)
			continue;
		told[n_told++] = name;
		tell_mixed_cards(out, now, name);
	}
	for (int i = 0; i < now->n_nodes; i++)
		look_alike(&drivers, now->nodes[i].driver);
	if (drivers.other)
		tell(out, say(MSG_ledger_mixed_nodes, tmpf("%d", drivers.same), drivers.first,
		              drivers.other));
}

/* A machine under another name, and nodes that are not there any more. */
static void tell_nodes(struct str *out, const struct entry *before, const struct entry *now)
{
	for (int i = 0; i < before->n_nodes; i++) {
		const struct node *old = &before->nodes[i];
		const char *renamed = NULL;

		if (node_of(now, old->name))
			continue;
		for (int k = 0; k < now->n_nodes && old->machine_id; k++)
			if (now->nodes[k].machine_id &&
			    strcmp(now->nodes[k].machine_id, old->machine_id) == 0)
				renamed = now->nodes[k].name;
		if (renamed)
			tell(out, say(MSG_ledger_renamed, old->name, now->time, renamed));
		else
			tell(out, say(MSG_ledger_node_gone, old->name, now->time));
	}
}

static void tell_clock(struct str *out, const struct entry *before, const struct entry *now)
{
	if (strcmp(now->time, before->time) < 0)
		tell(out, say(MSG_ledger_clock, now->run, now->time, before->time));
}

enum status ledger_show(const char *path, struct str *out, struct error *err)
{
	struct ledger l = {0};
	enum status st = ledger_read(&l, path, err);
	size_t head;

	if (st == ST_OK && !l.n)
		st = error_set(err, ST_USAGE, MSG_ledger_nothing, path);
	if (st == ST_OK) {
		const struct entry *now = &l.entries[l.n - 1];

		tell(out, say(MSG_ledger_head, path, tmpf("%d", l.n), tmpf("%d", now->n_nodes),
		              tmpf("%d", now->n_cards), now->time));
		head = out->len;
		for (int i = 1; i < l.n; i++) {
			tell_clock(out, &l.entries[i - 1], &l.entries[i]);
			tell_nodes(out, &l.entries[i - 1], &l.entries[i]);
			tell_slots(out, &l.entries[i - 1], &l.entries[i]);
			tell_firmware(out, &l.entries[i - 1], &l.entries[i]);
		}
		tell_bad(out, &l);
		tell_mixed(out, now);
		if (out->len == head)
			tell(out, say(MSG_ledger_quiet));
	}
	arena_release(&l.arena);
	return st;
}
