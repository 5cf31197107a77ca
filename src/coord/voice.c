/* Lines that are said, and lines that are counted. */
#include "coord/voice.h"

#include <inttypes.h>
#include <string.h>

#include "base/msg.h"
#include "base/str.h"

/* The last place is for all that found none. */
static struct voice_kind *kind_of(struct voice *v, const char *what)
{
	struct voice_kind *kind;

	if (!v->kinds)
		v->kinds = arena_array(&v->arena, VOICE_KINDS, sizeof(*v->kinds));
	for (int i = 0; i < v->n_kinds; i++)
		if (strcmp(v->kinds[i].what, what) == 0)
			return &v->kinds[i];
	if (v->n_kinds == VOICE_KINDS)
		return &v->kinds[VOICE_KINDS - 1];
	kind = &v->kinds[v->n_kinds++];
	kind->what = v->n_kinds < VOICE_KINDS ? arena_str(&v->arena, what)
	                                      : arena_str(&v->arena, say(MSG_voice_other));
	return kind;
}

static bool is_news(struct voice *v, struct voice_kind *kind, const char *text)
{
	for (int i = 0; i < kind->n_said; i++)
		if (strcmp(kind->said[i], text) == 0)
			return false;
	if (kind->n_said == VOICE_SAID)
		return false;
	kind->said[kind->n_said++] = arena_str(&v->arena, text);
	return true;
}

static void count(struct voice *v, struct voice_kind *kind, int node, const char *name)
{
	uint64_t bit = (uint64_t)1 << node % 64;

	kind->more++;
	if (!kind->is_of)
		kind->is_of = arena_array(&v->arena, (size_t)v->count / 64 + 1, sizeof(uint64_t));
	if (kind->is_of[node / 64] & bit)
		return;
	kind->is_of[node / 64] |= bit;
	if (kind->nodes < VOICE_NAMES)
		kind->names[kind->nodes] = arena_str(&v->arena, name);
	kind->nodes++;
}

void voice_say(struct voice *v, const char *what, int node, const char *name, const char *text,
               const char *line)
{
	struct voice_kind *kind = kind_of(v, what);

	if (is_news(v, kind, text))
		v->tell(v->arg, line);
	else
		count(v, kind, node, name);
}

void voice_flush(struct voice *v)
{
	for (int i = 0; i < v->n_kinds; i++) {
		struct voice_kind *kind = &v->kinds[i];
		struct str names = {0};

		if (!kind->more)
			continue;
		for (int k = 0; k < kind->nodes && k < VOICE_NAMES; k++)
			str_addf(&names, "%s%s", k ? ", " : "", kind->names[k]);
		if (kind->nodes > VOICE_NAMES)
			str_add(&names, ", ...");
		v->tell(v->arg, say(MSG_voice_more, kind->what, tmpf("%" PRId64, kind->more),
		                    tmpf("%d", kind->nodes), str_text(&names)));
		str_release(&names);
		kind->more = kind->nodes = 0;
		memset(kind->is_of, 0, ((size_t)v->count / 64 + 1) * sizeof(uint64_t));
	}
}

void voice_release(struct voice *v)
{
	arena_release(&v->arena);
	v->kinds = NULL;
	v->n_kinds = 0;
}
