/* Faults of a node file: which members each kind has, and when they strike.
 * Time here is virtual and occasions are counted, so that a fault comes at the
 * same place in every run.
 *
 * To add a kind: a row in FAULT_LIST, one in `members`, and the place in the
 * machine that asks for it. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/standin.h"

#define X(name, text) text,
static const char *const kinds[] = {FAULT_LIST(X)};
#undef X

static const char *const members[FAULTS] = {
	[FAULT_SLOW] = "card factor of",
	[FAULT_THROTTLE] = "card factor from_s of reason",
	[FAULT_OSCILLATION] = "card factor period_s of reason",
	[FAULT_SIBLINGS] = "card factor",
	[FAULT_TIME_SLICED] = "card factor period_s",
	[FAULT_WRONG] = "card what bit of after every",
	[FAULT_BAD_MEMORY] = "card address bit set",
	[FAULT_ALIASED_MEMORY] = "card factor",
	[FAULT_LOST] = "card after from_s",
	[FAULT_HANG] = "card call after",
	[FAULT_ERROR] = "card call code after every sticky",
	[FAULT_ECC] = "card corrected uncorrected rate",
	[FAULT_REMAP] = "card corrected uncorrected pending failed",
	[FAULT_XID] = "card code from_s",
	[FAULT_MISSING] = "card layer",
	[FAULT_CLAIM] = "card layer field value",
	[FAULT_FEWER_SMS] = "card sm_count",
	[FAULT_MIG] = "card",
	[FAULT_VIRTUALIZATION] = "card mode",
	[FAULT_FOREIGN_PROCESS] = "card pid memory_mib factor",
	[FAULT_POWER_LIMIT] = "card limit_w factor",
	[FAULT_NVLINK_DOWN] = "card link",
	[FAULT_NVLINK_ERRORS] = "card link counter count rate",
	[FAULT_SLOW_LINK] = "card peer factor",
	[FAULT_NO_P2P] = "card peer",
	[FAULT_PCIE] = "card width generation",
	[FAULT_EVENT_CLOCK] = "card factor",
	[FAULT_TF32_AS_FP32] = "card",
	[FAULT_NCCL_WRONG] = "rank op after every",
	[FAULT_NCCL_ABSENT] = "rank",
	[FAULT_NCCL_SLOW] = "mode factor",
	[FAULT_SLOW_NIC] = "nic factor mode",
	[FAULT_LOSSY_PATH] = "to factor count",
	[FAULT_INCAST] = "factor",
};

enum form { INT, LONG, REAL, BOOL, WORD };

/* Where the members go; kinds share places that mean different things. */
static const struct {
	const char *key;
	enum form form;
	size_t at, size;
} places[] = {
#define PLACE(key, form, member)                                                                   \
	{                                                                                          \
		key, form, offsetof(struct fault, member), sizeof(((struct fault *)0)->member)     \
	}
	PLACE("card", INT, card),
	PLACE("peer", INT, peer),
	PLACE("link", INT, link),
	PLACE("rank", INT, rank),
	PLACE("nic", INT, rank),
	PLACE("factor", REAL, factor),
	PLACE("from_s", REAL, from_s),
	PLACE("period_s", REAL, period_s),
	PLACE("rate", REAL, rate),
	PLACE("after", LONG, after),
	PLACE("every", LONG, every),
	PLACE("code", LONG, number),
	PLACE("bit", LONG, number),
	PLACE("width", LONG, number),
	PLACE("pid", LONG, number),
	PLACE("count", LONG, number),
	PLACE("sm_count", LONG, number),
	PLACE("limit_w", LONG, number),
	PLACE("corrected", LONG, number),
	PLACE("uncorrected", LONG, number2),
	PLACE("generation", LONG, number2),
	PLACE("memory_mib", LONG, number2),
	PLACE("address", LONG, number2),
	PLACE("pending", BOOL, flag),
	PLACE("sticky", BOOL, flag),
	PLACE("set", BOOL, flag),
	PLACE("failed", BOOL, flag2),
	PLACE("of", WORD, word),
	PLACE("call", WORD, word),
	PLACE("what", WORD, word2),
	PLACE("layer", WORD, word),
	PLACE("mode", WORD, word),
	PLACE("op", WORD, word),
	PLACE("counter", WORD, word),
	PLACE("field", WORD, word2),
	PLACE("reason", WORD, word2),
	PLACE("value", WORD, text),
	PLACE("to", WORD, text),
#undef PLACE
};

static bool listed(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = words; (p = strstr(p, word)); p += len)
		if ((p == words || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
			return true;
	return false;
}

static void store(struct fault *f, size_t place, const cJSON *item)
{
	char *to = (char *)f + places[place].at;
	bool number = cJSON_IsNumber(item);

	if (places[place].form == INT && number)
		*(int *)to = item->valueint;
	else if (places[place].form == LONG && number)
		*(long *)to = (long)item->valuedouble;
	else if (places[place].form == REAL && number)
		*(double *)to = item->valuedouble;
	else if (places[place].form == BOOL && cJSON_IsBool(item))
		*(bool *)to = cJSON_IsTrue(item);
	else if (places[place].form == WORD && cJSON_IsString(item) &&
	         strlen(item->valuestring) < places[place].size)
		strcpy(to, item->valuestring);
	else
		node_bad("fault %s: member %s has a value of the wrong kind", kinds[f->kind],
		         item->string);
}

static void parse_one(struct fault *f, const cJSON *object)
{
	const cJSON *kind = cJSON_GetObjectItemCaseSensitive(object, "kind"), *item;

	*f = (struct fault){.kind = FAULTS,
	                    .card = -1,
	                    .peer = -1,
	                    .link = -1,
	                    .rank = -1,
	                    .factor = 1,
	                    .period_s = 0.01};
	for (int k = 0; k < FAULTS; k++)
		if (cJSON_IsString(kind) && strcmp(kind->valuestring, kinds[k]) == 0)
			f->kind = (enum fault_kind)k;
	if (f->kind == FAULTS)
		node_bad("no such kind of fault: %s",
		         cJSON_IsString(kind) ? kind->valuestring : "(none given)");
	cJSON_ArrayForEach(item, object)
	{
		size_t p = 0, n = sizeof(places) / sizeof(*places);

		if (strcmp(item->string, "kind") == 0)
			continue;
		while (p < n && strcmp(places[p].key, item->string) != 0)
			p++;
		if (p == n || !listed(members[f->kind], item->string))
			node_bad("fault %s has no member %s (it has: %s)", kinds[f->kind],
			         item->string, members[f->kind]);
		store(f, p, item);
	}
	if (f->card >= node.n_cards || f->peer >= node.n_cards)
		node_bad("fault %s: there is no card %d", kinds[f->kind],
		         f->card >= node.n_cards ? f->card : f->peer);
	if (!(f->factor > 0) || !(f->period_s > 0))
		node_bad("fault %s: factor and period_s must be above zero", kinds[f->kind]);
}

void fault_parse(const void *json_array)
{
	const cJSON *array = json_array, *item;
	struct fault *f;

	node.n_faults = cJSON_GetArraySize(array);
	node.faults = calloc((size_t)node.n_faults + 1, sizeof(*node.faults));
	if (!node.faults)
		node_bad("out of memory");
	f = node.faults;
	cJSON_ArrayForEach(item, array) parse_one(f++, item);
	for (f = node.faults; f < node.faults + node.n_faults; f++)
		if (f->kind <= FAULT_TIME_SLICED || f->kind == FAULT_FOREIGN_PROCESS ||
		    f->kind == FAULT_POWER_LIMIT)
			for (int c = 0; c < node.n_cards; c++)
				node.performance_fault[c] |= f->card < 0 || f->card == c;
}

struct fault *fault_next(struct fault *after, enum fault_kind kind, int card)
{
	for (struct fault *f = after ? after + 1 : node.faults; f < node.faults + node.n_faults;
	     f++)
		if (f->kind == kind && (f->card < 0 || card < 0 || f->card == card))
			return f;
	return NULL;
}

bool fault_strikes(struct fault *f)
{
	long occasion = f->seen++ - f->after;

	if (occasion < 0)
		return false;
	return f->every ? occasion % f->every == 0 : occasion == 0;
}
