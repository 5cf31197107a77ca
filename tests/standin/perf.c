/* How fast a card is at a moment, and what its sensors say: both from the same
 * faults and the same record of when it was busy, so that telemetry and rates
 * agree, as they do on hardware that is not tampered with. */
#include <math.h>
#include <string.h>

#include "tests/standin/standin.h"

/* Sensors see activity that is not longer past than this. */
#define SENSOR_NS 1e6
#define IDLE_MHZ  210

/* --- speed ------------------------------------------------------------------------- */

static const char *class_of(enum rate rate)
{
	return rate <= RATE_INT8 ? "compute" : rate == RATE_MEMORY ? "memory" : "link";
}

/* Without `of` a slow card is slow in computing and memory. */
static bool concerns(const struct fault *f, enum rate rate)
{
	if (strcmp(f->word, "all") == 0)
		return true;
	if (!*f->word)
		return f->kind == FAULT_SLOW ? rate <= RATE_MEMORY : rate <= RATE_INT8;
	return strcmp(f->word, class_of(rate)) == 0;
}

static bool others_busy(const struct card *card, double t)
{
	for (int c = 0; c < node.n_cards; c++)
		if (c != card->index && node.cards[c].sm_free > t)
			return true;
	return false;
}

/* Whether the fault slows the card at t: also what lowers its clock. */
static bool active(const struct fault *f, double t)
{
	switch (f->kind) {
	case FAULT_THROTTLE:
		return t >= START_NS + f->from_s * 1e9;
	case FAULT_OSCILLATION:
		return fmod(t, f->period_s * 1e9) >= f->period_s * 0.5e9;
	default:
		return true;
	}
}

static double fault_factor(struct card *card, enum rate rate, double t)
{
	double factor = 1;

	for (struct fault *f = node.faults; f < node.faults + node.n_faults; f++) {
		if (f->card >= 0 && f->card != card->index)
			continue;
		if (f->kind == FAULT_SIBLINGS)
			factor *= rate <= RATE_MEMORY && others_busy(card, t) ? f->factor : 1;
		else if (f->kind == FAULT_FOREIGN_PROCESS || f->kind == FAULT_POWER_LIMIT)
			factor *= rate <= RATE_INT8 ? f->factor : 1;
		else if (f->kind < FAULT_SIBLINGS && concerns(f, rate) && active(f, t))
			factor *= f->factor;
	}
	return factor;
}

static double gauss(uint64_t key)
{
	double sum = 0;

	for (uint64_t i = 0; i < 12; i++)
		sum += (double)(hash64(key, i) >> 11) / 9007199254740992.0;
	return sum - 6;
}

/* AR(1) without a state: the weighted sum of the last draws. */
static double noise(struct card *card, double t)
{
	int64_t tick = (int64_t)(t / node.noise_tick_ns);
	uint64_t key = hash64(node.seed, (uint64_t)card->index + 77);
	double weight = sqrt(1 - node.noise_rho * node.noise_rho), value = 0;

	if (card->noise_at == tick + 1)
		return card->noise_value;
	for (int64_t j = 0; j < 40 && weight > 1e-4; j++, weight *= node.noise_rho)
		value += weight * gauss(hash64(key, (uint64_t)(tick - j)));
	value = 1 + node.noise_window * value;
	if ((double)(hash64(key, (uint64_t)tick ^ 0xabcdef) >> 11) / 9007199254740992.0 <
	    node.hiccup_per_hour * node.noise_tick_ns / 3600e9)
		value *= 1 - node.hiccup_depth;
	card->noise_at = tick + 1;
	card->noise_value = value;
	return value;
}

double card_factor(struct card *card, enum rate rate, double t)
{
	/* Equal cards differ in clocks, not in memory and links, and none is faster than
	 * its units at the highest clock. */
	double most = rate <= RATE_INT8 && card->rate[rate] > 0
	                      ? fmax(1, card->rated[rate] / card->rate[rate])
	                      : 1;
	double factor = rate <= RATE_INT8 ? fmin(card->spread, most) : 1;

	if (node.noise_window > 0 || node.hiccup_per_hour > 0)
		factor *= noise(card, t);
	if (node.performance_fault[card->index])
		factor *= fault_factor(card, rate, t);
	return factor;
}

static void mark_busy(struct card *card, double start, double end)
{
	struct interval *last = card->n_busy ? &card->busy[card->n_busy - 1] : NULL;

	if (last && start <= last->end + 1 && start >= last->start) {
		last->end = fmax(last->end, end);
		return;
	}
	if (card->n_busy == INTERVALS) {
		card->busy_before += card->busy[0].end - card->busy[0].start;
		memmove(card->busy, card->busy + 1, sizeof(card->busy) - sizeof(*card->busy));
		card->n_busy--;
	}
	card->busy[card->n_busy++] = (struct interval){start, end};
}

/* Of each period a time-sliced card works `factor` for us. */
static double sliced_end(const struct fault *f, double t, double work)
{
	double period = f->period_s * 1e9, ours = period * f->factor;

	for (;;) {
		double at = fmod(t, period);

		if (at >= ours) {
			t += period - at;
			continue;
		}
		if (work <= ours - at)
			return t + work;
		work -= ours - at;
		t += period - at;
	}
}

double card_end(struct card *card, enum rate rate, double start, double work_ns)
{
	const struct fault *sliced = fault_of(FAULT_TIME_SLICED, card->index);
	double t = start;

	/* Speed is looked at every 5 ms of long work. */
	while (work_ns > 0) {
		double factor = card_factor(card, rate, t), part = fmin(work_ns, 5e6 * factor);

		t = sliced && rate <= RATE_MEMORY ? sliced_end(sliced, t, part / factor)
		                                  : t + part / factor;
		work_ns -= part;
	}
	if (rate <= RATE_MEMORY && t > start)
		mark_busy(card, start, t);
	return t;
}

/* --- sensors -------------------------------------------------------------------------- */

double card_busy(const struct card *card, double from, double to)
{
	double sum = 0;

	for (int i = 0; i < card->n_busy; i++)
		sum += fmax(0, fmin(to, card->busy[i].end) - fmax(from, card->busy[i].start));
	return sum;
}

static bool loaded(const struct card *card)
{
	return card_busy(card, host_now - SENSOR_NS, host_now) > 0;
}

/* What lowers the clock now, as a factor and as reason bits. */
static double clock_factor(const struct card *card, uint64_t *reasons)
{
	static const struct {
		const char *word;
		uint64_t bits;
	} words[] = {{"power", 0x4},        {"sw_thermal", 0x20}, {"hw_thermal", 0x48},
	             {"power_brake", 0x88}, {"hw_slowdown", 0x8}, {"none", 0}};
	double factor = 1;

	*reasons = 0;
	for (struct fault *f = node.faults; f < node.faults + node.n_faults; f++) {
		if ((f->card >= 0 && f->card != card->index) ||
		    (f->kind != FAULT_THROTTLE && f->kind != FAULT_OSCILLATION &&
		     f->kind != FAULT_POWER_LIMIT))
			continue;
		if (!active(f, host_now))
			continue;
		factor *= f->factor;
		if (f->kind == FAULT_POWER_LIMIT)
			*reasons |= 0x4;
		for (size_t w = 0; w < sizeof(words) / sizeof(*words); w++)
			if (strcmp(f->word2, words[w].word) == 0)
				*reasons |= words[w].bits;
	}
	return factor;
}

double card_clock_mhz(struct card *card)
{
	uint64_t reasons;

	return loaded(card) ? card->is.sm_clock_mhz * clock_factor(card, &reasons) : IDLE_MHZ;
}

uint64_t card_reasons(struct card *card)
{
	uint64_t reasons;

	clock_factor(card, &reasons);
	return loaded(card) ? reasons : 0x1;
}

static double load_power(const struct card *card)
{
	const struct fault *f = fault_of(FAULT_POWER_LIMIT, card->index);

	return f && f->number ? fmin(card->load_w, (double)f->number) : card->load_w;
}

double card_power_w(struct card *card)
{
	return loaded(card) ? load_power(card) : card->idle_w;
}

double card_energy_mj(struct card *card)
{
	double busy = card->busy_before + card_busy(card, 0, host_now);

	return (card->idle_w * host_now + (load_power(card) - card->idle_w) * busy) / 1e6;
}

double card_temperature(struct card *card)
{
	uint64_t reasons;

	clock_factor(card, &reasons);
	return !loaded(card) ? 34 : reasons & 0x60 ? 91 : 62;
}

bool card_lost(struct card *card)
{
	struct fault *f = fault_of(FAULT_LOST, card->index);

	return f && card->calls > f->after && host_now >= START_NS + f->from_s * 1e9;
}

/* --- links ------------------------------------------------------------------------------ */

bool link_active(const struct card *card, int link)
{
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_NVLINK_DOWN, card->index));)
		if (f->link < 0 || f->link == link)
			return false;
	return link >= 0 && link < card->is.links && link_peer(card, link) != -2;
}

/* Without a switch, a card's links are numbered along its row of the matrix. */
int link_peer(const struct card *card, int link)
{
	if (node.nvswitch)
		return -1;
	for (int c = 0; c < node.n_cards; c++) {
		if (link < node.links[card->index][c])
			return c;
		link -= node.links[card->index][c];
	}
	return -2;
}

static int active_towards(const struct card *a, const struct card *b)
{
	int count = 0;

	for (int l = 0; l < a->is.links; l++) {
		int peer = link_peer(a, l);

		count += link_active(a, l) && (peer == -1 || peer == b->index);
	}
	return count;
}

int links_between(const struct card *a, const struct card *b)
{
	int x = active_towards(a, b), y = active_towards(b, a);

	return a == b ? 0 : x < y ? x : y;
}

bool pair_p2p(const struct card *a, const struct card *b)
{
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_NO_P2P, a->index));)
		if (f->peer < 0 || f->peer == b->index)
			return false;
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_NO_P2P, b->index));)
		if (f->peer < 0 || f->peer == a->index)
			return false;
	return a != b && node.p2p;
}

double pair_rate(struct card *from, struct card *to, bool by_sm)
{
	int links = links_between(from, to);
	double rate = links * fmin(from->rate[RATE_NVLINK], to->rate[RATE_NVLINK]);

	if (links == 0)
		rate = fmin(from->rate[RATE_PCIE], to->rate[RATE_PCIE]);
	/* Through host memory each byte crosses twice. */
	if (!pair_p2p(from, to))
		rate = fmin(from->rate[RATE_PCIE], to->rate[RATE_PCIE]) / 2;
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_SLOW_LINK, from->index));)
		if (f->peer < 0 || f->peer == to->index)
			rate *= f->factor;
	return by_sm ? rate * from->rate[RATE_SM_COPY] : rate;
}
