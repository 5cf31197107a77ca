/* UUIDs by PCI address. A node has at most a few dozen cards. */
#include "coord/card_names.h"

#include <string.h>

struct card_name {
	const char *pci, *id;
};

void card_names_learn(struct card_names *names, const struct subject *subject)
{
	struct card_name *more;

	if (subject->kind != SUBJECT_CARD || !subject->pci || !subject->id ||
	    strcmp(subject->pci, subject->id) == 0 ||
	    card_names_find(names, subject->pci) != subject->pci)
		return;
	more = arena_array(&names->arena, (size_t)names->n + 1, sizeof(*more));
	if (names->n)
		memcpy(more, names->list, (size_t)names->n * sizeof(*more));
	more[names->n++] = (struct card_name){arena_str(&names->arena, subject->pci),
	                                      arena_str(&names->arena, subject->id)};
	names->list = more;
}

const char *card_names_find(const struct card_names *names, const char *pci)
{
	for (int i = 0; i < names->n; i++)
		if (strcmp(names->list[i].pci, pci) == 0)
			return names->list[i].id;
	return pci;
}

void card_names_release(struct card_names *names)
{
	arena_release(&names->arena);
	*names = (struct card_names){0};
}
