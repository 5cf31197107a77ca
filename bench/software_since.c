/* Whether what the guides want pre-installed was there before the customer came. Only
 * what is found counts: what is missing fails where it should run, and may lie in an
 * image that is not ours to open. The
 * clock starts where the machine was first used: by what was stated, by the marks a
 * first boot leaves, in a container by its start. Without any of these nothing is
 * claimed; an installation of this morning would else pass as the provider's. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "software.h"

struct reading sw_reading(struct probe_ctx *ctx, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_ENVIRONMENT;
	r.subject.id = ctx->node;
	return r;
}

/* What cloud-init writes once an instance, at its first boot, tells it for certain. Keys
 * of SSH are made then too, but some images bring theirs: older than the keys is before
 * the customer, newer than them means nothing. */
static bool first_boot(struct sw_scan *s, int64_t *when, const char **by, bool *certain)
{
	static const char *const marks[] = {
		"/var/lib/cloud/instance/sem/config_ssh",
		"/var/lib/cloud/instance/sem/config_scripts_user",
		"/etc/ssh/ssh_host_ed25519_key",
		"/etc/ssh/ssh_host_rsa_key",
		"/etc/ssh/ssh_host_ecdsa_key",
	};
	struct stat at;

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (sw_stat(s, marks[i], &at)) {
			*when = at.st_mtime;
			*by = marks[i];
			*certain = i < 2;
			return true;
		}
	return false;
}

/* Start of process 1 in a container: seconds since boot in field 22 of its stat. */
static bool container_start(struct sw_scan *s, int64_t *when)
{
	const char *container = host_system_read(s->arena, s->root).container;
	const char *stat = sw_line(s, "/proc/1/stat"), *p;
	struct str text = {0};
	long long ticks = -1, boot = -1;

	if (!container || strcmp(container, "none") == 0)
		return false;
	p = stat ? strrchr(stat, ')') : NULL;
	for (int i = 0; p && i < 20; i++)
		p = strchr(p + 1, ' ');
	if (p)
		ticks = strtoll(p + 1, NULL, 10);
	if (sw_read(s, &text, "/proc/stat", 16 << 20) && (p = strstr(str_text(&text), "\nbtime ")))
		boot = strtoll(p + 7, NULL, 10);
	str_release(&text);
	*when = boot + ticks / sysconf(_SC_CLK_TCK);
	return ticks >= 0 && boot > 0;
}

/* When the first thing of a copy was written; false: not told. */
static bool copy_time(struct sw_scan *s, const struct sw_copy *c, int64_t *when)
{
	struct stat at;

	if (!sw_stat(s, c->package && c->package->info ? c->package->info : c->dir, &at))
		return false;
	*when = at.st_mtime;
	return true;
}

/* The module's file; in a container it is the host's and was there before. */
static bool driver_time(struct sw_scan *s, int64_t *when)
{
	static const char *const places[] = {"updates/dkms/nvidia.ko",
	                                     "updates/dkms/nvidia.ko.zst",
	                                     "updates/dkms/nvidia.ko.xz",
	                                     "extra/nvidia.ko",
	                                     "extra/nvidia.ko.xz",
	                                     "kernel/drivers/video/nvidia.ko",
	                                     "kernel/drivers/video/nvidia.ko.zst"};
	const char *kernel = sw_line(s, "/proc/sys/kernel/osrelease");
	struct stat at;

	for (size_t i = 0; kernel && i < sizeof(places) / sizeof(*places); i++)
		if (sw_stat(s, tmpf("/lib/modules/%s/%s", kernel, places[i]), &at)) {
			*when = at.st_mtime;
			return true;
		}
	return false;
}

static void put_row(struct json_out *j, const char *name, bool there, bool older, bool known,
                    int64_t when)
{
	struct str time = {0};

	json_object_begin(j, NULL);
	json_put_string(j, "name", name);
	json_put_bool(j, "there", there);
	json_put_bool(j, "before", older);
	if (known)
		time_add_utc(&time, when * NS_PER_S);
	json_put_string(j, "time", known ? str_text(&time) : NULL);
	json_object_end(j);
	str_release(&time);
}

struct count {
	int older, due;
};

static void count_frameworks(struct sw_scan *s, const struct sw_framework *list, int64_t since,
                             struct json_out *j, struct count *n)
{
	for (int i = 0; i < SW_FRAMEWORKS; i++) {
		bool older = false, known = false;
		int64_t oldest = 0, when;

		if (!list[i].required || !list[i].n_copies)
			continue;
		for (int c = 0; c < list[i].n_copies; c++)
			if (copy_time(s, &list[i].copies[c], &when) && (!known || when < oldest)) {
				oldest = when;
				known = true;
			}
		older = known && oldest < since;
		n->due++;
		n->older += older;
		put_row(j, list[i].title, list[i].n_copies > 0, older, known, oldest);
	}
}

static bool when_first_used(struct sw_scan *s, int64_t *since, const char **by, bool *certain,
                            struct reading *r)
{
	const char *given = s->ctx->param_word(s->ctx, "since");

	*certain = true;
	r->outcome = OUTCOME_NOT_MEASURED;
	if (*given) {
		*by = "software.since";
		if (time_parse_utc(given, since)) {
			*since /= NS_PER_S;
			return true;
		}
		reason_set(s->ctx, &r->reason, MSG_sw_since_bad, given);
		return false;
	}
	if (first_boot(s, since, by, certain))
		return true;
	*by = "start of the container";
	if (container_start(s, since))
		return true;
	reason_set(s->ctx, &r->reason, MSG_sw_since_unknown);
	return false;
}

enum status sw_emit_preinstalled(struct sw_scan *s, const struct sw_system *sys,
                                 const struct sw_framework *frameworks)
{
	struct reading r = sw_reading(s->ctx, "sw_preinstalled_share");
	struct str text = {0}, time = {0};
	struct json_out j = json_writer(&text, 0);
	struct count n = {0};
	int64_t since, when;
	const char *by = NULL;
	bool certain = false;

	if (!when_first_used(s, &since, &by, &certain, &r))
		return s->ctx->emit(s->ctx, &r);
	json_object_begin(&j, NULL);
	time_add_utc(&time, since * NS_PER_S);
	json_put_string(&j, "first_used", str_text(&time));
	json_put_string(&j, "known_by", by);
	json_array_begin(&j, "required");
	count_frameworks(s, frameworks, since, &j, &n);
	if (sys->nvidia.n_cards > 0 && sys->driver) {
		bool known = driver_time(s, &when), older = !known || when < since;

		n.due++;
		n.older += older;
		put_row(&j, "NVIDIA driver", true, older, known, known ? when : 0);
	}
	json_array_end(&j);
	json_object_end(&j);
	r.params = arena_str(s->arena, text.data);
	if (n.older < n.due && !certain) {
		reason_set(s->ctx, &r.reason, MSG_sw_since_unknown);
	} else if (n.due) {
		r.outcome = OUTCOME_MEASURED;
		r.value_kind = VALUE_NUMBER;
		r.value = (double)n.older / n.due;
	} else {
		reason_set(s->ctx, &r.reason, MSG_sw_none, "PyTorch, DeepSpeed or Megatron-core",
		           tmpf("%d", s->n_places));
	}
	str_release(&text);
	str_release(&time);
	return s->ctx->emit(s->ctx, &r);
}
