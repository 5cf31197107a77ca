/* Whether kernel driver, libcuda, the frameworks' builds and the cards fit each other
 * on paper. What is found here stops a job before its first step; that nothing is
 * found promises no more than that, so the word is "compatible" and never "supported". */
#include <string.h>

#include "software.h"

/* Oldest driver for a CUDA major version (NVIDIA's compatibility guide). */
static const struct {
	int major;
	const char *driver;
} cuda_needs[] = {{11, "450"}, {12, "525"}, {13, "580"}};

/* First CUDA with code for an architecture. */
static const struct {
	const char *capability, *cuda;
} arch_needs[] = {{"8.0", "11.0"}, {"8.6", "11.1"},  {"8.9", "11.8"},
                  {"9.0", "11.8"}, {"10.0", "12.8"}, {"12.0", "12.8"}};

static void add(struct sw_scan *s, struct sw_fit *fit, enum msg id, const char *const args[4])
{
	struct sw_problem *p;

	fit->problems =
		sw_grow(s->arena, fit->problems, fit->n_problems, &fit->cap_problems, sizeof(*p));
	p = &fit->problems[fit->n_problems++];
	*p = (struct sw_problem){.id = id};
	for (int i = 0; i < 4 && args[i]; i++)
		p->args[i] = arena_str(s->arena, args[i]);
}

#define PROBLEM(s, fit, id, ...) add(s, fit, id, (const char *const[4]){__VA_ARGS__})

/* --- the driver --------------------------------------------------------------------------- */

static void judge_driver(struct sw_scan *s, const struct sw_system *sys, struct sw_fit *fit)
{
	bool compat = sys->libcuda_path && strstr(sys->libcuda_path, "/compat");

	/* A container sees the host's module and libcuda; both come from the host. */
	if (!sys->driver)
		PROBLEM(s, fit, MSG_sw_no_module, tmpf("%d", sys->nvidia.n_cards));
	else if (!sys->libcuda)
		PROBLEM(s, fit, MSG_sw_no_libcuda, sys->driver);
	else if (!compat && strcmp(sys->libcuda, "1") != 0 &&
	         strcmp(sys->driver, sys->libcuda) != 0 &&
	         (!sys->compat || strcmp(sys->compat, sys->libcuda) != 0))
		PROBLEM(s, fit, MSG_sw_driver_apart, sys->driver, sys->libcuda);
}

static void judge_fabric(struct sw_scan *s, const struct sw_system *sys, struct sw_fit *fit)
{
	const char *manager = sys->fabric_manager;

	/* It runs on the host, and a container sees the switches but not it. */
	if (sys->nvidia.switches < 1 || !sys->driver || sys->contained)
		return;
	if (!manager)
		PROBLEM(s, fit, MSG_sw_no_fabric, tmpf("%d", sys->nvidia.switches), sys->driver);
	else if (*manager && strcmp(manager, sys->driver) != 0)
		PROBLEM(s, fit, MSG_sw_fabric_apart, manager, sys->driver);
}

/* --- one copy of a framework -------------------------------------------------------------- */

static const char *driver_needed(const char *cuda)
{
	for (size_t i = 0; i < sizeof(cuda_needs) / sizeof(*cuda_needs); i++)
		if (cuda_needs[i].major == sw_major(cuda))
			return cuda_needs[i].driver;
	return NULL;
}

static const char *cuda_needed(const char *capability)
{
	for (size_t i = 0; capability && i < sizeof(arch_needs) / sizeof(*arch_needs); i++)
		if (strcmp(arch_needs[i].capability, capability) == 0)
			return arch_needs[i].cuda;
	return NULL;
}

/* What speaks against this copy; NULL: nothing. The problem is added where asked for. */
static const char *against(struct sw_scan *s, const struct sw_system *sys,
                           const struct sw_framework *f, const struct sw_copy *c,
                           struct sw_fit *fit)
{
	const char *title = tmpf("%s %s", f->title, c->version ? c->version : "?");
	const char *needed = c->cuda ? driver_needed(c->cuda) : NULL,
		   *arch = cuda_needed(sys->capability);
	int before = fit->n_problems;
	struct str text = {0};
	const char *kept;

	if (c->fault)
		PROBLEM(s, fit, MSG_sw_broken, title, c->fault, c->dir);
	if (needed && sys->driver && sw_version_compare(sys->driver, needed) < 0 &&
	    !(sys->compat && sw_version_compare(sys->compat, needed) >= 0))
		PROBLEM(s, fit, MSG_sw_driver_old, title, c->cuda, needed, sys->driver);
	if (needed && arch && strchr(c->cuda, '.') && sw_version_compare(c->cuda, arch) < 0)
		PROBLEM(s, fit, MSG_sw_arch_new, title, c->cuda, sys->capability, arch);
	if (c->nccl && c->nccl_wanted && sw_version_compare(c->nccl, c->nccl_wanted) != 0)
		PROBLEM(s, fit, MSG_sw_nccl_apart, title, c->nccl_wanted, c->nccl, c->nccl_from);
	if (c->cuda && strcmp(c->cuda, "none") == 0 && !c->other && sys->nvidia.n_cards > 0)
		PROBLEM(s, fit, MSG_sw_cpu_build, title, c->dir);
	if (fit->n_problems == before)
		return NULL;
	msg_add_list(&text, fit->problems[before].id, fit->problems[before].args);
	kept = arena_str(s->arena, str_text(&text));
	str_release(&text);
	return kept;
}

/* One good copy is enough, whatever lies beside it: only if none fits is it a problem
 * of the node. On a node without cards nothing can be said. */
static void judge_framework(struct sw_scan *s, const struct sw_system *sys, struct sw_framework *f,
                            struct sw_fit *fit)
{
	bool cards = sys->nvidia.n_cards > 0 && sys->driver, open = false;
	struct sw_fit own = {0};

	for (int i = 0; i < f->n_copies; i++) {
		const char *why = against(s, sys, f, &f->copies[i], &own);

		f->compatible = f->compatible || (!why && cards && f->copies[i].cuda);
		open = open || !why;
		f->unfit = f->unfit ? f->unfit : why;
	}
	if (open)
		f->unfit = NULL;
	/* Only what the driver or the card refuses decides. A broken package fails where it
	 * is run; one for the CPU, or an NCCL newer than asked for, is the user's choice. */
	for (int i = 0; i < own.n_problems && !open && f->required; i++)
		if (own.problems[i].id == MSG_sw_driver_old ||
		    own.problems[i].id == MSG_sw_arch_new)
			PROBLEM(s, fit, own.problems[i].id, own.problems[i].args[0],
			        own.problems[i].args[1], own.problems[i].args[2],
			        own.problems[i].args[3]);
}

void sw_judge_fit(struct sw_scan *s, const struct sw_system *sys, struct sw_framework *frameworks,
                  struct sw_fit *fit)
{
	if (sys->nvidia.n_cards > 0) {
		judge_driver(s, sys, fit);
		judge_fabric(s, sys, fit);
	}
	for (int i = 0; i < SW_FRAMEWORKS; i++)
		judge_framework(s, sys, &frameworks[i], fit);
}
