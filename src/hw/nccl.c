/* NCCL: loading and errors by cause. */
#include "hw/nccl.h"

#include <string.h>

#define CALLS(rows) (sizeof(rows) / sizeof(*(rows)))

static const struct library_row rows[] = {NCCL_SYMBOLS(GPU_ROW)};
_Static_assert(sizeof(struct nccl_calls) == CALLS(rows) * sizeof(void *), "pointers alone");

/* To add a cause: one row, and its text in messages/gpu.def. */
static const struct gpu_cause causes[] = {
	{NCCL_UNHANDLED_CUDA_ERROR, MSG_nccl_cuda, OUTCOME_FAILED, ST_IO, true},
	{NCCL_SYSTEM_ERROR, MSG_nccl_system, OUTCOME_FAILED, ST_IO, true},
	{NCCL_INTERNAL_ERROR, MSG_nccl_internal, OUTCOME_FAILED, ST_IO, true},
	{NCCL_INVALID_ARGUMENT, MSG_nccl_invalid, OUTCOME_FAILED, ST_INTERNAL, true},
	{NCCL_INVALID_USAGE, MSG_nccl_invalid, OUTCOME_FAILED, ST_INTERNAL, true},
	{NCCL_REMOTE_ERROR, MSG_nccl_remote, OUTCOME_FAILED, ST_IO, true},
};

const struct gpu_cause *nccl_cause(nccl_result code)
{
	return gpu_cause_find(causes, CALLS(causes), code);
}

enum status nccl_check(struct nccl *nccl, nccl_comm comm, nccl_result code, const char *call,
                       struct error *err)
{
	struct error plain = {0};
	const char *words;
	enum status st;

	if (code == NCCL_OK || code == NCCL_IN_PROGRESS)
		return ST_OK;
	nccl->code = code;
	nccl->fault = nccl_cause(code);
	st = gpu_cause_error(nccl->fault, call, nccl->call.error_string(code), code, &plain);
	words = nccl->call.last_error(comm);
	if (words && *words)
		error_set(err, st, MSG_nccl_said, str_text(&plain.text), words);
	else
		error_set(err, st, MSG_path_error, "NCCL", str_text(&plain.text));
	error_release(&plain);
	return st;
}

/* 2804 was 2.8.4; from 2.9 on there are two digits for the minor version. */
static const char *version_text(struct arena *arena, int version)
{
	int unit = version < 10000 ? 1000 : 10000;

	return arena_strf(arena, "%d.%d.%d", version / unit, version % unit / 100, version % 100);
}

enum status nccl_open(struct nccl *nccl, struct arena *arena, const struct gpu_search *where,
                      struct error *err)
{
	static const char *const names[] = {"libnccl.so.2", NULL};
	enum status st;

	*nccl = (struct nccl){0};
	st = gpu_lib_open(&nccl->lib, arena, where, names, "nccl", NULL, err);
	if (st == ST_OK)
		st = library_bind(&nccl->lib, arena, rows, CALLS(rows), &nccl->call, err);
	/* Also where it lacks a function: the version says why. */
	if (nccl->call.get_version && nccl->call.get_version(&nccl->version) == NCCL_OK)
		nccl->lib.version = version_text(arena, nccl->version);
	return st;
}

nccl_config nccl_config_make(void)
{
	return (nccl_config){
		.size = NCCL_CONFIG_SIZE,
		.magic = NCCL_CONFIG_MAGIC,
		.version = NCCL_CONFIG_VERSION,
		.blocking = 0,
	};
}
