/* Column maps of bills; see bill_map.h. */
#include "service/bill_map.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/config.h"
#include "base/json.h"
#include "service/stamp.h"

static const struct {
	const char *name;
	enum bill_need need;
} roles[] = {
#define X(name, text, need) {text, need},
	BILL_ROLE_LIST(X)
#undef X
};

static enum status malformed(const struct json_doc *doc, const cJSON *at, const char *what,
                             struct error *err)
{
	return error_set(err, ST_PARSE, MSG_bill_map_member, json_place(doc, at), what);
}

static enum status take_words(const char *const **out, struct arena *arena,
                              const struct json_doc *doc, const cJSON *list, const char *what,
                              struct error *err)
{
	const char **words;
	const cJSON *word;
	int n = 0;

	if (list && !cJSON_IsArray(list))
		return malformed(doc, list, what, err);
	words = arena_array(arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(*words));
	cJSON_ArrayForEach(word, list)
	{
		if (!cJSON_IsString(word))
			return malformed(doc, list, what, err);
		words[n++] = arena_str(arena, word->valuestring);
	}
	*out = words;
	return ST_OK;
}

static enum status take_columns(struct bill_map *m, struct arena *arena, const struct json_doc *doc,
                                struct error *err)
{
	const cJSON *columns = json_get(doc->root, "columns"), *member;
	enum status st = ST_OK;

	cJSON_ArrayForEach(member, columns)
	{
		int role = 0;

		while (role < BILL_ROLES && strcmp(roles[role].name, member->string) != 0)
			role++;
		if (role == BILL_ROLES)
			return malformed(doc, member, member->string, err);
		st = take_words(&m->columns[role], arena, doc, member, member->string, err);
		if (st != ST_OK)
			return st;
	}
	for (int role = 0; role < BILL_ROLES && st == ST_OK; role++)
		if (!m->columns[role])
			st = take_words(&m->columns[role], arena, doc, NULL, roles[role].name, err);
	return st;
}

static enum status take_categories(struct bill_map *m, struct arena *arena,
                                   const struct json_doc *doc, struct error *err)
{
	static const char *const words[] = {"usage", "tax", "credit", "correction"};
	const cJSON *list = json_get(doc->root, "categories"), *member;
	struct bill_category_row *rows =
		arena_array(arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(*rows));

	cJSON_ArrayForEach(member, list)
	{
		int c = 0;

		while (c < BILL_IS_UNKNOWN &&
		       strcmp(words[c], cJSON_IsString(member) ? member->valuestring : "") != 0)
			c++;
		if (c == BILL_IS_UNKNOWN)
			return malformed(doc, member, member->string, err);
		rows[m->n_categories++] = (struct bill_category_row){
			arena_str(arena, member->string), (enum bill_category)c};
	}
	m->categories = rows;
	return ST_OK;
}

/* "+08:00" in minutes. */
static bool take_zone(struct bill_map *m, const char *zone)
{
	int64_t there, utc;

	if (!stamp_parse(tmpf("2000-01-02T00:00:00%s", zone), 0, &there, NULL) ||
	    !stamp_parse("2000-01-02T00:00:00Z", 0, &utc, NULL))
		return false;
	m->zone_minutes = (int)((utc - there) / 60);
	return true;
}

static enum status map_parse(struct bill_map *m, struct arena *arena, const struct json_doc *doc,
                             struct error *err)
{
	double hours = json_number(doc->root, "final_hours", -1);
	enum status st;

	*m = (struct bill_map){
		.name = arena_str(arena, json_string(doc->root, "name", NULL)),
		.title = arena_str(arena, json_string(doc->root, "title", NULL)),
		.currency = arena_str(arena, json_string(doc->root, "currency", NULL)),
		.final_hours = (int)hours,
	};
	if (json_int64(doc->root, "v", 0) != 1 || !m->name || !m->title || !(hours >= 0) ||
	    !take_zone(m, json_string(doc->root, "zone", "?")))
		return malformed(doc, doc->root, "v, name, title, zone, final_hours", err);
	st = take_columns(m, arena, doc, err);
	if (st == ST_OK)
		st = take_categories(m, arena, doc, err);
	if (st == ST_OK)
		st = take_words(&m->totals, arena, doc, json_get(doc->root, "totals"), "totals",
		                err);
	return st;
}

static enum status map_read(struct bill_map *m, struct arena *arena, const char *name,
                            const char *config_dir, struct error *err)
{
	struct str text = {0}, where = {0};
	struct json_doc doc;
	enum status st = config_read(&text, &where, config_dir, tmpf("bills/%s.json", name), err);

	if (st == ST_OK)
		st = json_parse(&doc, str_text(&where), str_text(&text), text.len, JSON_COMMENTS,
		                err);
	if (st == ST_OK) {
		st = map_parse(m, arena, &doc, err);
		json_release(&doc);
	}
	str_release(&text);
	str_release(&where);
	return st;
}

/* --- which one fits --------------------------------------------------------------- */

static bool is_required(const struct bill_map *m, int role)
{
	if (role == BILL_AT_CURRENCY)
		return !m->currency;
	return roles[role].need == BILL_ALWAYS ||
	       (roles[role].need == BILL_IF_NAMED && m->columns[role][0]);
}

/* Columns found; *missing: required roles without one, the first in *first. */
static int match(const struct bill_map *m, const struct sheet *sheet, int at[BILL_ROLES],
                 int *missing, int *first)
{
	int found = 0;

	*missing = 0;
	for (int role = BILL_ROLES - 1; role >= 0; role--) {
		at[role] = -1;
		for (const char *const *c = m->columns[role]; *c && at[role] < 0; c++)
			at[role] = sheet_column(sheet, *c);
		found += at[role] >= 0;
		if (at[role] < 0 && is_required(m, role)) {
			(*missing)++;
			*first = role;
		}
	}
	return found;
}

/* The column of a role as the map has it, and the nearest there is, or NULL. */
static const char *wanted(const struct bill_map *m, const struct sheet *sheet, int role,
                          struct arena *arena, const char **near)
{
	const char **names = arena_array(arena, (size_t)sheet->n_columns + 1, sizeof(*names));
	struct str all = {0};
	const char *kept;

	for (int i = 0; i < sheet->n_columns; i++)
		names[i] = *sheet->columns[i] ? sheet->columns[i] : "?";
	*near = NULL;
	for (const char *const *c = m->columns[role]; *c; c++) {
		str_addf(&all, "%s%s", all.len ? " / " : "", *c);
		if (!*near)
			*near = nearest_word(*c, names);
	}
	kept = arena_str(arena, str_text(&all));
	str_release(&all);
	return kept;
}

static enum status no_column(const struct bill_map *m, const struct sheet *sheet, int role,
                             struct arena *arena, struct error *err)
{
	const char *near, *all = wanted(m, sheet, role, arena, &near);

	return near ? error_set(err, ST_PARSE, MSG_bill_column_near, sheet->name, all,
	                        roles[role].name, m->title, near)
	            : error_set(err, ST_PARSE, MSG_bill_column, sheet->name, all, roles[role].name,
	                        m->title);
}

const char *bill_map_absent(const struct bill_map *map, const int at[BILL_ROLES],
                            struct arena *arena, const struct sheet *sheet)
{
	struct str text = {0};
	const char *kept;

	for (int role = 0; role < BILL_ROLES; role++) {
		const char *near, *all;

		if (at[role] >= 0 || !map->columns[role][0])
			continue;
		all = wanted(map, sheet, role, arena, &near);
		str_addf(&text, "%s%s", text.len ? "; " : "",
		         near ? say(MSG_bill_absent_near, all, roles[role].name, near)
		              : say(MSG_bill_absent_one, all, roles[role].name));
	}
	kept = text.len ? arena_str(arena, text.data) : NULL;
	str_release(&text);
	return kept;
}

enum status bill_map_find(const struct bill_map **map, int at[BILL_ROLES], struct arena *arena,
                          const struct sheet *sheet, const char *name, const char *config_dir,
                          struct error *err)
{
	char **names = config_list(config_dir, "bills", ".json");
	struct bill_map *best = NULL;
	int best_found = -1, best_missing = 0, role = 0;
	enum status st = ST_OK;

	for (char **n = names; *n && st == ST_OK; n++) {
		struct bill_map *m = arena_alloc(arena, sizeof(*m));
		int found, missing, first = 0;

		if (name && strcmp(name, *n) != 0)
			continue;
		st = map_read(m, arena, *n, config_dir, err);
		if (st != ST_OK)
			break;
		found = match(m, sheet, at, &missing, &first);
		if (!best || (missing == 0) > (best_missing == 0) ||
		    ((missing == 0) == (best_missing == 0) && found > best_found)) {
			best = m;
			best_found = found;
			best_missing = missing;
			role = first;
		}
	}
	if (st == ST_OK && !best) {
		const char *near = nearest_word(name ? name : "", (const char *const *)names);

		st = error_set(err, ST_USAGE, MSG_bill_no_map, name ? name : "",
		               near ? near : (names[0] ? names[0] : "?"));
	} else if (st == ST_OK && best_missing) {
		st = no_column(best, sheet, role, arena, err);
	} else if (st == ST_OK) {
		match(best, sheet, at, &best_missing, &role);
		*map = best;
	}
	config_list_free(names);
	return st;
}

enum bill_category bill_map_category(const struct bill_map *map, const char *word)
{
	if (!*word)
		return BILL_IS_USAGE;
	for (int i = 0; i < map->n_categories; i++)
		if (strcasecmp(map->categories[i].word, word) == 0)
			return map->categories[i].category;
	return BILL_IS_UNKNOWN;
}
