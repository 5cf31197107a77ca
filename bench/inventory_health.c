/* The health a card keeps book of: memory errors, rows and pages given up,
 * power limits, what the driver wants done with it. "Not supported", "no
 * permission" and "lost" are three different answers and none is a zero. */
#include <string.h>

#include "inventory_cards.h"

/* --- ECC --------------------------------------------------------------------------------- */

/* A card without ECC says so as one that has it switched off: a row that wants
 * it on must not be satisfied by silence. */
static enum status emit_ecc_mode(struct gpus *g, struct gpu_card *card)
{
	nvml_enable now = 0, pending = 0;
	nvml_result code = NVML_ASK(&g->nvml, ecc_mode, card->nv.device, &now, &pending);
	struct json_text t;

	if (code != NVML_OK && code != NVML_NOT_SUPPORTED)
		return card_refused(g, card, "card_ecc_mode", code, "nvmlDeviceGetEccMode");
	t = json_text_begin();
	json_put_bool(&t.j, "supported", code == NVML_OK);
	json_put_string(&t.j, "after_reboot", pending ? "on" : "off");
	return card_text(g, card, "card_ecc_mode", now ? "on" : "off",
	                 json_text_end(&t, g->ctx->arena));
}

static nvml_result ecc(struct gpus *g, const struct gpu_card *card, nvml_ecc_kind kind,
                       nvml_ecc_counter since, unsigned long long *count)
{
	*count = 0;
	return NVML_ASK(&g->nvml, ecc_total, card->nv.device, kind, since, count);
}

static enum status emit_ecc(struct gpus *g, struct gpu_card *card, const char *metric,
                            nvml_ecc_counter since)
{
	unsigned long long bad, mended;
	nvml_result code = ecc(g, card, NVML_ECC_UNCORRECTED, since, &bad), other;
	struct json_text t;

	if (code != NVML_OK)
		return card_refused(g, card, metric, code, "nvmlDeviceGetTotalEccErrors");
	other = ecc(g, card, NVML_ECC_CORRECTED, since, &mended);
	t = json_text_begin();
	put_answer(&t.j, "corrected", other, mended > INT64_MAX ? INT64_MAX : (int64_t)mended);
	return card_number(g, card, metric, (double)bad, json_text_end(&t, g->ctx->arena));
}

/* --- rows and pages ------------------------------------------------------------------------ */

static bool has_hbm(const struct gpu_card *card)
{
	return card->nv.major >= 8 && card->nv.major <= 10 && card->nv.minor == 0;
}

static enum status emit_both(struct gpus *g, struct gpu_card *card, const struct why *why)
{
	enum status st = card_unknown(g, card, "card_remap_failures", why);

	return st == ST_OK ? card_unknown(g, card, "card_remap_pending", why) : st;
}

/* Cards from Ampere on remap rows, older ones retire pages. */
static enum status emit_rows(struct gpus *g, struct gpu_card *card)
{
	unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
	nvml_result code = NVML_ASK(&g->nvml, remapped_rows, card->nv.device, &corrected,
	                            &uncorrected, &pending, &failed);
	nvml_remap_histogram banks = {0};
	struct why why = {.outcome = OUTCOME_MEASURED};
	struct json_text t;
	const char *params;
	enum status st;

	if (code == NVML_NOT_SUPPORTED && has_hbm(card))
		why = why_of(g->ctx, OUTCOME_NOT_MEASURED, MSG_remap_absent, NULL);
	else if (code != NVML_OK)
		why = why_nvml(g, code, "nvmlDeviceGetRemappedRows");
	if (why.outcome != OUTCOME_MEASURED)
		return emit_both(g, card, &why);
	t = json_text_begin();
	json_put_int(&t.j, "corrected", corrected);
	json_put_int(&t.j, "uncorrected", uncorrected);
	code = NVML_ASK(&g->nvml, remap_histogram, card->nv.device, &banks);
	put_answer(&t.j, "banks_without_spare_rows", code, banks.none);
	params = json_text_end(&t, g->ctx->arena);
	st = card_number(g, card, "card_remap_failures", failed, params);
	return st == ST_OK ? card_number(g, card, "card_remap_pending", pending, params) : st;
}

static nvml_result pages(struct gpus *g, const struct gpu_card *card, nvml_retire_cause cause,
                         unsigned *count)
{
	nvml_result code;

	*count = 0; /* room for none: the answer is how many there are */
	code = NVML_ASK(&g->nvml, retired_pages, card->nv.device, cause, count, NULL, NULL);
	return code == NVML_INSUFFICIENT_SIZE ? NVML_OK : code;
}

static enum status emit_pages(struct gpus *g, struct gpu_card *card)
{
	static const char *const call = "nvmlDeviceGetRetiredPages_v2";
	unsigned corrected, uncorrected;
	nvml_enable pending = 0;
	nvml_result code = pages(g, card, NVML_RETIRED_UNCORRECTED, &uncorrected);
	struct json_text t;

	if (code == NVML_OK)
		code = pages(g, card, NVML_RETIRED_CORRECTED, &corrected);
	if (code != NVML_OK)
		return card_refused(g, card, "card_retired_pages", code, call);
	t = json_text_begin();
	json_put_int(&t.j, "corrected", corrected);
	json_put_int(&t.j, "uncorrected", uncorrected);
	code = NVML_ASK(&g->nvml, retired_pending, card->nv.device, &pending);
	put_answer(&t.j, "pending", code, pending);
	return card_number(g, card, "card_retired_pages", corrected + uncorrected,
	                   json_text_end(&t, g->ctx->arena));
}

/* --- power ----------------------------------------------------------------------------------- */

static void put_watts(struct json_out *j, const char *key, nvml_result code, unsigned milliwatts)
{
	if (code == NVML_OK)
		json_put_number(j, key, milliwatts / 1000.0);
	else
		json_put_string(j, key, answer_word(code));
}

static enum status emit_power(struct gpus *g, struct gpu_card *card)
{
	unsigned limit = 0, normal = 0, least = 0, most = 0, now = 0;
	nvml_device dev = card->nv.device;
	nvml_result code = NVML_ASK(&g->nvml, power_limit, dev, &limit), other;
	struct json_text t;
	const char *params;

	other = NVML_ASK(&g->nvml, power_default, dev, &normal);
	t = json_text_begin();
	put_watts(&t.j, "limit_w", code, limit);
	put_watts(&t.j, "default_w", other, normal);
	put_watts(&t.j, "now_w", NVML_ASK(&g->nvml, power, dev, &now), now);
	if (NVML_ASK(&g->nvml, power_range, dev, &least, &most) == NVML_OK) {
		put_watts(&t.j, "least_w", NVML_OK, least);
		put_watts(&t.j, "most_w", NVML_OK, most);
	}
	params = json_text_end(&t, g->ctx->arena);
	if (code == NVML_OK && other == NVML_OK && normal == 0)
		code = NVML_NOT_SUPPORTED;
	if (code == NVML_OK && other == NVML_OK)
		return card_number(g, card, "card_power_limit_share", (double)limit / normal,
		                   params);
	return card_refused(g, card, "card_power_limit_share", code != NVML_OK ? code : other,
	                    code != NVML_OK ? "nvmlDeviceGetEnforcedPowerLimit"
	                                    : "nvmlDeviceGetPowerManagementDefaultLimit");
}

/* --- what the driver wants done ----------------------------------------------------------------- */

static enum status emit_recovery(struct gpus *g, struct gpu_card *card)
{
	static const char *const actions[] = {"none", "reset", "reboot", "drain",
	                                      "drain and reset"};
	int64_t action = 0;
	nvml_result code =
		nvml_field_read(&g->nvml, card->nv.device, NVML_FIELD_RECOVERY_ACTION, 0, &action);

	/* Older drivers know no such field. */
	if (code == NVML_INVALID_ARGUMENT || code == NVML_FUNCTION_NOT_FOUND)
		code = NVML_NOT_SUPPORTED;
	if (code != NVML_OK)
		return card_refused(g, card, "card_recovery_action", code,
		                    "nvmlDeviceGetFieldValues");
	return card_text(g, card, "card_recovery_action",
	                 action >= 0 && action < 5
	                         ? actions[action]
	                         : arena_strf(g->ctx->arena, "action %lld", (long long)action),
	                 NULL);
}

enum status health_facts(struct gpus *g, struct gpu_card *card)
{
	enum status st = emit_ecc_mode(g, card);

	if (st == ST_OK)
		st = emit_ecc(g, card, "card_ecc_uncorrected", NVML_ECC_SINCE_BOOT);
	if (st == ST_OK)
		st = emit_ecc(g, card, "card_ecc_uncorrected_ever", NVML_ECC_TOTAL);
	if (st == ST_OK)
		st = emit_rows(g, card);
	if (st == ST_OK)
		st = emit_pages(g, card);
	if (st == ST_OK)
		st = emit_power(g, card);
	return st == ST_OK ? emit_recovery(g, card) : st;
}
