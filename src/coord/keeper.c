/* Saving lines, and waiting with those that cannot be saved. */
#include "coord/keeper.h"

#include <string.h>

#include "base/msg.h"

#define WAITING_LIMIT ((size_t)64 << 20)

static enum status save_waiting(struct keeper *k, struct error *err)
{
	while (k->saved < k->waiting.len) {
		const char *line = k->waiting.data + k->saved;
		size_t len = strcspn(line, "\n");
		enum status st = k->save(k->arg, line, len, err);

		if (st != ST_OK)
			return st;
		k->saved += len + 1;
		k->lines++;
	}
	str_clear(&k->waiting);
	k->saved = 0;
	return ST_OK;
}

bool keeper_add(struct keeper *k, const char *line, size_t len, struct error *err)
{
	bool first = !k->told;

	if (k->waiting.len + len < WAITING_LIMIT) {
		str_addn(&k->waiting, line, len);
		str_addc(&k->waiting, '\n');
	} else {
		k->dropped++;
	}
	if (save_waiting(k, first ? err : NULL) == ST_OK)
		return true;
	k->told = true;
	return !first;
}

bool keeper_empty(const struct keeper *k)
{
	return k->waiting.len == 0 && k->dropped == 0;
}

enum status keeper_end(struct keeper *k, struct error *err)
{
	struct error why = {0};
	int64_t lost = k->dropped;
	enum status st = save_waiting(k, &why);

	for (size_t i = k->saved; st != ST_OK && i < k->waiting.len; i++)
		lost += k->waiting.data[i] == '\n';
	if (lost)
		st = error_set(err, why.status ? why.status : ST_NOSPACE, MSG_store_failed,
		               tmpf("%lld", (long long)lost), str_text(&why.text));
	str_release(&k->waiting);
	error_release(&why);
	return lost ? st : ST_OK;
}
