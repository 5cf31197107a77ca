/* The driver API: loading, starting with patience where the fabric is slow,
 * who the cards are, and its errors by cause. */
#include "hw/cuda.h"

#include <stdlib.h>
#include <string.h>

#define CALLS(rows) (sizeof(rows) / sizeof(*(rows)))

static const struct library_row rows[] = {CUDA_SYMBOLS(GPU_ROW)};
_Static_assert(sizeof(struct cuda_calls) == CALLS(rows) * sizeof(void *), "pointers alone");

/* To add a cause: one row, and its text in messages/gpu.def. */
#define NOT OUTCOME_NOT_MEASURED
#define BAD OUTCOME_FAILED
static const struct gpu_cause causes[] = {
	{CU_INVALID_VALUE, MSG_cuda_invalid, BAD, ST_INTERNAL, false},
	{CU_OUT_OF_MEMORY, MSG_cuda_no_memory, NOT, ST_NOMEM, false},
	{CU_NOT_INITIALIZED, MSG_cuda_forked, BAD, ST_INTERNAL, true},
	{CU_DEINITIALIZED, MSG_cuda_forked, BAD, ST_INTERNAL, true},
	{CU_STUB_LIBRARY, MSG_cuda_stub, NOT, ST_UNSUPPORTED, true},
	{CU_DEVICE_UNAVAILABLE, MSG_cuda_busy, NOT, ST_UNSUPPORTED, false},
	{CU_NO_DEVICE, MSG_cuda_no_device, NOT, ST_NOTFOUND, true},
	{CU_INVALID_DEVICE, MSG_cuda_bad_device, BAD, ST_NOTFOUND, false},
	{CU_INVALID_IMAGE, MSG_cuda_no_code, NOT, ST_UNSUPPORTED, false},
	{CU_NO_BINARY_FOR_GPU, MSG_cuda_no_code, NOT, ST_UNSUPPORTED, false},
	{CU_ECC_UNCORRECTABLE, MSG_cuda_ecc, BAD, ST_IO, true},
	{CU_PEER_UNSUPPORTED, MSG_cuda_no_peer, OUTCOME_UNSUPPORTED, ST_UNSUPPORTED, false},
	{CU_INVALID_PTX, MSG_cuda_no_code, NOT, ST_UNSUPPORTED, false},
	{CU_NVLINK_UNCORRECTABLE, MSG_cuda_nvlink, BAD, ST_IO, true},
	{CU_JIT_COMPILER_NOT_FOUND, MSG_cuda_no_jit, NOT, ST_UNSUPPORTED, false},
	{CU_PTX_VERSION, MSG_cuda_ptx_version, NOT, ST_UNSUPPORTED, false},
	{CU_JIT_DISABLED, MSG_cuda_no_jit, NOT, ST_UNSUPPORTED, false},
	{CU_ILLEGAL_ADDRESS, MSG_cuda_illegal_address, BAD, ST_IO, true},
	{CU_LAUNCH_TIMEOUT, MSG_cuda_launch_timeout, NOT, ST_TIMEOUT, true},
	{CU_HARDWARE_STACK, MSG_cuda_launch_failed, BAD, ST_IO, true},
	{CU_ILLEGAL_INSTRUCTION, MSG_cuda_launch_failed, BAD, ST_IO, true},
	{CU_MISALIGNED_ADDRESS, MSG_cuda_launch_failed, BAD, ST_IO, true},
	{CU_INVALID_ADDRESS_SPACE, MSG_cuda_launch_failed, BAD, ST_IO, true},
	{CU_INVALID_PC, MSG_cuda_launch_failed, BAD, ST_IO, true},
	{CU_LAUNCH_FAILED, MSG_cuda_launch_failed, BAD, ST_IO, true},
	{CU_NOT_PERMITTED, MSG_cuda_not_permitted, NOT, ST_PERMISSION, false},
	{CU_NOT_SUPPORTED, MSG_cuda_unsupported, OUTCOME_UNSUPPORTED, ST_UNSUPPORTED, false},
	/* The tenant was given a machine that cannot compute: that is a failure. */
	{CU_SYSTEM_NOT_READY, MSG_cuda_fabric, BAD, ST_UNSUPPORTED, true},
	{CU_DRIVER_MISMATCH, MSG_cuda_mismatch, NOT, ST_UNSUPPORTED, true},
	{CU_COMPAT_UNSUPPORTED, MSG_cuda_compat, NOT, ST_UNSUPPORTED, true},
	{CU_MPS_CONNECTION, MSG_cuda_mps, NOT, ST_UNSUPPORTED, true},
	{CU_UNKNOWN, MSG_cuda_lost, BAD, ST_IO, true},
};
#undef NOT
#undef BAD

const struct gpu_cause *cuda_cause(cu_result code)
{
	return gpu_cause_find(causes, CALLS(causes), code);
}

/* The exported name of a slot, for messages. */
static const char *symbol_of(const char *slot)
{
	static const char *const slots[] = {
#define SLOT(slot, symbol, need, result, params) #slot,
		CUDA_SYMBOLS(SLOT)
#undef SLOT
	};

	for (size_t i = 0; i < CALLS(slots); i++)
		if (strcmp(slots[i], slot) == 0)
			return rows[i].symbol;
	return slot;
}

enum status cuda_check(struct cuda *cuda, cu_result code, const char *call, struct error *err)
{
	const char *name = NULL;

	if (code == CU_OK)
		return ST_OK;
	cuda->code = code;
	cuda->fault = cuda_cause(code);
	if (!cuda->fault && cuda->call.error_name(code, &name) != CU_OK)
		name = NULL;
	return gpu_cause_error(cuda->fault, symbol_of(call), name, code, err);
}

enum status cuda_open(struct cuda *cuda, struct arena *arena, const struct gpu_search *where,
                      struct error *err)
{
	static const char *const names[] = {"libcuda.so.1", NULL};
	enum status st;

	*cuda = (struct cuda){0};
	st = gpu_lib_open(&cuda->lib, arena, where, names, "cuda_runtime", NULL, err);
	if (st == ST_OK)
		st = library_bind(&cuda->lib, arena, rows, CALLS(rows), &cuda->call, err);
	/* The toolkit's stub knows no version: what cuInit says is of more use. */
	if (st == ST_OK && cuda->call.driver_version(&cuda->version) == CU_OK)
		cuda->lib.version =
			arena_strf(arena, "%d.%d", cuda->version / 1000, cuda->version % 1000 / 10);
	else
		cuda->version = 0;
	return st;
}

enum status cuda_start(struct cuda *cuda, const struct clock_source *clock, int64_t deadline_ns,
                       struct error *err)
{
	cu_result code;
	enum status st;

	/* CUDA puts the fastest card first by default, NVML goes by address. */
	setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
	while ((code = cuda->call.init(0)) == CU_SYSTEM_NOT_READY &&
	       clock_now(clock) + NS_PER_S < deadline_ns)
		clock_sleep(clock, NS_PER_S);
	st = cuda_check(cuda, code, "init", err);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, device_count, &cuda->count);
	if (st == ST_OK && cuda->count <= 0)
		st = cuda_check(cuda, CU_NO_DEVICE, "device_count", err);
	return st;
}

/* --- cards ---------------------------------------------------------------------- */

static const char *uuid_text(struct arena *arena, const cu_uuid *uuid)
{
	struct str s = {0};
	const char *kept;

	str_add(&s, "GPU");
	for (int i = 0; i < 16; i++) {
		if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10)
			str_addc(&s, '-');
		str_addf(&s, "%02x", (unsigned char)uuid->bytes[i]);
	}
	kept = arena_str(arena, s.data);
	str_release(&s);
	return kept;
}

static enum status read_identity(struct cuda *cuda, struct arena *arena, struct cuda_card *card,
                                 struct error *err)
{
	char *name = arena_alloc(arena, 257), pci[32] = "";
	cu_uuid uuid = {{0}};
	size_t bytes = 0;
	enum status st = CUDA_TRY(cuda, err, device_name, name, 256, card->device);

	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, device_pci, pci, sizeof(pci) - 1, card->device);
	/* The newer form tells the instance's own UUID where a card is cut up. */
	if (st == ST_OK)
		st = cuda->call.device_uuid_mig
		             ? CUDA_TRY(cuda, err, device_uuid_mig, &uuid, card->device)
		             : CUDA_TRY(cuda, err, device_uuid, &uuid, card->device);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, device_memory, &bytes, card->device);
	if (st != ST_OK)
		return st;
	card->name = name;
	card->pci = gpu_pci(arena, pci);
	card->uuid = uuid_text(arena, &uuid);
	card->memory_bytes = (int64_t)bytes;
	if (!card->pci)
		return error_set(err, ST_UNSUPPORTED, MSG_gpu_call_failed, symbol_of("device_pci"),
		                 pci, "0");
	return ST_OK;
}

enum status cuda_card_read(struct cuda *cuda, struct arena *arena, int index,
                           struct cuda_card *card, struct error *err)
{
	int clock_khz = 0, memory_khz = 0, l2 = 0, ecc = 0, integrated = 0, timeout = 0;
	const struct {
		cu_attribute attribute;
		int *to;
	} wanted[] = {
		{CU_ATTR_MAJOR, &card->major},
		{CU_ATTR_MINOR, &card->minor},
		{CU_ATTR_SM_COUNT, &card->sm_count},
		{CU_ATTR_CLOCK_KHZ, &clock_khz},
		{CU_ATTR_MEMORY_CLOCK_KHZ, &memory_khz},
		{CU_ATTR_BUS_WIDTH, &card->bus_bits},
		{CU_ATTR_L2_BYTES, &l2},
		{CU_ATTR_COMPUTE_MODE, &card->compute_mode},
		{CU_ATTR_COPY_ENGINES, &card->copy_engines},
		{CU_ATTR_ECC, &ecc},
		{CU_ATTR_INTEGRATED, &integrated},
		{CU_ATTR_KERNEL_TIMEOUT, &timeout},
	};
	enum status st;

	*card = (struct cuda_card){.index = index};
	st = CUDA_TRY(cuda, err, device_get, &card->device, index);
	if (st == ST_OK)
		st = read_identity(cuda, arena, card, err);
	for (size_t i = 0; st == ST_OK && i < CALLS(wanted); i++) {
		cu_result code = cuda->call.device_attribute(wanted[i].to, wanted[i].attribute,
		                                             card->device);

		/* The rest is worth having without an attribute that was retired. */
		if (code == CU_INVALID_VALUE && wanted[i].to != &card->sm_count)
			*wanted[i].to = -1;
		else
			st = cuda_check(cuda, code, "device_attribute", err);
	}
	card->clock_mhz = clock_khz < 0 ? -1 : clock_khz / 1000;
	card->memory_clock_mhz = memory_khz < 0 ? -1 : memory_khz / 1000;
	card->l2_bytes = l2;
	card->ecc = ecc > 0;
	card->integrated = integrated > 0;
	card->kernel_timeout = timeout > 0;
	return st;
}

enum status cuda_card_find(struct cuda *cuda, struct arena *arena, const char *id,
                           struct cuda_card *card, struct error *err)
{
	const char *pci = gpu_pci(arena, id);

	for (int i = 0; i < cuda->count; i++) {
		if (cuda_card_read(cuda, arena, i, card, NULL) != ST_OK)
			continue;
		if (strcasecmp(card->uuid, id) == 0 || (pci && strcmp(card->pci, pci) == 0))
			return ST_OK;
	}
	return error_set(err, ST_NOTFOUND, MSG_cuda_no_such_card, id, tmpf("%d", cuda->count));
}

/* --- contexts and code ------------------------------------------------------------- */

enum status cuda_context(struct cuda *cuda, cu_device device, cu_context *context,
                         struct error *err)
{
	enum status st = CUDA_TRY(cuda, err, context_retain, context, device);

	return st == ST_OK ? CUDA_TRY(cuda, err, context_set, *context) : st;
}

enum status cuda_module(struct cuda *cuda, const char *ptx, cu_module *module, struct error *err)
{
	static const size_t log_bytes = 4096;
	char *log = calloc(1, log_bytes);
	cu_jit_option options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES};
	void *values[] = {log, (void *)(uintptr_t)(log_bytes - 1)}; /* a number in a pointer */
	struct error plain = {0};
	enum status st;

	if (!log)
		die_nomem();
	st = CUDA_TRY(cuda, &plain, module_load, module, ptx, 2, options, values);
	if (st != ST_OK && log[0])
		error_set(err, st, MSG_cuda_jit_log, str_text(&plain.text), log);
	else if (st != ST_OK)
		error_set(err, st, MSG_path_error, "PTX", str_text(&plain.text));
	error_release(&plain);
	free(log);
	return st;
}
