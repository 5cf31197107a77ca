/* Which UUID the card at a PCI address has, as readings tell. The plan names
 * GPUs by address, since nothing else is known without a vendor's library; what
 * is owed for one is to be about the same subject as what it has measured. */
#ifndef ASSAY_COORD_CARD_NAMES_H
#define ASSAY_COORD_CARD_NAMES_H

#include "assay/reading.h"
#include "base/arena.h"

struct card_names {
	struct arena arena;
	struct card_name *list;
	int n;
};

/* Takes what the subject of a reading tells; all but cards are ignored. */
void card_names_learn(struct card_names *names, const struct subject *subject);
/* The UUID, or the address itself where none was told. */
const char *card_names_find(const struct card_names *names, const char *pci);
void card_names_release(struct card_names *names);

#endif
