/* The cards of the inventory on nodes of stand-ins: a sound node is told as it
 * is, and each thing that can be wrong with one card is found, on that card and
 * on no other, and judged. */
#include "tests/probes/inventory_kit.h"

#include <signal.h>

#include "inventory_visible.h"
#include "inventory_xid.h"

#define CARD0 "0000:17:00.0"
#define CARD1 "0000:2a:00.0"
#define CARD2 "0000:3d:00.0"
#define CARD3 "0000:50:00.0"

#define QUIET "6,1,0,-;nvidia: loading\n"

/* --- a sound node ------------------------------------------------------------------- */

static void a_card_is_told_as_it_is(void **state)
{
	struct seen *s = look_at((struct look){.kmsg = QUIET});
	const struct reading *r;

	(void)state;
	assert_int_equal(s->status, 0);
	assert_true(value_of(s, "node_cards_agree", NULL) == 1);
	assert_true(value_of(s, "node_driver_agrees", NULL) == 1);
	assert_string_equal(text_of(s, "node_driver_version", NULL), "580.95.05");
	assert_string_equal(text_of(s, "card_name", CARD1), "NVIDIA A100-SXM4-80GB");
	assert_string_equal(text_of(s, "card_pci_device", CARD1), "10de:20b2");
	assert_string_equal(text_of(s, "card_capability", CARD1), "8.0");
	assert_true(value_of(s, "card_sm_count", CARD1) == 108);
	assert_true(value_of(s, "card_max_sm_clock_mhz", CARD1) == 1410);
	assert_true(value_of(s, "card_memory_mib", CARD1) == 81920);
	assert_true(value_of(s, "card_sources_agree", CARD1) == 1);
	assert_string_equal(text_of(s, "card_ecc_mode", CARD1), "on");
	assert_true(value_of(s, "card_ecc_uncorrected", CARD1) == 0);
	assert_true(value_of(s, "card_remap_pending", CARD1) == 0);
	expect_not(s, "card_retired_pages", CARD1, OUTCOME_UNSUPPORTED, "nvml_unsupported");
	assert_true(value_of(s, "card_power_limit_share", CARD1) == 1);
	assert_string_equal(text_of(s, "card_recovery_action", CARD1), "none");
	assert_true(value_of(s, "card_xids", CARD1) == 0);
	assert_string_equal(text_of(s, "card_virtualization", CARD1), "none");
	assert_true(value_of(s, "card_foreign_processes", CARD1) == 0);
	assert_true(value_of(s, "card_pcie_gen", CARD1) == 4);
	assert_true(value_of(s, "card_pcie_width", CARD1) == 16);
	assert_true(value_of(s, "nvlink_links_active", CARD1) == 12);
	assert_true(value_of(s, "nvlink_version", CARD1) == 3);
	assert_true(value_of(s, "nvlink_rate_gbs", CARD1) == 300);
	expect_not(s, "card_fabric", CARD1, OUTCOME_UNSUPPORTED, "nvml_unsupported");

	r = reading_of(s, "card_name", CARD3);
	assert_int_equal(r->subject.index, 3);
	assert_true(str_starts(r->subject.id, "GPU-"));
	assert_string_equal(param_of(s, r, "compute_mode"), "\"default\"");
	assert_string_equal(param_of(s, reading_of(s, "card_sm_count", CARD3), "cuda_index"), "3");
	assert_int_equal(r->origin, ORIGIN_SIMULATED);
	look_away(s);
}

/* Whether the inventory speaks about it, and the rule is about what it says. */
static bool of_inventory(const char *metric)
{
	return str_starts(metric, "card_") || str_starts(metric, "nvlink_") ||
	       strcmp(metric, "node_cards_agree") == 0 || strcmp(metric, "node_driver_agrees") == 0;
}

static void sound_nodes_pass(void **state)
{
	static const struct {
		const char *cards, *profile;
		int n;
	} rows[] = {
		{"{\"model\":\"a100-sxm4-80gb\"}", "a100-sxm4-80gb", 8},
		{"{\"model\":\"h100-sxm5-80gb\"}", "h100-sxm5-80gb", 8},
		{"{\"model\":\"h200-sxm-141gb\"}", "h200-sxm", 2},
		{"{\"model\":\"l40s\"}", "l40s", 2},
		{"{\"model\":\"rtx-4090\"}", "rtx-4090", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct seen *s = look_at((struct look){.kmsg = QUIET,
		                                       .cards = rows[i].cards,
		                                       .more = tmpf("\"count\":%d,", rows[i].n)});
		int judged = 0;

		judge(s, rows[i].profile, rows[i].n);
		for (int64_t k = 0; k < s->card.n_findings; k++) {
			const struct finding *f = &s->card.findings[k];

			if (!of_inventory(f->rule->metric) || f->rule->reading == RULE_LITERAL)
				continue;
			judged++;
			/* A column without a figure in the table is said. */
			if (f->verdict == VERDICT_WARN)
				assert_true(strcmp(f->reason.code, "figure_empty") == 0 ||
				            strcmp(f->reason.code, "figure_unverified") == 0);
			else if (f->verdict != VERDICT_PASS && f->verdict != VERDICT_NOT_APPLICABLE)
				fail_msg("%s: %s is %s: %s", rows[i].profile, f->rule->id,
				         verdict_name(f->verdict),
				         f->reason.text ? f->reason.text : "");
		}
		assert_true(judged > 20 * rows[i].n);
		look_away(s);
	}
}

/* --- one thing wrong with one card --------------------------------------------------------- */

static const struct {
	const char *faults, *rule, *verdict;
	const char *code; /* of the reason; NULL: none is needed */
} faults[] = {
	{"{\"kind\":\"claim\",\"card\":1,\"layer\":\"nvml\",\"field\":\"name\",\"value\":"
         "\"NVIDIA H100 80GB HBM3\"}",
         "sources-agree", "fail", "card_sources_differ"},
	{"{\"kind\":\"claim\",\"card\":1,\"field\":\"name\",\"value\":\"NVIDIA H100 80GB HBM3\"}",
         "identity-name", "fail", NULL},
	{"{\"kind\":\"claim\",\"card\":1,\"layer\":\"nvml\",\"field\":\"memory_mib\",\"value\":"
         "\"163840\"}",
         "sources-agree", "fail", "card_sources_differ"},
	{"{\"kind\":\"claim\",\"card\":1,\"field\":\"memory_mib\",\"value\":\"40960\"}",
         "identity-memory", "fail", NULL},
	{"{\"kind\":\"claim\",\"card\":1,\"layer\":\"nvml\",\"field\":\"sm_count\",\"value\":"
         "\"132\"}",
         "sources-agree", "fail", "card_sources_differ"},
	{"{\"kind\":\"claim\",\"card\":1,\"layer\":\"nvml\",\"field\":\"pci_device\",\"value\":"
         "\"2330\"}",
         "sources-agree", "fail", "card_sources_differ"},
	{"{\"kind\":\"claim\",\"card\":1,\"layer\":\"pci\",\"field\":\"pci_device\",\"value\":"
         "\"20b5\"}",
         "identity-pci", "fail", NULL},
	{"{\"kind\":\"claim\",\"card\":1,\"layer\":\"cuda\",\"field\":\"capability\",\"value\":"
         "\"9.0\"}",
         "sources-agree", "fail", "card_sources_differ"},
	{"{\"kind\":\"claim\",\"card\":1,\"field\":\"capability\",\"value\":\"8.6\"}",
         "identity-capability", "fail", NULL},
	{"{\"kind\":\"claim\",\"card\":1,\"field\":\"sm_clock_mhz\",\"value\":\"1200\"}",
         "identity-clock", "fail", NULL},
	{"{\"kind\":\"claim\",\"card\":1,\"layer\":\"nvml\",\"field\":\"sm_clock_mhz\",\"value\":"
         "\"1980\"}",
         "sources-agree", "fail", "card_sources_differ"},
	{"{\"kind\":\"fewer_sms\",\"card\":1,\"sm_count\":98}", "identity-units", "fail", NULL},
	{"{\"kind\":\"mig\",\"card\":1}", "not-partitioned", "fail", NULL},
	{"{\"kind\":\"mig\",\"card\":1}", "sources-agree", "pass", NULL},
	{"{\"kind\":\"mig\",\"card\":1}", "identity-units", "fail", NULL},
	{"{\"kind\":\"virtualization\",\"card\":1,\"mode\":\"vgpu\"}", "not-virtual", "fail", NULL},
	{"{\"kind\":\"virtualization\",\"card\":1,\"mode\":\"passthrough\"}", "not-virtual", "pass",
         NULL},
	{"{\"kind\":\"foreign_process\",\"card\":1,\"pid\":4242,\"memory_mib\":1024}",
         "no-foreign-process", "fail", NULL},
	{"{\"kind\":\"ecc\",\"card\":1,\"uncorrected\":2}", "ecc-clean", "fail", NULL},
	{"{\"kind\":\"ecc\",\"card\":1,\"uncorrected\":2}", "ecc-history", "warn", "near_limit"},
	{"{\"kind\":\"remap\",\"card\":1,\"uncorrected\":1,\"pending\":true}", "no-pending-remap",
         "fail", NULL},
	{"{\"kind\":\"remap\",\"card\":1,\"uncorrected\":1,\"failed\":true}", "no-failed-remap",
         "fail", NULL},
	{"{\"kind\":\"power_limit\",\"card\":1,\"limit_w\":300}", "power-limit", "fail", NULL},
	{"{\"kind\":\"power_limit\",\"card\":1,\"limit_w\":360}", "power-limit", "warn",
         "near_limit"},
	{"{\"kind\":\"nvlink_down\",\"card\":1,\"link\":3}", "nvlink-links", "fail", NULL},
	{"{\"kind\":\"nvlink_down\",\"card\":1}", "nvlink-version", "fail", "nvlink_all_down"},
	{"{\"kind\":\"nvlink_errors\",\"card\":1,\"link\":2,\"counter\":\"recovery\",\"count\":2}",
         "nvlink-clean", "fail", NULL},
	{"{\"kind\":\"claim\",\"card\":1,\"field\":\"links\",\"value\":\"8\"}", "nvlink-links",
         "fail", NULL},
	{"{\"kind\":\"pcie\",\"card\":1,\"width\":8}", "pcie-width", "fail", NULL},
	{"{\"kind\":\"pcie\",\"card\":1,\"generation\":3}", "pcie-generation", "fail", NULL},
	{"{\"kind\":\"xid\",\"card\":1,\"code\":79}", "no-xid", "fail", NULL},
	{"{\"kind\":\"lost\",\"card\":1,\"after\":-1}", "identity-name", "fail", "nvml_lost"},
};

static void each_fault_is_found_on_its_card(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		struct seen *s = look_at((struct look){.faults = faults[i].faults});
		const struct finding *f;

		assert_int_equal(s->status, 0);
		judge(s, "a100-sxm4-80gb", 4);
		f = finding_of(s, faults[i].rule, CARD1);
		if (strcmp(verdict_name(f->verdict), faults[i].verdict) != 0)
			fail_msg("%s: %s is %s: %s", faults[i].faults, faults[i].rule,
			         verdict_name(f->verdict), f->reason.text ? f->reason.text : "");
		expect_finding(s, faults[i].rule, CARD1, faults[i].verdict);
		if (faults[i].code)
			assert_string_equal(f->reason.code, faults[i].code);
		look_away(s);
	}
}

/* All cards but CARD1 read as on a sound node. */
static void others_are_spared(const struct seen *s)
{
	struct seen *well = look_at((struct look){.kmsg = QUIET});
	int same = 0, of_card = 0;

	for (int64_t i = 0; i < s->run.n_readings; i++) {
		const struct reading *r = &s->run.readings[i], *other;

		if (r->subject.kind != SUBJECT_CARD)
			continue;
		other = reading_of(well, r->metric, r->subject.pci);
		assert_string_equal(r->subject.id, other->subject.id);
		if (strcmp(r->subject.pci, CARD1) == 0) {
			of_card++;
			continue;
		}
		assert_int_equal(r->outcome, other->outcome);
		assert_true(r->value == other->value);
		assert_string_equal(r->text ? r->text : "", other->text ? other->text : "");
		same++;
	}
	assert_int_equal(same, 3 * of_card);
	look_away(well);
}

static void a_lost_card_spoils_no_other(void **state)
{
	struct seen *s = look_at((struct look){
		.kmsg = QUIET, .faults = "{\"kind\":\"lost\",\"card\":1,\"after\":-1}"});

	(void)state;
	others_are_spared(s);
	expect_not(s, "card_name", CARD1, OUTCOME_FAILED, "nvml_lost");
	expect_not(s, "card_memory_mib", CARD1, OUTCOME_FAILED, "nvml_lost");
	assert_string_equal(text_of(s, "card_pci_device", CARD1), "10de:20b2");
	look_away(s);
}

/* A card that no library lists has its name on the driver's file alone. */
static void a_card_that_fell_off_keeps_its_name(void **state)
{
	struct seen *s = look_at((struct look){
		.faults = "{\"kind\":\"missing\",\"card\":1}",
		.files = {{"/proc/driver/nvidia/gpus/" CARD1 "/information",
	                   "Model: \t\t NVIDIA A100-SXM4-80GB\nGPU UUID: \t GPU-1b2c\n"}}});

	(void)state;
	assert_string_equal(
		expect_not(s, "card_name", CARD1, OUTCOME_FAILED, "card_unlisted")->subject.id,
		"GPU-1b2c");
	look_away(s);
	s = look_at((struct look){
		.faults = "{\"kind\":\"missing\",\"card\":1}",
		.files = {{"/proc/driver/nvidia/gpus/" CARD1 "/information", "GPU UUID: \t GPU-?"
	                                                                     "?-?"
	                                                                     "?\n"}}});
	assert_string_equal(reading_of(s, "card_name", CARD1)->subject.id, CARD1);
	look_away(s);
}

/* --- missing cards --------------------------------------------------------------------------- */

static void a_missing_card_is_named_with_who_misses_it(void **state)
{
	static const struct {
		const char *layer, *missed, *seen;
	} rows[] = {
		{"", "NVML and CUDA", "PCI"},
		{"\"layer\":\"nvml\",", "NVML", "PCI and CUDA"},
		{"\"layer\":\"cuda\",", "CUDA", "PCI and NVML"},
		{"\"layer\":\"pci\",", "PCI", "NVML and CUDA"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct seen *s = look_at((struct look){
			.faults = tmpf("{\"kind\":\"missing\",%s\"card\":2}", rows[i].layer)});
		const struct reading *r =
			expect_not(s, "node_cards_agree", NULL, OUTCOME_FAILED, "cards_disagree");
		const char *words = tmpf("1 of 4: " CARD2 " is not listed by %s; %s shows it",
		                         rows[i].missed, rows[i].seen);

		assert_string_equal(r->reason.text, words);
		judge(s, "a100-sxm4-80gb", 4);
		expect_finding(s, "cards-agree", NULL, "fail");
		if (strstr(rows[i].missed, "NVML"))
			expect_not(s, "card_memory_mib", CARD2, OUTCOME_FAILED, "card_unlisted");
		if (strstr(rows[i].missed, "CUDA"))
			expect_not(s, "card_sm_count", CARD2, OUTCOME_FAILED, "card_unlisted");
		else
			assert_true(value_of(s, "card_sm_count", CARD2) == 108);
		look_away(s);
	}
}

/* A container that was given two of the host's four cards. */
static void cards_of_the_host_are_not_missed(void **state)
{
	struct seen *s = look_at((struct look){
		.faults = "{\"kind\":\"missing\",\"card\":2},{\"kind\":\"missing\",\"card\":3}",
		.files = {
			{"/.dockerenv", ""},
			{"/proc/driver/nvidia/gpus/" CARD0 "/information", "GPU UUID: \t GPU-?\n"},
			{"/proc/driver/nvidia/gpus/" CARD1 "/information", ""}}});

	(void)state;
	assert_true(value_of(s, "node_cards_agree", NULL) == 1);
	assert_non_null(strstr(reading_of(s, "node_cards_agree", NULL)->params, "withheld"));
	for (int64_t i = 0; i < s->run.n_readings; i++)
		if (s->run.readings[i].subject.kind == SUBJECT_CARD)
			assert_true(strcmp(s->run.readings[i].subject.pci, CARD2) < 0);
	judge(s, "a100-sxm4-80gb", 4); /* four were promised: two are not there */
	assert_string_equal(finding_of(s, "identity-name", NULL)->reason.code, "cards_not_seen");
	look_away(s);
}

/* Without /sys the two libraries are all there is. */
static void without_a_bus_two_lists_are_compared(void **state)
{
	struct seen *s = look_at((struct look){.remove = "/sys"});

	(void)state;
	assert_true(value_of(s, "node_cards_agree", NULL) == 1);
	assert_string_equal(text_of(s, "card_pci_device", CARD1), "10de:20b2");
	assert_true(value_of(s, "card_sources_agree", CARD1) == 1);
	look_away(s);
	s = look_at((struct look){.remove = "/sys/bus/pci/devices"});
	expect_not(s, "node_cards_agree", NULL, OUTCOME_NOT_MEASURED, "cards_one_witness");
	look_away(s);
}

static void no_card_at_all(void **state)
{
	struct seen *s = look_at((struct look){.faults = "{\"kind\":\"missing\"}",
	                                       .remove = "/sys/bus/pci/devices"});

	(void)state;
	expect_not(s, "card_name", NULL, OUTCOME_NOT_MEASURED, "no_cards");
	assert_string_equal(reading_of(s, "card_name", NULL)->subject.id, "*");
	expect_not(s, "node_cards_agree", NULL, OUTCOME_NOT_MEASURED, "cuda_no_device");
	look_away(s);
}

/* --- CUDA_VISIBLE_DEVICES ------------------------------------------------------------------------ */

static void hidden_cards_are_hidden_not_missing(void **state)
{
	struct seen *s = look_at((struct look){.visible = "2,0"});

	(void)state;
	assert_true(value_of(s, "node_cards_agree", NULL) == 1);
	assert_string_equal(param_of(s, reading_of(s, "card_sm_count", CARD2), "cuda_index"), "0");
	assert_string_equal(param_of(s, reading_of(s, "card_sm_count", CARD2), "nvml_index"), "2");
	assert_string_equal(param_of(s, reading_of(s, "card_sm_count", CARD0), "cuda_index"), "1");
	expect_not(s, "card_sm_count", CARD1, OUTCOME_NOT_MEASURED, "card_hidden");
	assert_string_equal(text_of(s, "card_name", CARD1), "NVIDIA A100-SXM4-80GB");
	judge(s, "a100-sxm4-80gb", 4);
	expect_finding(s, "identity-units", CARD1, "not_measured");
	look_away(s);

	s = look_at((struct look){.visible = ""});
	expect_not(s, "node_cards_agree", NULL, OUTCOME_NOT_MEASURED, "cuda_no_device");
	expect_not(s, "card_sm_count", CARD1, OUTCOME_NOT_MEASURED, "card_hidden");
	assert_string_equal(text_of(s, "card_name", CARD1), "NVIDIA A100-SXM4-80GB");
	look_away(s);

	/* Named, and yet not there: that is a missing card. */
	s = look_at(
		(struct look){.visible = "0,1,2",
	                      .faults = "{\"kind\":\"missing\",\"card\":2,\"layer\":\"cuda\"}"});
	expect_not(s, "card_sm_count", CARD2, OUTCOME_FAILED, "card_unlisted");
	assert_true(value_of(s, "card_sm_count", CARD3) == 108); /* CUDA's third is it now */
	look_away(s);
}

static void visible_devices_are_read_as_cuda_reads_them(void **state)
{
	static const char uuid[] = "GPU-1b2c3d4e-0000-1111-2222-333344445555";
	struct arena arena = {0};
	struct visible v = visible_parse(&arena, "1,0", 4);

	(void)state;
	assert_int_equal(v.n, 2);
	assert_string_equal(v.words[0], "1");
	assert_true(visible_names(&v, 0, uuid, false) && !visible_names(&v, 2, uuid, false));
	v = visible_parse(&arena, "0,0", 4);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.ended_by, "0");
	v = visible_parse(&arena, "0,-1,1", 4);
	assert_int_equal(v.n, 1);
	assert_string_equal(v.ended_by, "-1");
	assert_false(visible_names(&v, 1, uuid, false));
	v = visible_parse(&arena, "0,7,1", 4);
	assert_int_equal(v.n, 1);
	assert_int_equal(visible_parse(&arena, "0,7,1", -1).n, 3);
	v = visible_parse(&arena, "", 4);
	assert_true(v.n == 0 && !v.ended_by && !visible_names(&v, 0, uuid, true));
	v = visible_parse(&arena, " 2 ", 4);
	assert_true(visible_names(&v, 2, uuid, false));
	v = visible_parse(&arena, NULL, 4);
	assert_true(visible_names(&v, 3, uuid, false));
	v = visible_parse(&arena, "GPU-1b2c,NoDevFiles", 4);
	assert_true(visible_names(&v, 3, uuid, false) && !visible_names(&v, 3, "GPU-1b3", false));
	assert_string_equal(v.ended_by, "NoDevFiles");
	v = visible_parse(&arena, "MIG-GPU-1b2c3d4e-0000-1111-2222-333344445555/1/0", 4);
	assert_true(visible_names(&v, 0, uuid, false) && !visible_names(&v, 0, "GPU-0", true));
	v = visible_parse(&arena, "MIG-99999999-0000", 4);
	assert_true(visible_names(&v, 0, uuid, true) && !visible_names(&v, 0, uuid, false));
	arena_release(&arena);
}

/* --- answers that are no figures ------------------------------------------------------------------ */

static const struct reading *with_error(struct seen **s, const char *call, int code,
                                        const char *metric)
{
	*s = look_at((struct look){
		.faults = tmpf("{\"kind\":\"error\",\"call\":\"%s\",\"code\":%d,\"every\":1}", call,
	                       code),
		.deadline_s = 16});
	return reading_of(*s, metric, strncmp(metric, "node_", 5) == 0 ? NULL : CARD1);
}

static void lost_forbidden_and_absent_differ(void **state)
{
	static const struct {
		const char *call, *metric, *code;
		int answer;
		enum outcome outcome;
	} rows[] = {
		{"nvmlDeviceGetTotalEccErrors", "card_ecc_uncorrected", "nvml_unsupported", 3,
	         OUTCOME_UNSUPPORTED},
		{"nvmlDeviceGetTotalEccErrors", "card_ecc_uncorrected", "nvml_no_permission", 4,
	         OUTCOME_NOT_MEASURED},
		{"nvmlDeviceGetTotalEccErrors", "card_ecc_uncorrected", "nvml_lost", 15,
	         OUTCOME_FAILED},
		{"nvmlDeviceGetTotalEccErrors", "card_ecc_uncorrected", "nvml_unknown", 999,
	         OUTCOME_NOT_MEASURED},
		{"nvmlDeviceGetTotalEccErrors", "card_ecc_uncorrected", "gpu_call_failed", 4711,
	         OUTCOME_NOT_MEASURED},
		{"nvmlDeviceGetRemappedRows", "card_remap_pending", "remap_absent", 3,
	         OUTCOME_NOT_MEASURED},
		{"nvmlDeviceGetName", "card_name", "nvml_reset_required", 16, OUTCOME_FAILED},
		{"nvmlDeviceGetNvLinkState", "nvlink_links_active", "nvml_no_permission", 4,
	         OUTCOME_NOT_MEASURED},
		{"nvmlDeviceGetCurrPcieLinkWidth", "card_pcie_width", "nvml_no_permission", 4,
	         OUTCOME_NOT_MEASURED},
		{"nvmlInit_v2", "card_memory_mib", "nvml_no_driver", 9, OUTCOME_NOT_MEASURED},
		{"nvmlInit_v2", "node_driver_agrees", "nvml_mismatch", 18, OUTCOME_NOT_MEASURED},
		{"cuInit", "card_sm_count", "cuda_fabric", 802, OUTCOME_FAILED},
		{"cuInit", "card_sm_count", "cuda_mismatch", 803, OUTCOME_NOT_MEASURED},
		{"cuInit", "card_sm_count", "cuda_stub", 34, OUTCOME_NOT_MEASURED},
		{"cuDeviceGetName", "card_sm_count", "cuda_lost", 999, OUTCOME_FAILED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct seen *s;
		const struct reading *r =
			with_error(&s, rows[i].call, rows[i].answer, rows[i].metric);

		if (strcmp(r->reason.code ? r->reason.code : "", rows[i].code) != 0 ||
		    r->outcome != rows[i].outcome)
			fail_msg("%s %d: %s, %s", rows[i].call, rows[i].answer,
			         outcome_name(r->outcome), r->reason.text);
		if (str_starts(rows[i].call, "cu"))
			assert_string_equal(text_of(s, "card_name", CARD1),
			                    "NVIDIA A100-SXM4-80GB");
		look_away(s);
	}
}

/* ECC that cannot be asked is no card without ECC; one that says so is. */
static void a_card_without_ecc_does_not_pass_for_one_with(void **state)
{
	struct seen *s;

	(void)state;
	with_error(&s, "nvmlDeviceGetEccMode", 3, "card_ecc_mode");
	judge(s, "a100-sxm4-80gb", 4);
	assert_string_equal(verdict_name(finding_of(s, "ecc-on", CARD1)->verdict), "fail");
	look_away(s);
	with_error(&s, "nvmlDeviceGetEccMode", 4, "card_ecc_mode");
	judge(s, "a100-sxm4-80gb", 4);
	assert_string_equal(verdict_name(finding_of(s, "ecc-on", CARD1)->verdict), "not_measured");
	look_away(s);
}

static void what_came_before_a_hang_is_kept(void **state)
{
	struct seen *s = look_at(
		(struct look){.faults = "{\"kind\":\"hang\",\"call\":\"cuInit\"}", .hangs = true});

	(void)state;
	assert_true(WIFSIGNALED(s->status));
	assert_string_equal(text_of(s, "card_name", CARD3), "NVIDIA A100-SXM4-80GB");
	assert_true(value_of(s, "card_foreign_processes", CARD3) == 0);
	look_away(s);
}

/* NVML does not answer about one card, early and late. */
static void a_card_that_hangs_spoils_no_other(void **state)
{
	static const char *const calls[] = {"nvmlDeviceGetPowerUsage",
	                                    "nvmlDeviceGetCurrPcieLinkWidth"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct seen *s = look_at((struct look){
			.kmsg = QUIET,
			.hang_s = "0.2",
			.faults =
				tmpf("{\"kind\":\"hang\",\"card\":1,\"call\":\"%s\"}", calls[i])});

		assert_int_equal(s->status, 0);
		others_are_spared(s);
		assert_string_equal(text_of(s, "card_name", CARD1), "NVIDIA A100-SXM4-80GB");
		expect_not(s, i ? "card_pcie_gen" : "card_vgpu", CARD1, OUTCOME_TIMED_OUT,
		           "card_refused");
		look_away(s);
	}
}

/* A driver of CUDA 11.0: what it does not tell is not measured or does not exist
 * for it, and all else is told. */
static void an_old_driver_tells_what_it_can(void **state)
{
	struct seen *s = look_at((struct look){.libraries = "old",
	                                       .more = "\"cuda\":11000,\"driver\":\"450.80.02\","});

	(void)state;
	assert_int_equal(s->status, 0);
	assert_string_equal(text_of(s, "card_name", CARD1), "NVIDIA A100-SXM4-80GB");
	assert_true(value_of(s, "card_memory_mib", CARD1) == 81920);
	assert_true(value_of(s, "card_foreign_processes", CARD1) == 0);
	assert_true(value_of(s, "node_cards_agree", NULL) == 1);
	assert_true(value_of(s, "card_sources_agree", CARD1) == 1);
	expect_not(s, "card_fabric", CARD1, OUTCOME_UNSUPPORTED, "nvml_unsupported");
	expect_not(s, "card_recovery_action", CARD1, OUTCOME_UNSUPPORTED, "nvml_unsupported");
	look_away(s);
}

/* A generation below the most is worth nothing without a load, and what keeps the
 * load off the card is said. A width below the most never sleeps. */
static void a_sleeping_link_is_no_slow_link(void **state)
{
	struct seen *s = look_at((struct look){
		.faults = "{\"kind\":\"pcie\",\"card\":1,\"generation\":1,\"width\":8},"
			  "{\"kind\":\"error\",\"call\":\"cuDevicePrimaryCtxRetain\","
			  "\"code\":46,\"every\":1}"});
	const struct reading *r;

	(void)state;
	r = expect_not(s, "card_pcie_gen", CARD1, OUTCOME_NOT_MEASURED, "pcie_idle");
	assert_non_null(strstr(r->reason.text, "generation 1 of 4 (cuDevicePrimaryCtxRetain: the "
	                                       "card is in use by another process"));
	assert_true(value_of(s, "card_pcie_width", CARD1) == 8);
	assert_true(value_of(s, "card_pcie_gen", CARD0) == 4); /* awake: no load is needed */
	look_away(s);
	s = look_at((struct look){.faults = "{\"kind\":\"pcie\",\"card\":1,\"generation\":1}"});
	r = reading_of(s, "card_pcie_gen", CARD1);
	assert_true(r->outcome == OUTCOME_MEASURED && r->value == 1);
	assert_string_not_equal(param_of(s, r, "rounds_of_load"), "0");
	look_away(s);
}

/* --- nodes -------------------------------------------------------------------------------------- */

static void mixed_models_and_drivers_are_said(void **state)
{
	struct seen *s = look_at((struct look){
		.cards = "{\"model\":\"a100-sxm4-80gb\"},{\"model\":\"a100-sxm4-80gb\"},"
			 "{\"model\":\"a100-sxm4-40gb\"}",
		.files = {{"/sys/module/nvidia/version", "570.124.06\n"}}});

	(void)state;
	assert_string_equal(param_of(s, reading_of(s, "node_cards_agree", NULL), "models"), "2");
	expect_not(s, "node_driver_agrees", NULL, OUTCOME_FAILED, "driver_differs");
	judge(s, "a100-sxm4-80gb", 3);
	expect_finding(s, "one-model", NULL, "fail");
	assert_string_equal(finding_of(s, "one-model", NULL)->subject.pci, CARD2);
	expect_finding(s, "identity-name", CARD2, "fail");
	expect_finding(s, "driver-agrees", NULL, "fail");
	look_away(s);
}

static void xids_are_taken_from_the_kernels_log(void **state)
{
	static const char log[] =
		"4,100,1,-;NVRM: Xid (PCI:0000:2a:00): 31, pid=812, name=python, Ch 00000008\n"
		"4,101,2,-;NVRM: Xid (PCI:0000:3d:00): 79, GPU has fallen off the bus.\n"
		"4,102,3,-;NVRM: Xid (PCI:0000:3d:00): 79, again\n"
		"4,103,4,-;NVRM: Xid (PCI:nonsense): 79, x\n"
		"4,104,5,-;NVRM: Xid (PCI:0000:3d:00): none\n";
	struct seen *s = look_at((struct look){.kmsg = log});

	(void)state;
	assert_true(value_of(s, "card_xids", CARD0) == 0);
	assert_true(value_of(s, "card_xids", CARD1) == 0); /* of a program */
	assert_string_equal(param_of(s, reading_of(s, "card_xids", CARD1), "xids"),
	                    "[{\"xid\":31,\"times\":1,\"first\":\"pid=812, name=python, Ch "
	                    "00000008\"}]");
	assert_true(value_of(s, "card_xids", CARD2) == 2);
	assert_string_equal(param_of(s, reading_of(s, "card_xids", CARD2), "xids"),
	                    "[{\"xid\":79,\"times\":2,\"first\":\"GPU has fallen off the bus.\"}]");
	look_away(s);
	/* No log: nobody knows, and that is not zero. */
	s = look_at((struct look){0});
	expect_not(s, "card_xids", CARD0, OUTCOME_NOT_MEASURED, "xid_unreadable");
	look_away(s);
}

/* A figure of the table that has no source fails no card. */
static void unverified_figures_fail_no_card(void **state)
{
	static const char profile[] = "{\"v\":1,\"name\":\"mine\",\"title\":\"t\",\"extends\":"
				      "\"thousand-card\",\"card\":\"l20\"}";
	struct seen *s = look_at(
		(struct look){.cards = "{\"model\":\"l20\"},{\"model\":\"l20\"}",
	                      .faults = "{\"kind\":\"fewer_sms\",\"card\":1,\"sm_count\":60},"
	                                "{\"kind\":\"claim\",\"card\":1,\"field\":\"name\","
	                                "\"value\":\"NVIDIA L2\"}"});

	(void)state;
	kit_put(s, "/mine.json", profile);
	judge(s, tmpf("%s/tree/mine.json", s->root), 2);
	expect_finding(s, "identity-units", CARD1, "warn");
	assert_string_equal(finding_of(s, "identity-units", CARD1)->reason.code,
	                    "figure_unverified");
	expect_finding(s, "identity-name", CARD1, "fail");
	look_away(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_card_is_told_as_it_is),
		cmocka_unit_test(sound_nodes_pass),
		cmocka_unit_test(each_fault_is_found_on_its_card),
		cmocka_unit_test(a_lost_card_spoils_no_other),
		cmocka_unit_test(a_card_that_fell_off_keeps_its_name),
		cmocka_unit_test(a_missing_card_is_named_with_who_misses_it),
		cmocka_unit_test(cards_of_the_host_are_not_missed),
		cmocka_unit_test(without_a_bus_two_lists_are_compared),
		cmocka_unit_test(no_card_at_all),
		cmocka_unit_test(hidden_cards_are_hidden_not_missing),
		cmocka_unit_test(visible_devices_are_read_as_cuda_reads_them),
		cmocka_unit_test(lost_forbidden_and_absent_differ),
		cmocka_unit_test(a_card_without_ecc_does_not_pass_for_one_with),
		cmocka_unit_test(what_came_before_a_hang_is_kept),
		cmocka_unit_test(a_card_that_hangs_spoils_no_other),
		cmocka_unit_test(an_old_driver_tells_what_it_can),
		cmocka_unit_test(a_sleeping_link_is_no_slow_link),
		cmocka_unit_test(mixed_models_and_drivers_are_said),
		cmocka_unit_test(xids_are_taken_from_the_kernels_log),
		cmocka_unit_test(unverified_figures_fail_no_card),
	};

	return cmocka_run_group_tests(tests, config_setup, config_teardown);
}
