/* Makes a synthetic run directory of any size for the performance bars: healthy
 * A100 SXM4 80GB cards, written through the journal writer like a real run and
 * marked simulated, so that no scorecard of it can ever read ACCEPT.
 *
 *     make_journal NODES CARDS READINGS_PER_NODE DIR [PARTNERS]
 *
 * PARTNERS: rates over TCP, both ways, with so many other nodes for each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/sha256.h"
#include "base/unit.h"
#include "run/journal.h"
#include "stats/rng.h"

struct figure {
	const char *probe, *metric, *unit;
	enum better better;
	double mean, sd;  /* sd between cards as a share of the mean */
	const char *text; /* identity instead of a figure, or NULL */
	const char *params;
};

#define GEMM(dtype)                                                                                \
	"{\"m\":8192,\"n\":8192,\"k\":8192,\"dtype\":\"" dtype "\",\"window_s\":0.5,"              \
	"\"library\":\"cublas 12.4.5\",\"data\":\"normal\","                                       \
	"\"seed\":\"0123456789abcdef\"}"

/* By probe: a unit of work ends where the probe changes. */
static const struct figure card_figures[] = {
	{"inventory", "card_name", "text", BETTER_NEITHER, 0, 0, "NVIDIA A100-SXM4-80GB", NULL},
	{"inventory", "card_sm_count", "1", BETTER_NEITHER, 108, 0, NULL, NULL},
	{"inventory", "card_memory_mib", "MiB", BETTER_NEITHER, 81920, 0, NULL, NULL},
	{"inventory", "card_ecc_mode", "text", BETTER_NEITHER, 0, 0, "on", NULL},
	{"inventory", "nvlink_links_active", "1", BETTER_NEITHER, 12, 0, NULL, NULL},
	{"gemm", "gemm_fp64_tflops", "TFLOP/s", BETTER_HIGHER, 9.4, 0.003, NULL, GEMM("fp64")},
	{"gemm", "gemm_fp32_tflops", "TFLOP/s", BETTER_HIGHER, 19.1, 0.003, NULL, GEMM("fp32")},
	{"gemm", "gemm_tf32_tflops", "TFLOP/s", BETTER_HIGHER, 132, 0.01, NULL, GEMM("tf32")},
	{"gemm", "gemm_fp16_tflops", "TFLOP/s", BETTER_HIGHER, 268, 0.01, NULL, GEMM("fp16")},
	{"gemm", "gemm_bf16_tflops", "TFLOP/s", BETTER_HIGHER, 270, 0.01, NULL, GEMM("bf16")},
	{"gemm", "gemm_wrong_elements", "1", BETTER_LOWER, 0, 0, NULL, GEMM("all")},
	{"membw", "membw_triad_gbs", "GB/s", BETTER_HIGHER, 1780, 0.003, NULL,
         "{\"bytes\":8589934592,\"passes\":120,\"unroll\":4}"},
	{"memtest", "memtest_errors", "1", BETTER_LOWER, 0, 0, NULL, "{\"patterns\":\"all\"}"},
	{"jitter", "jitter_card_stolen", "1", BETTER_LOWER, 2e-5, 0.2, NULL, "{\"seconds\":10}"},
};

static const struct figure node_figures[] = {
	{"inventory", "node_cards_agree", "1", BETTER_NEITHER, 1, 0, NULL, NULL},
	{"jitter", "jitter_cpu_stolen", "1", BETTER_LOWER, 1e-4, 0.2, NULL, "{\"seconds\":10}"},
	{"jitter", "jitter_steal", "1", BETTER_LOWER, 0, 0, NULL, "{\"seconds\":10}"},
	{"collective", "collective_allreduce_ring_busbw_gbs", "GB/s", BETTER_HIGHER, 233.4, 0.003,
         NULL, "{\"bytes\":4294967296,\"algorithm\":\"ring\",\"iterations\":20}"},
	{"collective", "collective_wrong_elements", "1", BETTER_LOWER, 0, 0, NULL,
         "{\"bytes\":4294967296,\"algorithm\":\"ring\",\"iterations\":20}"},
};

#define CARD_ID     "GPU-%08x-0000-4000-8000-%012x"
#define COUNT(list) (int)(sizeof(list) / sizeof(*(list)))

struct maker {
	struct journal *journal;
	struct rng rng;
	const char *dir;
	char node[16], card[64], work[13];
	const char *unit_probe; /* of the unit that is open, or NULL */
	struct raw_file raw;    /* of this node */
	char raw_sha256[SHA256_HEX];
	struct str raw_name, time;
	int64_t wall_ns;
};

static double drawn(struct maker *m, const struct figure *f)
{
	return f->mean * (1 + f->sd * rng_normal(&m->rng));
}

/* Windows of 0.1 % noise around the value. */
static void fill_stats(struct maker *m, struct reading *r)
{
	double v = r->value, s = 0.001 * (0.8 + 0.4 * rng_unit(&m->rng));

	r->stats[STAT_N] = 120;
	r->stats[STAT_MEDIAN] = v;
	r->stats[STAT_MEAN] = v * (1 + s * rng_normal(&m->rng) / 11);
	r->stats[STAT_MIN] = v * (1 - 2.6 * s);
	r->stats[STAT_MAX] = v * (1 + 2.6 * s);
	r->stats[STAT_CV] = s;
	r->stats[STAT_P2_5] = v * (1 - 1.96 * s);
	r->stats[STAT_P97_5] = v * (1 + 1.96 * s);
	r->stats[STAT_F95] = 1.96 * s;
	r->stats[STAT_F95_LO95] = 1.8 * s;
	r->stats[STAT_F95_HI95] = 2.2 * s;
	r->stats[STAT_F95_LO999] = 1.6 * s;
	r->stats[STAT_AC1] = 0.5;
	r->stats[STAT_BLOCK] = 10;
}

static enum status end_unit(struct maker *m, struct error *err)
{
	if (!m->unit_probe)
		return ST_OK;
	m->unit_probe = NULL;
	return journal_work_done(m->journal, m->work, err);
}

static enum status add(struct maker *m, const struct figure *f, const char *card, int index,
                       int round, struct error *err)
{
	struct reading r = reading_init();
	struct str line = {0};
	enum status st = ST_OK;

	if (m->unit_probe && strcmp(m->unit_probe, f->probe) != 0)
		st = end_unit(m, err);
	work_id(m->work, "cards", f->probe, card ? card : m->node, "");
	m->unit_probe = f->probe;
	str_clear(&m->time);
	time_add_utc(&m->time, m->wall_ns += 3 * NS_PER_MS);
	r.time = m->time.data;
	r.node = m->node;
	r.phase = "cards";
	r.work = m->work;
	r.probe = f->probe;
	r.subject.kind = card ? SUBJECT_CARD : SUBJECT_NODE;
	r.subject.id = card ? card : m->node;
	r.subject.pci = card ? tmpf("0000:%02x:00.0", 0x17 + 0x10 * (index % 8)) : NULL;
	r.subject.index = card ? index : -1;
	r.metric = f->metric;
	r.unit = f->unit;
	r.better = f->better;
	r.origin = ORIGIN_SIMULATED;
	r.value_kind = f->text ? VALUE_TEXT : VALUE_NUMBER;
	r.text = f->text;
	r.value = f->text ? 0 : drawn(m, f);
	r.params = f->params;
	r.point = round ? tmpf("round=%d", round) : NULL;
	if (f->sd > 0)
		fill_stats(m, &r);
	if (strcmp(f->probe, "gemm") == 0)
		r.raw = m->raw;
	reading_format(&line, &r);
	if (st == ST_OK)
		st = journal_append(m->journal, line.data, line.len, err);
	str_release(&line);
	return st;
}

static enum status start_node(struct maker *m, int number, struct error *err)
{
	static const char windows[] = "second,tflops\n0.5,268.1\n1.0,268.0\n";
	struct str path = {0};
	enum status st;

	snprintf(m->node, sizeof(m->node), "n%05d", number);
	str_clear(&m->raw_name);
	str_addf(&m->raw_name, "raw/%s/gemm.csv", m->node);
	st = dir_make(path_join(&path, m->dir, tmpf("raw/%s", m->node)), err);
	if (st == ST_OK)
		st = file_write(path_join(&path, m->dir, m->raw_name.data), windows,
		                sizeof(windows) - 1, err);
	sha256_text(windows, sizeof(windows) - 1, m->raw_sha256);
	m->raw = (struct raw_file){m->raw_name.data, m->raw_sha256, sizeof(windows) - 1};
	str_release(&path);
	return st;
}

/* All figures of one subject, as far as readings are left to make; index -1: the
 * node. */
static enum status add_all(struct maker *m, const struct figure *figures, int count, int index,
                           int round, int *left, struct error *err)
{
	enum status st = ST_OK;

	for (int f = 0; f<count && * left> 0 && st == ST_OK; f++, (*left)--)
		st = add(m, &figures[f], index < 0 ? NULL : m->card, index, round, err);
	return st == ST_OK ? end_unit(m, err) : st;
}

/* Rounds over all figures of all cards and of the node until there are enough. */
static enum status add_node(struct maker *m, int number, int cards, int readings, struct error *err)
{
	enum status st = start_node(m, number, err);

	for (int round = 0, left = readings; st == ST_OK && left > 0; round++) {
		for (int c = 0; c < cards && st == ST_OK; c++) {
			snprintf(m->card, sizeof(m->card), CARD_ID, number, c);
			st = add_all(m, card_figures, COUNT(card_figures), c, round, &left, err);
		}
		if (st == ST_OK)
			st = add_all(m, node_figures, COUNT(node_figures), -1, round, &left, err);
	}
	return st;
}

static const struct figure pair_figure = {"net", "net_tcp_gbps", "Gb/s", BETTER_HIGHER,
                                          92,    0.01,           NULL,   "{\"streams\":4}"};

static enum status add_pair(struct maker *m, int from, int to, struct error *err)
{
	struct reading r = reading_init();
	struct str line = {0};
	enum status st;

	str_clear(&m->time);
	time_add_utc(&m->time, m->wall_ns += 3 * NS_PER_MS);
	r.time = m->time.data;
	r.node = tmpf("n%05d", from < to ? from : to);
	r.phase = "pairs";
	r.probe = pair_figure.probe;
	r.subject.kind = SUBJECT_PAIR;
	r.subject.id = tmpf("n%05d|n%05d", from, to);
	r.subject.n_ends = 2;
	r.subject.ends[0] = (struct subject_end){.node = tmpf("n%05d", from), .nic = "eth0"};
	r.subject.ends[1] = (struct subject_end){.node = tmpf("n%05d", to), .nic = "eth0"};
	r.metric = pair_figure.metric;
	r.unit = pair_figure.unit;
	r.better = pair_figure.better;
	r.origin = ORIGIN_SIMULATED;
	r.value_kind = VALUE_NUMBER;
	r.value = drawn(m, &pair_figure);
	r.params = pair_figure.params;
	reading_format(&line, &r);
	st = journal_append(m->journal, line.data, line.len, err);
	str_release(&line);
	return st;
}

/* Each with those that follow it, round the ring. */
static enum status add_pairs(struct maker *m, int nodes, int partners, struct error *err)
{
	enum status st = ST_OK;

	for (int n = 0; n < nodes; n++)
		for (int k = 1; k <= partners / 2 && st == ST_OK; k++) {
			st = add_pair(m, n + 1, (n + k) % nodes + 1, err);
			if (st == ST_OK)
				st = add_pair(m, (n + k) % nodes + 1, n + 1, err);
		}
	return st;
}

struct size {
	int nodes, cards, readings, partners;
};

static enum status make(const char *dir, struct size size, char digest[65], struct error *err)
{
	const struct run_info info = {
		.id = "00000000000000a1",
		.created = "2026-12-02T03:04:05.000Z",
		.version = "0.1.0",
		.build = "make_journal",
		.host = "n00001",
		.command = "make_journal",
		.vendor = "synthetic",
		.profile = "a100-sxm4-80gb",
		.budget = "standard",
		.seed = "0123456789abcdef",
		.expected_nodes = size.nodes,
		.expected_cards = size.cards,
	};
	struct maker m = {.dir = dir, .wall_ns = 1796180645 * NS_PER_S};
	enum status st = journal_create(&m.journal, dir, &info, err), closed;

	if (st != ST_OK)
		return st;
	rng_seed(&m.rng, 1);
	for (int n = 1; n <= size.nodes && st == ST_OK; n++)
		st = add_node(&m, n, size.cards, size.readings, err);
	if (st == ST_OK)
		st = add_pairs(&m, size.nodes, size.partners, err);
	closed = journal_close(m.journal, st != ST_OK, digest, err);
	str_release(&m.raw_name);
	str_release(&m.time);
	return st == ST_OK ? closed : st;
}

int main(int argc, char **argv)
{
	int64_t numbers[4] = {0};
	struct error err = {0};
	char digest[65];

	for (int i = 0; i < 4; i++) {
		const char *word = i < 3 && argc > i + 1 ? argv[i + 1] : argc > 5 ? argv[5] : "0";

		if (argc < 5 || argc > 6 || !parse_int64(word, &numbers[i]) || numbers[i] < 0 ||
		    numbers[i] > 100000) {
			fprintf(stderr, "usage: %s NODES CARDS READINGS_PER_NODE DIR [PARTNERS]\n",
			        argv[0]);
			return EXIT_USAGE;
		}
	}
	if (make(argv[4],
	         (struct size){(int)numbers[0], (int)numbers[1], (int)numbers[2], (int)numbers[3]},
	         digest, &err) != ST_OK) {
		fprintf(stderr, "%s\n", str_text(&err.text));
		error_release(&err);
		return EXIT_USAGE;
	}
	puts(digest);
	return 0;
}
