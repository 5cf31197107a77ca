/* The class of one line; see bill.h for what counts as hidden. Where the line cannot be
 * compared with the quote (no quantity, another unit, no price) it stays unclassified:
 * that is neither hidden nor as quoted, and keeps the bill from being met. */
#include "service/bill_line.h"

#include <fnmatch.h>
#include <string.h>
#include <strings.h>

/* What one line may be off by rounding. */
#define CENT ((struct decimal){10000000000LL})

static const struct {
	enum bill_class class;
	const char *words; /* separated by blanks; patterns around */
} kinds[] = {
	{BILL_UNQUOTED_BANDWIDTH,
         "traffic bandwidth egress datatransfer data-transfer transfer-out nat-gateway 流量 带宽 "
         "下行"},
	{BILL_UNQUOTED_IP, "elasticip elastic-ip eip publicip public-ip ipv4 弹性公网 公网ip"},
	{BILL_UNQUOTED_SNAPSHOT, "snapshot backup 快照 备份"},
	{BILL_UNQUOTED_SUPPORT,
         "support premium-service maintenance 支持计划 技术支持 运维 服务费"},
	{BILL_UNQUOTED_LICENCE, "licence license 许可 授权"},
	{BILL_UNQUOTED_IMAGE, "image registry marketplace 镜像"},
	{BILL_UNQUOTED_SCHEDULER,
         "scheduler slurm kubernetes cluster-management control-plane 调度 "
         "集群管理 管理费"},
	{BILL_UNQUOTED_STORAGE,
         "storage disk volume nas oss object-store filesystem 存储 云盘 硬盘"},
};

/* Whether the text has the word, letter by letter without blanks, _ and -. */
static bool has_word(const char *text, const char *word, size_t len)
{
	for (; *text; text++) {
		const char *t = text;
		size_t i = 0;

		for (; *t && i < len; t++) {
			if (*t == ' ' || *t == '_' || *t == '-')
				continue;
			while (i < len && word[i] == '-')
				i++;
			if (i == len || strncasecmp(t, word + i, 1) != 0)
				break;
			i++;
		}
		if (i == len)
			return true;
	}
	return false;
}

static bool names(const struct bill_line *l, const char *words)
{
	while (*words) {
		size_t len = strcspn(words, " ");

		if (has_word(l->sku, words, len) || has_word(l->service, words, len) ||
		    has_word(l->description, words, len))
			return true;
		words += len + (words[len] == ' ');
	}
	return false;
}

static enum bill_class unquoted_kind(const struct bill_line *l)
{
	if (!*l->service && !*l->sku && !*l->description)
		return BILL_UNCLASSIFIED;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (names(l, kinds[i].words))
			return kinds[i].class;
	return BILL_UNQUOTED_OTHER;
}

const struct quote_item *bill_line_item(const struct quote *q, const struct bill_line *l)
{
	const char *const texts[] = {l->sku, l->service, l->description};

	for (int i = 0; i < q->n_items; i++)
		for (int k = 0; k < q->items[i].n_match; k++)
			for (int t = 0; t < 3; t++)
				if (*texts[t] &&
				    fnmatch(q->items[i].match[k], texts[t], FNM_CASEFOLD) == 0)
					return &q->items[i];
	return NULL;
}

/* The quantity in the unit of the quote; false: not comparable. */
static bool quantity_as(const struct quote_item *item, const struct bill_line *l,
                        struct decimal *out)
{
	int64_t seconds = l->end > l->start ? l->end - l->start : 0;

	*out = l->quantity;
	if (l->has_quantity && l->has_unit) {
		if (l->unit == item->per)
			return true;
		if (l->unit == QUANTITY_GPU_HOUR && item->per == QUANTITY_HOUR && item->gpus)
			return decimal_scale(l->quantity, 1, item->gpus, out);
		if (l->unit == QUANTITY_HOUR && item->per == QUANTITY_GPU_HOUR)
			return decimal_scale(l->quantity, item->gpus, 1, out);
		return false;
	}
	if (l->has_unit)
		return false;
	if (item->per == QUANTITY_MONTH || item->per == QUANTITY_COUNT) {
		if (!l->has_quantity)
			*out = decimal_of(1);
		return true;
	}
	/* A quantity without a unit may be anything; the period of the charge may not. */
	if (item->per == QUANTITY_HOUR && !l->has_quantity && seconds)
		return decimal_scale(decimal_of(seconds), 1, 3600, out);
	return false;
}

/* What of the quantity is to be paid, after what the quote includes. */
static struct decimal beyond_included(const struct quote_item *item, struct decimal quantity,
                                      struct decimal *used)
{
	struct decimal left = decimal_sub(item->included, *used);

	*used = decimal_add(*used, quantity);
	if (decimal_sign(left) <= 0)
		return quantity;
	return decimal_compare(quantity, left) > 0 ? decimal_sub(quantity, left) : decimal_of(0);
}

/* Time billed against time run. True: more was billed, *over in units of the quote. */
static bool above_log(const struct usage *usage, const struct bill_line *l, struct bill_told *told,
                      struct decimal quantity, struct decimal *over)
{
	const struct quote_item *item = told->item;
	bool per_gpu = item->per == QUANTITY_GPU_HOUR;
	int64_t step = item->granularity_s ? item->granularity_s : 3600;
	struct decimal allowed;

	if (!usage || !*l->resource || l->end <= l->start || !item->gpus)
		return false;
	told->in_log = usage_knows(usage, l->resource);
	told->unknown_machine = !told->in_log;
	if (!told->in_log)
		return false;
	told->allowed_s = usage_seconds(usage, l->resource, l->start, l->end, step, &told->log_s);
	if (item->per == QUANTITY_MONTH || item->when_stopped)
		return false;
	/* A second of grace: clocks differ. */
	if (!decimal_scale(decimal_of(told->allowed_s + 1), per_gpu ? item->gpus : 1, 3600,
	                   &allowed))
		return false;
	*over = decimal_sub(quantity, allowed);
	return decimal_sign(*over) > 0;
}

static void count_hours(const struct bill_line *l, struct bill_told *told, struct decimal quantity)
{
	const struct quote_item *item = told->item;

	if (!item->gpus)
		return;
	told->machine_hours = quantity;
	if (item->per == QUANTITY_GPU_HOUR)
		decimal_scale(quantity, 1, item->gpus, &told->machine_hours);
	else if (item->per == QUANTITY_MONTH)
		decimal_scale(decimal_of(l->end > l->start ? l->end - l->start : 0), 1, 3600,
		              &told->machine_hours);
	else if (item->per != QUANTITY_HOUR)
		told->machine_hours = decimal_of(0);
}

static void tell_priced(const struct quote *q, const struct usage *usage, const struct bill_line *l,
                        struct bill_told *told, struct decimal *used)
{
	const struct quote_item *item = told->item;
	struct decimal quantity, payable, over, above;

	told->class = BILL_UNCLASSIFIED;
	if (!item->priced || l->start < q->valid_from || l->start >= q->valid_to ||
	    !quantity_as(item, l, &quantity) || decimal_sign(quantity) < 0)
		return;
	payable = beyond_included(item, quantity, used);
	if (!decimal_mul(payable, item->price, &told->expected))
		return;
	told->priced = true;
	told->class = BILL_AS_QUOTED;
	count_hours(l, told, quantity);
	above = decimal_sub(l->billed, told->expected);
	if (decimal_compare(above, CENT) > 0) {
		told->class = BILL_RATE_ABOVE;
		told->excess = above;
	}
	if (above_log(usage, l, told, quantity, &over) && decimal_mul(over, item->price, &above)) {
		if (told->class == BILL_AS_QUOTED)
			told->class = BILL_QUANTITY_ABOVE;
		told->excess = decimal_add(told->excess, above);
		/* Less may have been billed than quoted. */
		if (decimal_compare(told->excess, l->billed) > 0)
			told->excess = l->billed;
		if (decimal_compare(told->excess, CENT) <= 0) {
			told->class = BILL_AS_QUOTED;
			told->excess = decimal_of(0);
		}
	}
}

struct bill_told bill_line_tell(const struct quote *q, const struct usage *usage,
                                const struct quote_item *item, const struct bill_line *l,
                                struct decimal *used)
{
	struct bill_told told = {.class = BILL_UNCLASSIFIED, .item = item};
	int sign = decimal_sign(l->billed);

	if (l->category == BILL_IS_UNKNOWN)
		return told;
	if (l->category == BILL_IS_TAX) {
		told.class = BILL_TAX;
		return told;
	}
	if (sign < 0) {
		told.class = l->category == BILL_IS_CREDIT ? BILL_CREDIT : BILL_CORRECTION;
		return told;
	}
	if (sign == 0) {
		told.class = BILL_FREE;
		return told;
	}
	/* Money taken under the name of a credit is told by no rule. */
	if (l->category == BILL_IS_CREDIT)
		return told;
	if (l->again) {
		told.class = BILL_DUPLICATE;
		told.excess = l->billed;
		return told;
	}
	if (item) {
		tell_priced(q, usage, l, &told, used);
		return told;
	}
	told.class = unquoted_kind(l);
	if (told.class != BILL_UNCLASSIFIED)
		told.excess = l->billed;
	return told;
}
