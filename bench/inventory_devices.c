/* Devices and mounts of a node: the count as the value, the list in params,
 * where a person looks when the count is not what was ordered. */
#include <stdlib.h>
#include <string.h>

#include "hw/host.h"
#include "inventory.h"
#include "software.h"

struct json_text json_text_begin(void)
{
	struct json_text t = {.text = calloc(1, sizeof(*t.text))};

	if (!t.text)
		die_nomem();
	t.j = json_writer(t.text, 0);
	json_object_begin(&t.j, NULL);
	return t;
}

const char *json_text_end(struct json_text *t, struct arena *arena)
{
	const char *kept;

	json_object_end(&t->j);
	kept = arena_str(arena, t->text->data);
	str_release(t->text);
	free(t->text);
	return kept;
}

void json_put_known(struct json_out *j, const char *key, int64_t value)
{
	if (value < 0)
		json_put_null(j, key);
	else
		json_put_int(j, key, value);
}

void json_put_limit(struct json_out *j, const char *key, int64_t value)
{
	if (value == HOST_UNLIMITED)
		json_put_string(j, key, "unlimited");
	else
		json_put_known(j, key, value);
}

/* Negative: unknown, and source is what could not be read. */
static enum status emit_count(struct probe_ctx *ctx, const char *metric, int count,
                              struct json_text *params, const char *source)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_NODE;
	r.subject.id = ctx->node;
	r.params = json_text_end(params, ctx->arena);
	if (count >= 0) {
		r.value_kind = VALUE_NUMBER;
		r.value = count;
	} else {
		r.outcome = OUTCOME_NOT_MEASURED;
		reason_set(ctx, &r.reason, MSG_host_unreadable, source);
	}
	return ctx->emit(ctx, &r);
}

/* --- mounts -------------------------------------------------------------------------- */

/* Kernel interfaces and memory, which hold no files of anyone. They are not
 * asked by statfs either: a dead network file system would hang the probe. */
static bool holds_files(const char *type)
{
	static const char *const pseudo[] = {
		"autofs",     "binfmt_misc", "bpf",      "cgroup",   "cgroup2", "configfs",
		"debugfs",    "devpts",      "devtmpfs", "efivarfs", "fusectl", "hugetlbfs",
		"mqueue",     "nsfs",        "proc",     "pstore",   "ramfs",   "rpc_pipefs",
		"securityfs", "selinuxfs",   "sysfs",    "tmpfs",    "tracefs",
	};

	for (size_t i = 0; i < sizeof(pseudo) / sizeof(*pseudo); i++)
		if (strcmp(type, pseudo[i]) == 0)
			return false;
	return true;
}

/* "ro,password=x" -> "ro,password=(not told)" */
static const char *options_told(struct arena *arena, const char *options)
{
	char *copy = arena_str(arena, options), *rest = NULL;
	struct str out = {0};
	const char *told;

	for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		size_t name = strcspn(word, "=");

		str_addf(&out, "%s%.*s", out.len ? "," : "", (int)name, word);
		str_add(&out, word[name] && sw_is_secret(word, name) ? "=(not told)" : word + name);
	}
	told = arena_str(arena, str_text(&out));
	str_release(&out);
	return told;
}

/* "https://user:word@host/x" -> "https://(not told)@host/x" */
static const char *source_told(struct arena *arena, const char *source)
{
	const char *begin = strstr(source, "://"), *end;

	if (!begin)
		return source;
	begin += 3;
	end = memrchr(begin, '@', strcspn(begin, "/"));
	return end ? arena_strf(arena, "%.*s(not told)%s", (int)(begin - source), source, end)
	           : source;
}

enum status inventory_mounts(struct probe_ctx *ctx)
{
	int count, kept = 0;
	const struct host_mount *m = host_mounts_read(ctx->arena, ctx->sys_root, &count);
	struct json_text t = json_text_begin();

	json_array_begin(&t.j, "mounts");
	for (int i = 0; i < count; i++) {
		if (!holds_files(m[i].type))
			continue;
		kept++;
		json_object_begin(&t.j, NULL);
		json_put_string(&t.j, "point", m[i].point);
		json_put_string(&t.j, "type", m[i].type);
		json_put_string(&t.j, "source", source_told(ctx->arena, m[i].source));
		json_put_string(&t.j, "options", options_told(ctx->arena, m[i].options));
		json_object_end(&t.j);
	}
	json_array_end(&t.j);
	return emit_count(ctx, "node_filesystems", count < 0 ? count : kept, &t,
	                  "/proc/self/mountinfo");
}

/* --- network ---------------------------------------------------------------------------- */

enum status inventory_nics(struct probe_ctx *ctx)
{
	int count, real = 0;
	const struct host_nic *nic = host_nics_read(ctx->arena, ctx->sys_root, &count);
	struct json_text t = json_text_begin();

	json_array_begin(&t.j, "nics");
	for (int i = 0; i < count; i++) {
		if (nic[i].is_virtual)
			continue;
		real++;
		json_object_begin(&t.j, NULL);
		json_put_string(&t.j, "name", nic[i].name);
		json_put_string(&t.j, "driver", nic[i].driver);
		json_put_string(&t.j, "pci", nic[i].pci);
		json_put_known(&t.j, "numa", nic[i].numa_node);
		json_put_string(&t.j, "state", nic[i].state);
		json_put_known(&t.j, "speed_mbps", nic[i].speed_mbps);
		json_put_known(&t.j, "mtu", nic[i].mtu);
		json_object_end(&t.j);
	}
	json_array_end(&t.j);
	return emit_count(ctx, "node_nics", count < 0 ? count : real, &t, "/sys/class/net");
}

static void put_rdma(struct json_out *j, const struct host_rdma *d)
{
	json_object_begin(j, NULL);
	json_put_string(j, "name", d->name);
	json_put_bool(j, "software", d->pci == NULL);
	json_put_string(j, "pci", d->pci);
	json_put_known(j, "numa", d->numa_node);
	json_put_string(j, "board", d->board);
	json_put_string(j, "firmware", d->firmware);
	json_put_int(j, "ports", d->ports);
	json_put_string(j, "state", d->state);
	json_put_string(j, "rate", d->rate);
	json_put_string(j, "link_layer", d->link_layer);
	json_object_end(j);
}

enum status inventory_rdma(struct probe_ctx *ctx)
{
	int count, hardware = 0;
	const struct host_rdma *d = host_rdma_read(ctx->arena, ctx->sys_root, &count);
	struct json_text t = json_text_begin();

	json_array_begin(&t.j, "devices");
	for (int i = 0; i < count; i++) {
		put_rdma(&t.j, &d[i]);
		hardware += d[i].pci != NULL;
	}
	json_array_end(&t.j);
	return emit_count(ctx, "node_rdma_devices", count < 0 ? count : hardware, &t,
	                  "/sys/class/infiniband");
}

/* --- NVIDIA --------------------------------------------------------------------------------- */

static void put_card(struct json_out *j, const struct host_pci *c)
{
	json_object_begin(j, NULL);
	json_put_string(j, "pci", c->address);
	json_put_string(j, "device", tmpf("10de:%04x", (unsigned)c->device & 0xffff));
	if (c->subsystem_vendor >= 0 && c->subsystem_device >= 0)
		json_put_string(j, "subsystem",
		                tmpf("%04x:%04x", (unsigned)c->subsystem_vendor,
		                     (unsigned)c->subsystem_device));
	json_put_known(j, "revision", c->revision);
	json_put_string(j, "class", tmpf("%06x", (unsigned)c->class_code));
	json_put_string(j, "driver", c->driver);
	json_put_known(j, "numa", c->numa_node);
	/* As they are while idle: a sleeping link is slow and not at fault. */
	json_put_string(j, "link_speed_idle", c->speed);
	json_put_string(j, "link_speed_max", c->max_speed);
	json_put_known(j, "link_width_idle", c->width);
	json_put_known(j, "link_width_max", c->max_width);
	json_object_end(j);
}

enum status inventory_nvidia(struct probe_ctx *ctx)
{
	struct host_nvidia nv = host_nvidia_read(ctx->arena, ctx->sys_root);
	struct json_text t = json_text_begin();

	json_put_known(&t.j, "nvswitches", nv.switches);
	json_array_begin(&t.j, "cards");
	for (int i = 0; i < nv.n_cards; i++)
		put_card(&t.j, &nv.cards[i]);
	json_array_end(&t.j);
	return emit_count(ctx, "node_nvidia_pci_devices", nv.n_cards, &t, "/sys/bus/pci/devices");
}
