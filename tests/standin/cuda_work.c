/* The double of libcuda: memory, copies, streams, events, modules, launches.
 * It is stricter than a driver needs to be: what would be undefined there is an
 * error here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/cuda.h"

struct event {
	struct event *next;
	struct card *card;
	bool timed;
	struct mark *mark; /* of the last record; NULL: never recorded */
};

struct function {
	struct module *module;
	const struct kernel *kernel;
};

struct module {
	struct module *next;
	struct card *card;
	char *text;
	struct function functions[32];
	int n_functions;
};

static struct event *events;
static struct module *modules;

/* --- memory --------------------------------------------------------------------------- */

cu_result cuMemAlloc_v2(cu_ptr *at, size_t bytes)
{
	int result = cuda_enter("cuMemAlloc_v2", true);
	device_ptr p = 0;

	if (!result)
		result = memory_alloc(current_card(), bytes, &p);
	if (!result)
		*at = p;
	return machine_leave(result);
}

cu_result cuMemFree_v2(cu_ptr at)
{
	int result = cuda_enter("cuMemFree_v2", true);
	struct card *card = memory_card(at);

	if (!result && !card)
		result = CU_INVALID_VALUE;
	if (!result) {
		/* The driver waits for work that may still use it. */
		card_wait(card);
		result = memory_free(card, at);
	}
	return machine_leave(result);
}

cu_result cuMemGetInfo_v2(size_t *bytes_free, size_t *total)
{
	int result = cuda_enter("cuMemGetInfo_v2", true);
	struct card *card = current_card();

	if (!result) {
		*total = (size_t)card->says[LAYER_CUDA].memory_bytes;
		*bytes_free = *total - memory_reserved(card) - memory_used(card);
	}
	return machine_leave(result);
}

cu_result cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
	int result = cuda_enter("cuMemHostAlloc", true);

	if (!result && (bytes == 0 || flags > 7))
		result = CU_INVALID_VALUE;
	if (!result && !(*at = host_alloc(bytes)))
		result = CU_OUT_OF_MEMORY;
	return machine_leave(result);
}

cu_result cuMemFreeHost(void *at)
{
	int result = cuda_enter("cuMemFreeHost", true);

	if (!result && !host_free(at))
		result = CU_INVALID_VALUE;
	return machine_leave(result);
}

cu_result cuMemHostGetDevicePointer_v2(cu_ptr *at, void *host, unsigned flags)
{
	int result = cuda_enter("cuMemHostGetDevicePointer_v2", true);

	if (!result && (flags || !host_pinned(host, 1)))
		result = CU_INVALID_VALUE;
	if (!result)
		*at = (cu_ptr)(uintptr_t)host;
	return machine_leave(result);
}

/* --- work in streams --------------------------------------------------------------------- */

struct stream *stream_of(const void *handle)
{
	static struct stream *own[MAX_CARDS];
	struct card *card = current_card();

	if (handle)
		return stream_valid(handle) ? (struct stream *)handle : NULL;
	if (card && !own[card->index])
		own[card->index] = stream_new(card);
	return card ? own[card->index] : NULL;
}

/* A stream that work of the current context may go to. */
static int enter_stream(const char *call, cu_stream handle, struct stream **s)
{
	int result = cuda_enter(call, true);

	*s = stream_of(handle);
	if (!result && (!*s || (*s)->card != current_card()))
		result = CU_INVALID_HANDLE;
	return result;
}

cu_result cuMemsetD8Async(cu_ptr at, unsigned char value, size_t count, cu_stream stream)
{
	struct stream *s;
	int result = enter_stream("cuMemsetD8Async", stream, &s);

	if (!result)
		result = fill_submit(s, at, value, 1, count);
	return machine_leave(result);
}

cu_result cuMemsetD32Async(cu_ptr at, unsigned value, size_t count, cu_stream stream)
{
	struct stream *s;
	int result = enter_stream("cuMemsetD32Async", stream, &s);

	if (!result)
		result = fill_submit(s, at, value, 4, count);
	return machine_leave(result);
}

static int copy(const char *call, cu_ptr to, cu_ptr from, size_t bytes, cu_stream stream)
{
	struct stream *s;
	int result = enter_stream(call, stream, &s);

	if (!result)
		result = copy_submit(s, to, from, bytes);
	if (!result)
		result = cuda_state(current_card(), CU_OK);
	return machine_leave(result);
}

cu_result cuMemcpyHtoDAsync_v2(cu_ptr to, const void *from, size_t bytes, cu_stream stream)
{
	return copy("cuMemcpyHtoDAsync_v2", memory_card(to) ? to : 0, (cu_ptr)(uintptr_t)from,
	            bytes, stream);
}

cu_result cuMemcpyDtoHAsync_v2(void *to, cu_ptr from, size_t bytes, cu_stream stream)
{
	return copy("cuMemcpyDtoHAsync_v2", (cu_ptr)(uintptr_t)to, memory_card(from) ? from : 0,
	            bytes, stream);
}

cu_result cuMemcpyDtoDAsync_v2(cu_ptr to, cu_ptr from, size_t bytes, cu_stream stream)
{
	bool both = memory_card(to) && memory_card(from);

	return copy("cuMemcpyDtoDAsync_v2", both ? to : 0, both ? from : 0, bytes, stream);
}

cu_result cuMemcpyPeerAsync(cu_ptr to, cu_context to_context, cu_ptr from, cu_context from_context,
                            size_t bytes, cu_stream stream)
{
	struct stream *s;
	int result = enter_stream("cuMemcpyPeerAsync", stream, &s);

	if (!result && (!memory_card(to) || memory_card(to) != context_card(to_context) ||
	                !memory_card(from) || memory_card(from) != context_card(from_context)))
		result = CU_INVALID_VALUE;
	if (!result)
		result = copy_submit(s, to, from, bytes);
	return machine_leave(result);
}

cu_result cuStreamCreate(cu_stream *stream, unsigned flags)
{
	int result = cuda_enter("cuStreamCreate", true);

	if (!result && flags > CU_STREAM_INDEPENDENT)
		result = CU_INVALID_VALUE;
	if (!result)
		*stream = (cu_stream)stream_new(current_card());
	return machine_leave(result);
}

cu_result cuStreamDestroy_v2(cu_stream stream)
{
	int result = cuda_enter("cuStreamDestroy_v2", true);

	if (!result && (!stream || !stream_valid((void *)stream)))
		result = CU_INVALID_HANDLE;
	if (!result) {
		/* A driver lets the work finish on its own; nobody could see it. */
		stream_wait((struct stream *)stream);
		stream_free((struct stream *)stream);
	}
	return machine_leave(result);
}

cu_result cuStreamSynchronize(cu_stream stream)
{
	struct stream *s;
	int result = enter_stream("cuStreamSynchronize", stream, &s);

	if (!result) {
		stream_wait(s);
		result = cuda_state(s->card, CU_OK);
	}
	return machine_leave(result);
}

cu_result cuStreamQuery(cu_stream stream)
{
	struct stream *s;
	int result = enter_stream("cuStreamQuery", stream, &s);

	if (!result && !stream_idle(s)) {
		host_polled();
		result = CU_NOT_READY;
	}
	if (!result)
		result = cuda_state(s->card, CU_OK);
	return machine_leave(result);
}

/* --- events ------------------------------------------------------------------------------ */

static struct event *event_of(cu_event handle)
{
	for (struct event *e = events; e; e = e->next)
		if (e == (struct event *)handle)
			return e;
	return NULL;
}

static int enter_event(const char *call, cu_event handle, struct event **e)
{
	int result = cuda_enter(call, true);

	*e = event_of(handle);
	return !result && !*e ? CU_INVALID_HANDLE : result;
}

static bool happened(const struct event *e)
{
	return !e->mark || (e->mark->done && e->mark->time <= host_now);
}

cu_result cuEventCreate(cu_event *event, unsigned flags)
{
	int result = cuda_enter("cuEventCreate", true);
	struct event *e;

	if (!result && (flags & ~3u))
		result = CU_INVALID_VALUE;
	if (!result) {
		e = calloc(1, sizeof(*e));
		if (!e)
			node_bad("out of memory");
		*e = (struct event){events, current_card(), !(flags & CU_EVENT_UNTIMED), NULL};
		events = e;
		*event = (cu_event)e;
	}
	return machine_leave(result);
}

cu_result cuEventDestroy_v2(cu_event event)
{
	struct event *e;
	int result = enter_event("cuEventDestroy_v2", event, &e);

	if (!result) {
		struct event **p = &events;

		while (*p != e)
			p = &(*p)->next;
		*p = e->next;
		mark_release(e->mark);
		free(e);
	}
	return machine_leave(result);
}

static double run_record(struct op *op, double start)
{
	(void)op;
	return start;
}

cu_result cuEventRecord(cu_event event, cu_stream stream)
{
	struct event *e;
	int result = enter_event("cuEventRecord", event, &e);
	struct stream *s = stream_of(stream);
	struct op *op;

	if (!result && (!s || s->card != e->card))
		result = CU_INVALID_HANDLE;
	if (!result) {
		op = op_new(s, run_record, 0);
		mark_release(e->mark);
		e->mark = op->mark = mark_new();
		op->mark->refs++;
		op_submit(op);
	}
	return machine_leave(result);
}

static bool wait_ready(struct op *op, double *start)
{
	struct mark *m = *(struct mark **)op->data;

	if (m->done && m->time > *start)
		*start = m->time;
	return m->done;
}

static void wait_release(struct op *op)
{
	mark_release(*(struct mark **)op->data);
}

cu_result cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags)
{
	struct event *e;
	int result = enter_event("cuStreamWaitEvent", event, &e);
	struct stream *s = stream_of(stream);

	if (!result && (!s || flags))
		result = s ? CU_INVALID_VALUE : CU_INVALID_HANDLE;
	/* An event that was never recorded has happened. */
	if (!result && e->mark) {
		struct op *op = op_new(s, run_record, sizeof(struct mark *));

		e->mark->refs++;
		*(struct mark **)op->data = e->mark;
		op->ready = wait_ready;
		op->release = wait_release;
		op_submit(op);
	}
	return machine_leave(result);
}

cu_result cuEventQuery(cu_event event)
{
	struct event *e;
	int result = enter_event("cuEventQuery", event, &e);

	if (!result && !happened(e)) {
		host_polled();
		result = CU_NOT_READY;
	}
	return machine_leave(result);
}

cu_result cuEventSynchronize(cu_event event)
{
	struct event *e;
	int result = enter_event("cuEventSynchronize", event, &e);

	if (!result && e->mark)
		mark_wait(e->mark);
	if (!result)
		result = cuda_state(e->card, CU_OK);
	return machine_leave(result);
}

cu_result cuEventElapsedTime(float *ms, cu_event begin, cu_event end)
{
	struct event *a, *b = event_of(end);
	int result = enter_event("cuEventElapsedTime", begin, &a);
	const struct fault *lie;

	if (!result && (!b || !a->timed || !b->timed || a->card != b->card || !a->mark || !b->mark))
		result = CU_INVALID_HANDLE;
	if (!result && (!happened(a) || !happened(b)))
		result = CU_NOT_READY;
	if (!result) {
		lie = fault_of(FAULT_EVENT_CLOCK, a->card->index);
		*ms = (float)((b->mark->time - a->mark->time) * (lie ? lie->factor : 1) / 1e6);
	}
	return machine_leave(result);
}

/* --- modules -------------------------------------------------------------------------------- */

/* What the JIT of this driver makes of the text; says why not in log. */
static int check_ptx(const struct card *card, const char *text, char *log, size_t size)
{
	const char *version = strstr(text, ".version "), *target = strstr(text, ".target sm_");
	int major, minor, sm, cc = card->is.cc_major * 10 + card->is.cc_minor;

	if (!version || !target || sscanf(version, ".version %d.%d", &major, &minor) != 2 ||
	    sscanf(target, ".target sm_%d", &sm) != 1)
		return CU_INVALID_IMAGE;
	if (10 * major + minor > node.max_ptx) {
		snprintf(log, size, "Unsupported .version %d.%d; current version is '%d.%d'", major,
		         minor, node.max_ptx / 10, node.max_ptx % 10);
		return CU_PTX_VERSION;
	}
	if (sm > cc) {
		snprintf(log, size, "SM version specified by .target is higher than %d", cc);
		return CU_NO_BINARY_FOR_GPU;
	}
	return CU_OK;
}

cu_result cuModuleLoadDataEx(cu_module *module, const void *image, unsigned count,
                             cu_jit_option *options, void **values)
{
	int result = cuda_enter("cuModuleLoadDataEx", true);
	char nowhere[1], *log = nowhere;
	size_t size = 0;
	struct module *m;

	for (unsigned i = 0; i < count; i++)
		if (options[i] == CU_JIT_ERROR_LOG)
			log = values[i];
		else if (options[i] == CU_JIT_ERROR_LOG_BYTES)
			size = (size_t)(uintptr_t)values[i];
	if (!result)
		result = check_ptx(current_card(), image, log, log == nowhere ? 1 : size);
	if (!result) {
		m = calloc(1, sizeof(*m));
		if (!m || !(m->text = strdup(image)))
			node_bad("out of memory");
		m->card = current_card();
		m->next = modules;
		modules = m;
		*module = (cu_module)m;
		host_now += 20e6; /* the JIT works */
	}
	return machine_leave(result);
}

static struct module *module_of(cu_module handle)
{
	for (struct module *m = modules; m; m = m->next)
		if (m == (struct module *)handle)
			return m;
	return NULL;
}

cu_result cuModuleUnload(cu_module module)
{
	int result = cuda_enter("cuModuleUnload", true);
	struct module *m = module_of(module), **p = &modules;

	if (!result && !m)
		result = CU_INVALID_HANDLE;
	if (!result) {
		while (*p != m)
			p = &(*p)->next;
		*p = m->next;
		free(m->text);
		free(m);
	}
	return machine_leave(result);
}

static bool has_entry(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = text; (p = strstr(p, ".entry ")); p++)
		if (strncmp(p + 7, name, len) == 0 && p[7 + len] == '(')
			return true;
	return false;
}

cu_result cuModuleGetFunction(cu_function *function, cu_module module, const char *name)
{
	int result = cuda_enter("cuModuleGetFunction", true);
	struct module *m = module_of(module);
	const struct kernel *k = kernel_find(name);

	if (!result && !m)
		result = CU_INVALID_HANDLE;
	if (!result && (!k || !has_entry(m->text, name)))
		result = CU_NOT_FOUND;
	for (int i = 0; !result && i <= m->n_functions; i++) {
		if (i == m->n_functions)
			m->functions[m->n_functions++] = (struct function){m, k};
		if (m->functions[i].kernel == k) {
			*function = (cu_function)&m->functions[i];
			break;
		}
	}
	return machine_leave(result);
}

static struct function *function_of(cu_function handle)
{
	struct function *f = (struct function *)handle;

	for (struct module *m = modules; m; m = m->next)
		if (f >= m->functions && f < m->functions + m->n_functions)
			return f;
	return NULL;
}

cu_result cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z,
                         unsigned shared_bytes, cu_stream stream, void **arguments, void **extra)
{
	struct stream *s;
	int result = enter_stream("cuLaunchKernel", stream, &s);
	const struct function *f = function_of(function);

	if (!result && (!f || f->module->card != s->card))
		result = CU_INVALID_HANDLE;
	if (!result && (extra || shared_bytes > 49152))
		result = CU_INVALID_VALUE;
	if (!result)
		result = kernel_launch(f->kernel, s, (unsigned[]){grid_x, grid_y, grid_z},
		                       (unsigned[]){block_x, block_y, block_z}, arguments);
	return machine_leave(result);
}

cu_result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, cu_function function,
                                                      int block_size, size_t shared_bytes)
{
	int result = cuda_enter("cuOccupancyMaxActiveBlocksPerMultiprocessor", true);

	if (!result && (!function_of(function) || block_size <= 0 || block_size > 1024))
		result = CU_INVALID_VALUE;
	if (!result)
		*blocks = shared_bytes > 49152 ? 0 : 2048 / block_size;
	return machine_leave(result);
}
