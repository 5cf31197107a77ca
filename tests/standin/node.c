/* The node file: cards as rows of accelerators.csv, with what the file says on
 * top. Reading is strict: a misspelt member would make a test of nothing. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/csv.h"
#include "base/json.h"
#include "hw/gpu_abi.h"
#include "tests/standin/standin.h"

struct node node;

_Noreturn void node_bad(const char *fmt, ...)
{
	va_list ap;

	fputs("stand-in: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(99);
}

static void copy_text(char *to, size_t size, const char *from)
{
	if (strlen(from) >= size)
		node_bad("too long: %s", from);
	/* The default may be what is there already. */
	memmove(to, from, strlen(from) + 1);
}

uint64_t hash64(uint64_t a, uint64_t b)
{
	uint64_t x = a * 0x9e3779b97f4a7c15u + b;

	for (int i = 0; i < 2; i++) {
		x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
		x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
		x ^= x >> 31;
		x += b;
	}
	return x;
}

/* --- rows of accelerators.csv ------------------------------------------------------- */

static double field_number(const struct csv *csv, int row, const char *column)
{
	const char *text = csv_field(csv, row, column);

	return text && *text ? atof(text) : 0;
}

/* A name that the pattern takes: first alternatives, optional parts kept. */
static void name_of_pattern(char *out, size_t size, const char *pattern)
{
	size_t n = 0;

	for (const char *p = pattern; *p && n + 1 < size; p++) {
		if (*p == '|' && !strchr(p, ')'))
			break;
		if (*p == '|' && strchr(p, '(') && strchr(p, '(') < strchr(p, ')'))
			break;
		if (*p == '|')
			p = strchr(p, ')');
		else if (!strchr("^$()?", *p))
			out[n++] = *p;
	}
	out[n] = '\0';
}

static void memory_kind(struct identity *id, const char *type)
{
	bool hbm = type && strncmp(type, "HBM", 3) == 0;

	id->bus_width = hbm ? 5120 : 384;
	id->memory_clock_mhz = !hbm ? 9001 : strstr(type, "HBM3") ? 2619 : 1593;
}

static void read_identity(struct identity *id, const struct csv *csv, int row)
{
	double mib = field_number(csv, row, "nvml_memory_total_mib"), clock;
	const char *capability = csv_field(csv, row, "compute_capability");
	const char *pci = csv_field(csv, row, "pci_device_ids");

	name_of_pattern(id->name, sizeof(id->name), csv_field(csv, row, "nvml_name_patterns"));
	clock = field_number(csv, row, "nvml_max_sm_clock_mhz");
	if (clock == 0)
		clock = field_number(csv, row, "boost_clock_nontensor_mhz");
	id->sm_clock_mhz = (int)clock;
	id->sm_count = (int)field_number(csv, row, "sm_count");
	id->links = (int)field_number(csv, row, "nvlink_links");
	id->power_limit_w = (int)field_number(csv, row, "tdp_w");
	if (mib == 0)
		mib = field_number(csv, row, "memory_gb_nominal") * 1024;
	id->memory_bytes = (int64_t)(mib * 1048576 / node.memory_divisor);
	if (sscanf(capability ? capability : "", "%d.%d", &id->cc_major, &id->cc_minor) != 2)
		node_bad("the row has no compute capability");
	id->pci_device = (int)((strtoul(strchr(pci, ':') + 1, NULL, 16) << 16) | 0x10de);
	memory_kind(id, csv_field(csv, row, "memory_type"));
}

/* GB/s of a PCIe lane by generation. */
static double lane_gbs(int gen)
{
	static const double lanes[] = {0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563};

	return gen >= 1 && gen <= 6 ? lanes[gen] : 0;
}

static void read_rates(struct card *card, const struct csv *csv, int row)
{
	static const char *const columns[] = {
		[RATE_FP64] = "fp64_tflops",        [RATE_FP64_TENSOR] = "fp64_tensor_tflops",
		[RATE_FP32] = "fp32_tflops",        [RATE_TF32] = "tf32_tensor_tflops",
		[RATE_FP16] = "fp16_tensor_tflops", [RATE_BF16] = "bf16_tensor_tflops",
		[RATE_FP8] = "fp8_tflops",          [RATE_INT8] = "int8_tops",
	};

	for (int r = 0; r <= RATE_INT8; r++)
		card->rated[r] = card->rate[r] = 1000 * field_number(csv, row, columns[r]);
	card->rate[RATE_MEMORY] = field_number(csv, row, "mem_bw_gbs");
	if (card->is.links)
		card->link_gbs = field_number(csv, row, "nvlink_per_dir_gbs") / card->is.links;
	card->rate[RATE_NVLINK] = card->link_gbs;
	/* Shares until what they are shares of is known. */
	card->rate[RATE_SM_COPY] = card->rate[RATE_PCIE] = card->rate[RATE_COLLECTIVE] = 1;
	card->nvlink_version = (int)field_number(csv, row, "nvlink_version");
	card->pcie_max_gen = (int)field_number(csv, row, "pcie_gen");
	card->pcie_max_width = (int)field_number(csv, row, "pcie_width");
	if (!card->pcie_max_gen) {
		card->pcie_max_gen = 5;
		card->pcie_max_width = 16;
	}
	card->ecc = strcmp(csv_field(csv, row, "ecc_default"), "on") == 0;
}

static void read_model(struct card *card, const struct csv *csv)
{
	for (int row = 0; row < csv->n_rows; row++)
		if (strcmp(csv_field(csv, row, "key"), card->model) == 0) {
			if (strcmp(csv_field(csv, row, "vendor"), "NVIDIA") != 0)
				node_bad("%s is not NVIDIA's", card->model);
			read_identity(&card->is, csv, row);
			read_rates(card, csv, row);
			return;
		}
	node_bad("accelerators.csv has no card %s", card->model);
}

/* --- the file ------------------------------------------------------------------------- */

#define X(name, text) text,
static const char *const rate_names[] = {RATE_LIST(X) NULL};
#undef X

static void check_members(const cJSON *object, const char *what, const char *const *known)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, object)
	{
		int i = 0;

		while (known[i] && strcmp(known[i], item->string) != 0)
			i++;
		if (!known[i])
			node_bad("%s has no member %s", what, item->string);
	}
}

/* achieved: share of the rated figure, for all or by name. */
static void apply_achieved(struct card *card, const cJSON *achieved)
{
	if (cJSON_IsObject(achieved))
		check_members(achieved, "achieved", rate_names);
	for (int r = 0; r < RATES; r++)
		if (cJSON_IsNumber(achieved) && r <= RATE_MEMORY)
			card->rate[r] *= achieved->valuedouble;
		else if (cJSON_IsObject(achieved))
			card->rate[r] *= json_number(achieved, rate_names[r], 1);
}

static void make_uuid(struct card *card)
{
	uint64_t h = content_digest(node.id, strlen(node.id)), a, b;

	a = hash64(h, (uint64_t)card->index + 1);
	b = hash64(a, h);
	snprintf(card->is.uuid, sizeof(card->is.uuid), "GPU-%08x-%04x-%04x-%04x-%012llx",
	         (unsigned)a, (unsigned)(a >> 32) & 0xffff, (unsigned)(a >> 48) & 0xffff,
	         (unsigned)b & 0xffff, (unsigned long long)(b >> 16));
	snprintf(card->serial, sizeof(card->serial), "16%011llu",
	         (unsigned long long)(b % 100000000000u));
}

static void read_pci(struct card *card, const char *text)
{
	if (sscanf(text, "%x:%x:%x.0", (unsigned *)&card->domain, (unsigned *)&card->bus,
	           (unsigned *)&card->device) != 3)
		node_bad("not a PCI address: %s", text);
}

/* --- what a card is ------------------------------------------------------------------- */

/* False: no such field, or not a value of it. */
static bool identity_set(struct identity *id, const char *field, const char *text)
{
	if (strcmp(field, "name") == 0)
		copy_text(id->name, sizeof(id->name), text);
	else if (strcmp(field, "uuid") == 0)
		copy_text(id->uuid, sizeof(id->uuid), text);
	else if (strcmp(field, "sm_count") == 0)
		id->sm_count = atoi(text);
	else if (strcmp(field, "sm_clock_mhz") == 0)
		id->sm_clock_mhz = atoi(text);
	else if (strcmp(field, "links") == 0)
		id->links = atoi(text);
	else if (strcmp(field, "power_limit_w") == 0)
		id->power_limit_w = atoi(text);
	else if (strcmp(field, "memory_mib") == 0)
		id->memory_bytes = (int64_t)(atof(text) * 1048576 / node.memory_divisor);
	else if (strcmp(field, "pci_device") == 0)
		id->pci_device = (int)(strtoul(text, NULL, 16) << 16 | 0x10de);
	else
		return strcmp(field, "capability") == 0 &&
		       sscanf(text, "%d.%d", &id->cc_major, &id->cc_minor) == 2;
	return true;
}

/* A recorded card need not be its row in everything: memory less what ECC takes,
 * SMs that are switched off. Rates stay those of the row. */
static void read_is(struct identity *id, const cJSON *is)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, is) if (!cJSON_IsString(item) ||
	                                 !identity_set(id, item->string, item->valuestring))
		node_bad("a card is not something of member %s", item->string);
}

static void read_card(struct card *card, const cJSON *object, const cJSON *all,
                      const struct csv *csv)
{
	static const char *const known[] = {"model",     "uuid", "serial", "pci",
	                                    "numa_node", "ecc",  "idle_w", "load_w",
	                                    "achieved",  "is",   NULL};
	char slot[32];

	check_members(object, "a card", known);
	copy_text(card->model, sizeof(card->model), json_string(object, "model", ""));
	read_model(card, csv);
	snprintf(slot, sizeof(slot), "0000:%02x:00.0", 0x17 + 0x13 * card->index % 0xe0);
	read_pci(card, json_string(object, "pci", slot));
	make_uuid(card);
	copy_text(card->is.uuid, sizeof(card->is.uuid), json_string(object, "uuid", card->is.uuid));
	read_is(&card->is, json_get(object, "is"));
	copy_text(card->serial, sizeof(card->serial), json_string(object, "serial", card->serial));
	card->numa_node = (int)json_number(object, "numa_node", card->index / 4);
	card->ecc = json_bool(object, "ecc", card->ecc);
	card->idle_w = json_number(object, "idle_w", 0.15 * card->is.power_limit_w);
	card->load_w = json_number(object, "load_w", 0.9 * card->is.power_limit_w);
	apply_achieved(card, all);
	apply_achieved(card, json_get(object, "achieved"));
}

static void read_cards(const cJSON *root)
{
	struct str text = {0}, where = {0};
	struct error err = {0};
	struct csv csv;
	const cJSON *item, *cards = json_get(root, "cards");

	if (config_read(&text, &where, NULL, "accelerators.csv", &err) != ST_OK ||
	    csv_parse(&csv, "accelerators.csv", text.data, text.len, &err) != ST_OK)
		node_bad("%s", str_text(&err.text));
	cJSON_ArrayForEach(item, cards)
	{
		const cJSON *count = json_get(root, "count");
		int times = cJSON_GetArraySize(cards) == 1 && count ? count->valueint : 1;

		for (; times > 0; times--) {
			if (node.n_cards == MAX_CARDS)
				node_bad("more than %d cards", MAX_CARDS);
			node.cards[node.n_cards].index = node.n_cards;
			read_card(&node.cards[node.n_cards++], item, json_get(root, "achieved"),
			          &csv);
		}
	}
	csv_release(&csv);
	str_release(&text);
	str_release(&where);
}

static void read_costs(const cJSON *root)
{
	static const char *const known[] = {
		"host_call_ns", "poll_ns",        "first_call_ms", "kernel_ns",     "copy_ns",
		"flag_ns",      "chase_local_ns", "chase_peer_ns", "collective_us", NULL};
	const cJSON *c = json_get(root, "costs");

	check_members(c, "costs", known);
	node.host_call_ns = json_number(c, "host_call_ns", 0);
	node.poll_ns = json_number(c, "poll_ns", 5000);
	node.first_call_ns = json_number(c, "first_call_ms", 300) * 1e6;
	node.kernel_ns = json_number(c, "kernel_ns", 0);
	node.copy_ns = json_number(c, "copy_ns", 1800);
	node.flag_ns = json_number(c, "flag_ns", 900);
	node.chase_local_ns = json_number(c, "chase_local_ns", 500);
	node.chase_peer_ns = json_number(c, "chase_peer_ns", 1100);
	node.collective_ns = json_number(c, "collective_us", 12) * 1000;
}

static void read_noise(const cJSON *root)
{
	static const char *const known[] = {"seed",         "card",    "window",
	                                    "rho",          "tick_ms", "hiccups_per_hour",
	                                    "hiccup_depth", NULL};
	const cJSON *n = json_get(root, "noise");

	check_members(n, "noise", known);
	node.seed = (uint64_t)json_int64(n, "seed", 1);
	node.noise_card = json_number(n, "card", 0);
	node.noise_window = json_number(n, "window", 0);
	node.noise_rho = json_number(n, "rho", 0.7);
	node.noise_tick_ns = json_number(n, "tick_ms", 500) * 1e6;
	node.hiccup_per_hour = json_number(n, "hiccups_per_hour", 0);
	node.hiccup_depth = json_number(n, "hiccup_depth", 0.02);
}

/* "switch", "pairs", "none" or a matrix of links between cards. */
static void read_links(const cJSON *root)
{
	const cJSON *nvlink = json_get(root, "nvlink");
	const struct card *first = &node.cards[0];
	bool socketed = strstr(first->model, "-sxm") || strncmp(first->model, "gb", 2) == 0;
	const char *word = first->is.links == 0 ? "none" : socketed ? "switch" : "pairs";
	bool geforce =
		strncmp(first->model, "rtx-40", 6) == 0 || strncmp(first->model, "rtx-50", 6) == 0;

	node.p2p = json_bool(root, "p2p", !geforce);
	if (cJSON_IsString(nvlink))
		word = nvlink->valuestring;
	node.nvswitch = !cJSON_IsArray(nvlink) && strcmp(word, "switch") == 0;
	for (int i = 0; i < node.n_cards; i++)
		for (int j = 0; j < node.n_cards; j++)
			if (cJSON_IsArray(nvlink)) {
				const cJSON *cell =
					cJSON_GetArrayItem(cJSON_GetArrayItem(nvlink, i), j);

				node.links[i][j] = cell ? cell->valueint : 0;
			} else if (strcmp(word, "pairs") == 0 && i != j && i / 2 == j / 2) {
				node.links[i][j] = node.cards[i].is.links;
			}
	if (!cJSON_IsArray(nvlink) && !word_in("switch|pairs|none", word))
		node_bad("nvlink is switch, pairs, none or a matrix, not %s", word);
}

/* --- faults that change what a card is or says ------------------------------------------- */

static void claim_field(struct identity *id, const struct fault *f)
{
	if (!identity_set(id, f->word2, f->text))
		node_bad("claim: no field %s with a value %s", f->word2, f->text);
}

/* CUDA sees the smallest MIG instance: a seventh of the SMs, an eighth of the
 * memory. */
static void make_slice(struct card *card, struct identity *id)
{
	for (int r = 0; r <= RATE_INT8; r++)
		card->rate[r] /= 7;
	card->rate[RATE_MEMORY] /= 8;
	id->sm_count = id->sm_count / 7;
	id->memory_bytes /= 8;
	card->real_bytes /= 8;
	strncat(id->name, " MIG 1g", sizeof(id->name) - strlen(id->name) - 1);
}

static void apply_claims(struct card *card)
{
	static const char *const layers[] = {"pci", "nvml", "cuda"};

	for (int l = 0; l < LAYERS; l++) {
		card->says[l] = card->is;
		if (l == LAYER_CUDA && fault_of(FAULT_MIG, card->index))
			make_slice(card, &card->says[l]);
		for (struct fault *f = NULL; (f = fault_next(f, FAULT_CLAIM, card->index));)
			if (!*f->word || strcmp(f->word, layers[l]) == 0)
				claim_field(&card->says[l], f);
	}
}

static void apply_hardware_faults(struct card *card)
{
	struct fault *f;

	if ((f = fault_of(FAULT_FEWER_SMS, card->index)) && card->is.sm_count) {
		for (int r = 0; r <= RATE_INT8; r++)
			card->rate[r] *= (double)f->number / card->is.sm_count;
		card->is.sm_count = (int)f->number;
	}
	card->real_bytes = (size_t)card->is.memory_bytes;
	if ((f = fault_of(FAULT_ALIASED_MEMORY, card->index)))
		card->real_bytes = (size_t)((double)card->real_bytes * f->factor);
	card->real_bytes &= ~(size_t)65535;
	card->pcie_gen = card->pcie_max_gen;
	card->pcie_width = card->pcie_max_width;
	if ((f = fault_of(FAULT_PCIE, card->index))) {
		card->pcie_width = f->number ? (int)f->number : card->pcie_width;
		card->pcie_gen = f->number2 ? (int)f->number2 : card->pcie_gen;
	}
	card->rate[RATE_PCIE] *= lane_gbs(card->pcie_gen) * card->pcie_width;
	card->rate[RATE_COLLECTIVE] *=
		card->is.links ? card->link_gbs * card->is.links : card->rate[RATE_PCIE];
}

static void read_nics(const cJSON *root)
{
	static const char *const known[] = {"count", "gbps", "roce", "mtu", "leaf", "uplink", NULL};
	const cJSON *nics = json_get(root, "nics");

	check_members(nics, "nics", known);
	node.nics = (int)json_number(nics, "count", 0);
	node.nic_gbps = json_number(nics, "gbps", 200);
	node.nic_roce = json_bool(nics, "roce", false);
	node.nic_mtu = (int)json_number(nics, "mtu", 4096);
	node.uplink = json_number(nics, "uplink", 1);
	copy_text(node.leaf, sizeof(node.leaf), json_string(nics, "leaf", ""));
	if (node.nics < 0 || node.nics > MAX_CARDS || !(node.nic_gbps > 0))
		node_bad("nics: up to %d of a rate above zero", MAX_CARDS);
	if (node.nic_mtu < 256 || node.nic_mtu > 4096 || node.nic_mtu & (node.nic_mtu - 1) ||
	    !(node.uplink > 0))
		node_bad("nics: an MTU of 256, 512 … 4096, an uplink above zero");
}

static void load_file(const char *path)
{
	static const char *const known[] = {
		"id",     "driver",        "vbios",          "cuda",  "max_ptx", "nccl",
		"cublas", "process_bytes", "memory_divisor", "costs", "noise",   "cards",
		"count",  "achieved",      "nvlink",         "p2p",   "faults",  "nics",
		NULL};
	struct json_doc doc = {0};
	struct error err = {0};
	const cJSON *root;

	if (json_load(&doc, path, JSON_COMMENTS, &err) != ST_OK)
		node_bad("%s", str_text(&err.text));
	root = doc.root;
	check_members(root, "the node", known);
	copy_text(node.id, sizeof(node.id), json_string(root, "id", "standin"));
	copy_text(node.driver, sizeof(node.driver), json_string(root, "driver", "580.95.05"));
	copy_text(node.vbios, sizeof(node.vbios), json_string(root, "vbios", "92.00.45.00.03"));
	node.cuda = (int)json_number(root, "cuda", 13000);
	/* PTX 9.0 came with CUDA 13, 8.n with 12.n, 7.n with 11.n. */
	node.max_ptx = (int)json_number(root, "max_ptx",
	                                (node.cuda / 1000 - 4) * 10 + node.cuda % 1000 / 10);
	node.nccl = (int)json_number(root, "nccl", 22809);
	node.cublas = (int)json_number(root, "cublas", node.cuda / 1000 * 10000 + 100);
	node.process_bytes = (int)json_number(root, "process_bytes", sizeof(nvml_process));
	node.memory_divisor = json_number(root, "memory_divisor", 1024);
	read_costs(root);
	read_noise(root);
	read_nics(root);
	read_cards(root);
	if (node.n_cards)
		read_links(root);
	fault_parse(json_get(root, "faults"));
	json_release(&doc);
}

void node_load(void)
{
	static bool loaded;
	const char *path;

	if (loaded)
		return;
	loaded = true;
	path = getenv("ASSAY_STANDIN");
	if (!path)
		node_bad("ASSAY_STANDIN names no node file");
	load_file(path);
	for (int c = 0; c < node.n_cards; c++) {
		struct card *card = &node.cards[c];
		double spread = 0;

		apply_hardware_faults(card);
		apply_claims(card);
		/* A sum of uniforms is normal enough for a spread. */
		for (uint64_t i = 0; i < 12; i++)
			spread += (double)(hash64(node.seed, 1000 * (uint64_t)c + i) >> 11) /
			          9007199254740992.0;
		card->spread = 1 + node.noise_card * (spread - 6);
	}
}
