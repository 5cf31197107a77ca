/* The forms of CUDA_VISIBLE_DEVICES: numbers, UUIDs, beginnings of UUIDs, MIG
 * slices. The order counts, and an entry that is not valid ends the list
 * without a word from CUDA: that is what people trip over. */
#include "inventory_visible.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"

/* Of a number; -1: none, or none of a card. */
static int number_of(const char *word, int cards)
{
	char *end;
	long value = strtol(word, &end, 10);

	if (end == word || *end || value < 0 || value > 65535 || (cards >= 0 && value >= cards))
		return -1;
	return (int)value;
}

static bool valid(const char *word, int cards)
{
	return str_starts(word, "GPU-") || str_starts(word, "MIG-") || number_of(word, cards) >= 0;
}

static bool repeated(const struct visible *v, const char *word)
{
	for (int i = 0; i < v->n; i++)
		if (strcasecmp(v->words[i], word) == 0)
			return true;
	return false;
}

struct visible visible_parse(struct arena *arena, const char *text, int cards)
{
	struct visible v = {.text = text};
	char *rest = arena_str(arena, text), *word;

	while (rest && v.n < VISIBLE_WORDS && (word = strsep(&rest, ","))) {
		size_t len;

		word += strspn(word, " \t");
		len = strlen(word);
		while (len > 0 && strchr(" \t", word[len - 1]))
			word[--len] = '\0';
		if (!valid(word, cards) || repeated(&v, word)) {
			v.ended_by = *word ? word : NULL;
			break;
		}
		v.words[v.n++] = word;
	}
	return v;
}

/* MIG-GPU-<uuid of the card>/gi/ci is the older form; the newer one is a UUID of
 * the slice's own and tells nothing of its card. */
static bool names_slice(const char *word, const char *uuid, bool mig)
{
	if (str_starts(word, "MIG-GPU-"))
		return uuid && strncasecmp(word + strlen("MIG-"), uuid, strlen(uuid)) == 0;
	return mig;
}

bool visible_names(const struct visible *v, int number, const char *uuid, bool mig)
{
	if (!v->text)
		return true;
	for (int i = 0; i < v->n; i++) {
		const char *word = v->words[i];

		if (str_starts(word, "MIG-")   ? names_slice(word, uuid, mig)
		    : str_starts(word, "GPU-") ? uuid && strncasecmp(uuid, word, strlen(word)) == 0
		                               : number_of(word, -1) == number)
			return true;
	}
	return false;
}
