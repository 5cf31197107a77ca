/* Faults of a node file in what a card says it is, in its health, its links and
 * its software, and the noise of healthy cards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/standin_kit.h"
#include "tests/unit/unit.h"

#define NODE(faults)                                                                               \
	"{\"cards\":[{\"model\":\"a100-sxm4-80gb\"}],\"count\":2,\"faults\":[" faults "]}"

static double gemm_tflops(struct bench *b, int times)
{
	static cu_ptr a, c;

	if (!a) {
		a = bench_alloc(b, 256 * 256 * 2);
		c = bench_alloc(b, 256 * 256 * 2);
		bench_fill(b, a, 65536, KERNEL_FP16, 1);
	}
	bench_hold(b);
	for (int i = 0; i < times; i++)
		SAME(bench_gemm(b, 256, CUDA_FP16, CUBLAS_COMPUTE_FP32, a, a, c), CUBLAS_OK);
	return times * 2.0 * 256 * 256 * 256 / bench_release(b) / 1e12;
}

static nvml_device nvml_card(const struct gpu *g, unsigned index)
{
	nvml_device d = NULL;

	SAME(g->nvml.init(), NVML_OK);
	SAME(g->nvml.by_index(index, &d), NVML_OK);
	return d;
}

/* --- identity --------------------------------------------------------------------------------- */

static void faked(const struct gpu *g)
{
	nvml_device d = nvml_card(g, 0);
	char nvml_name[NVML_TEXT_BYTES], cuda_name[NVML_TEXT_BYTES];
	int sms;
	nvml_pci pci;
	nvml_memory memory;
	size_t bytes;

	SAME(g->cu.init(0), CU_OK);
	SAME(g->nvml.name(d, nvml_name, sizeof(nvml_name)), NVML_OK);
	SAME(g->cu.device_name(cuda_name, sizeof(cuda_name), 0), CU_OK);
	CHECK(strcmp(nvml_name, "NVIDIA H100 80GB HBM3") == 0);
	CHECK(strcmp(cuda_name, "NVIDIA A100-SXM4-80GB") == 0);
	SAME(g->cu.device_attribute(&sms, CU_ATTR_SM_COUNT, 0), CU_OK);
	SAME(sms, 132);
	SAME(g->nvml.pci(d, &pci), NVML_OK);
	SAME(pci.device_id, 0x233010de);
	SAME(g->nvml.memory(d, &memory), NVML_OK);
	SAME(g->cu.device_memory(&bytes, 0), CU_OK);
	SAME(memory.total, 40960 * 1024);
	SAME(bytes, 81920 * 1024);
}

static void gone_from_nvml(const struct gpu *g)
{
	unsigned n;
	int count;
	nvml_device d;

	SAME(g->cu.init(0), CU_OK);
	SAME(g->nvml.init(), NVML_OK);
	SAME(g->nvml.count(&n), NVML_OK);
	SAME(g->cu.device_count(&count), CU_OK);
	SAME(n, 1);
	SAME(count, 2);
	SAME(g->nvml.by_pci("00000000:17:00.0", &d), NVML_NOT_FOUND);
	SAME(g->nvml.by_pci("0000:2a:00.0", &d), NVML_OK);
}

static void partition(const struct gpu *g)
{
	nvml_device d = nvml_card(g, 0);
	unsigned mode, pending;
	int sms, virtual_mode;

	SAME(g->cu.init(0), CU_OK);
	SAME(g->nvml.mig_mode(d, &mode, &pending), NVML_OK);
	SAME(mode, 1);
	/* CUDA puts the whole card in front. */
	SAME(g->cu.device_attribute(&sms, CU_ATTR_SM_COUNT, 1), CU_OK);
	SAME(sms, 15);
	SAME(g->nvml.virtualization(d, &virtual_mode), NVML_OK);
	SAME(virtual_mode, NVML_VIRTUAL_VGPU);
}

static void company(const struct gpu *g)
{
	nvml_device d = nvml_card(g, 0);
	nvml_process list[4];
	nvml_process_v1 old[4];
	unsigned n = 4;

	SAME(g->nvml.processes_v3(d, &n, list), NVML_OK);
	SAME(n, 1);
	SAME(list[0].pid, 4242);
	n = 4;
	SAME(g->nvml.processes_v1(d, &n, old), NVML_OK);
	SAME(old[0].pid, 4242);
	n = 0;
	SAME(g->nvml.processes_v3(d, &n, list), NVML_INSUFFICIENT_SIZE);
}

/* The driver whose entries are longer than its header says. */
static void long_entries(const struct gpu *g)
{
	nvml_device d = nvml_card(g, 0);
	unsigned char room[4 * 64];
	unsigned n = 4, pid;

	memset(room, 0xaa, sizeof(room));
	SAME(g->nvml.processes_v3(d, &n, (nvml_process *)room), NVML_OK);
	SAME(n, 2);
	memcpy(&pid, room + 32, sizeof(pid));
	SAME(pid, 6);
	SAME(room[64], 0xaa);
}

static void identity(void **state)
{
	(void)state;
	on_node(NODE("{\"kind\":\"claim\",\"card\":0,\"layer\":\"nvml\",\"field\":\"name\","
	             "\"value\":\"NVIDIA H100 80GB HBM3\"},"
	             "{\"kind\":\"claim\",\"card\":0,\"field\":\"sm_count\",\"value\":\"132\"},"
	             "{\"kind\":\"claim\",\"card\":0,\"layer\":\"nvml\",\"field\":\"memory_mib\","
	             "\"value\":\"40960\"},"
	             "{\"kind\":\"claim\",\"card\":0,\"layer\":\"nvml\",\"field\":\"pci_device\","
	             "\"value\":\"2330\"}"),
	        faked);
	on_node(NODE("{\"kind\":\"missing\",\"card\":0,\"layer\":\"nvml\"}"), gone_from_nvml);
	on_node(NODE("{\"kind\":\"mig\",\"card\":0},{\"kind\":\"virtualization\",\"card\":0,"
	             "\"mode\":\"vgpu\"}"),
	        partition);
	on_node(NODE("{\"kind\":\"foreign_process\",\"card\":0,\"pid\":4242,\"memory_mib\":2048}"),
	        company);
	on_node("{\"cards\":[{\"model\":\"h100-sxm5-80gb\"}],\"process_bytes\":32,\"faults\":["
	        "{\"kind\":\"foreign_process\",\"pid\":5},{\"kind\":\"foreign_process\",\"pid\":6}]"
	        "}",
	        long_entries);
}

/* --- health and links --------------------------------------------------------------------------- */

static void ailing(const struct gpu *g)
{
	nvml_device d = nvml_card(g, 0);
	unsigned long long before, after, replays;
	unsigned corrected, uncorrected, pending, failed, lanes, generation;
	nvml_event_set set;
	nvml_event event;

	SAME(g->nvml.ecc_total(d, NVML_ECC_UNCORRECTED, NVML_ECC_SINCE_BOOT, &before), NVML_OK);
	g->sleep_ns(10000000000);
	SAME(g->nvml.ecc_total(d, NVML_ECC_UNCORRECTED, NVML_ECC_SINCE_BOOT, &after), NVML_OK);
	SAME(after - before, 20);
	SAME(g->nvml.remapped_rows(d, &corrected, &uncorrected, &pending, &failed), NVML_OK);
	SAME(pending, 1);
	SAME(failed, 0);
	SAME(g->nvml.link_errors(d, 3, NVML_LINK_REPLAY, &replays), NVML_OK);
	SAME(replays, 17);
	SAME(g->nvml.link_errors(d, 4, NVML_LINK_REPLAY, &replays), NVML_OK);
	SAME(replays, 0);
	SAME(g->nvml.pcie_width(d, &lanes), NVML_OK);
	SAME(g->nvml.pcie_generation(d, &generation), NVML_OK);
	SAME(lanes, 8);
	SAME(generation, 3);
	SAME(g->nvml.event_set_create(&set), NVML_OK);
	SAME(g->nvml.event_register(d, NVML_EVENT_XID, set), NVML_OK);
	SAME(g->nvml.event_wait(set, &event, 10), NVML_OK);
	SAME(event.data, 79);
	SAME(g->nvml.event_wait(set, &event, 10), NVML_TIMEOUT);
	SAME(g->nvml.event_set_free(set), NVML_OK);
}

static double peer_gbs(const struct gpu *g, struct bench *b, struct bench *other)
{
	cu_ptr from, to;

	bench_open(b, g, 0);
	bench_open(other, g, 1);
	to = bench_alloc(other, 4 << 20);
	SAME(g->cu.context_set(b->context), CU_OK);
	from = bench_alloc(b, 4 << 20);
	g->cu.enable_peer(other->context, 0);
	bench_hold(b);
	SAME(g->cu.copy_peer(to, other->context, from, b->context, 4 << 20, b->stream), CU_OK);
	return (4 << 20) / bench_release(b) / 1e9;
}

static void link_down(const struct gpu *g)
{
	struct bench b, other;
	nvml_device d = nvml_card(g, 0);
	int up;

	SAME(g->nvml.link_state(d, 3, &up), NVML_OK);
	SAME(up, NVML_LINK_DOWN);
	SAME(g->nvml.link_state(d, 4, &up), NVML_OK);
	SAME(up, NVML_LINK_UP);
	SAME(g->nvml.link_state(d, 12, &up), NVML_INVALID_ARGUMENT);
	NEAR(peer_gbs(g, &b, &other), 275, 0.005);
}

static void one_way(const struct gpu *g)
{
	struct bench b, other;
	cu_ptr from, to;

	NEAR(peer_gbs(g, &b, &other), 150, 0.005);
	from = bench_alloc(&b, 4 << 20);
	SAME(g->cu.context_set(other.context), CU_OK);
	to = bench_alloc(&other, 4 << 20);
	SAME(g->cu.enable_peer(b.context, 0), CU_OK);
	bench_hold(&other);
	SAME(g->cu.copy_peer(from, b.context, to, other.context, 4 << 20, other.stream), CU_OK);
	NEAR((4 << 20) / bench_release(&other) / 1e9, 300, 0.005);
}

static void no_peers(const struct gpu *g)
{
	int can;
	struct bench b, other;

	NEAR(peer_gbs(g, &b, &other), 16 * 1.969 / 2, 0.005);
	SAME(g->cu.can_access_peer(&can, 0, 1), CU_OK);
	SAME(can, 0);
	SAME(g->cu.enable_peer(other.context, 0), CU_PEER_UNSUPPORTED);
}

static void health(void **state)
{
	(void)state;
	on_node(NODE("{\"kind\":\"ecc\",\"card\":0,\"uncorrected\":3,\"rate\":2},"
	             "{\"kind\":\"remap\",\"card\":0,\"pending\":true},"
	             "{\"kind\":\"nvlink_errors\",\"card\":0,\"link\":3,\"counter\":\"replay\","
	             "\"count\":17},"
	             "{\"kind\":\"pcie\",\"card\":0,\"width\":8,\"generation\":3},"
	             "{\"kind\":\"xid\",\"card\":0,\"code\":79,\"from_s\":5}"),
	        ailing);
	on_node(NODE("{\"kind\":\"nvlink_down\",\"card\":0,\"link\":3}"), link_down);
	on_node(NODE("{\"kind\":\"slow_link\",\"card\":0,\"peer\":1,\"factor\":0.5}"), one_way);
	on_node(NODE("{\"kind\":\"no_p2p\",\"card\":0}"), no_peers);
}

/* --- clocks, modes, drivers ------------------------------------------------------------------------ */

static void fast_clock(const struct gpu *g)
{
	struct bench b;
	cu_ptr p;
	int64_t before;
	float ms;

	bench_open(&b, g, 0);
	p = bench_alloc(&b, 4 << 20);
	before = g->now_ns();
	SAME(g->cu.event_record(b.begin, b.stream), CU_OK);
	for (int i = 0; i < 1000; i++)
		SAME(g->cu.set8(p, (unsigned char)i, 4 << 20, b.stream), CU_OK);
	SAME(g->cu.event_record(b.end, b.stream), CU_OK);
	SAME(g->cu.stream_sync(b.stream), CU_OK);
	SAME(g->cu.event_elapsed(&ms, b.begin, b.end), CU_OK);
	NEAR((double)ms * 1e6, 0.8 * (double)(g->now_ns() - before), 0.005);
}

static void tensor_for_single(const struct gpu *g)
{
	struct bench b;
	cu_ptr a;

	bench_open(&b, g, 0);
	a = bench_alloc(&b, 3 * 256 * 256 * 4);
	bench_fill(&b, a, 65536, KERNEL_FP32, 1);
	bench_hold(&b);
	SAME(bench_gemm(&b, 256, CUDA_FP32, CUBLAS_COMPUTE_FP32_PEDANTIC, a, a, a + 65536 * 4),
	     CUBLAS_OK);
	NEAR(2.0 * 256 * 256 * 256 / bench_release(&b) / 1e12, 156, 0.005);
}

static void old_driver(const struct gpu *g)
{
	cu_context context;
	cu_module module;
	int version;
	cublas_handle blas;

	SAME(g->cu.driver_version(&version), CU_OK);
	SAME(version, 8000);
	SAME(g->cu.init(0), CU_OK);
	SAME(g->cu.context_retain(&context, 0), CU_OK);
	SAME(g->cu.context_set(context), CU_OK);
	SAME(g->cu.module_load(&module, ".version 6.0\n.target sm_60\n", 0, NULL, NULL),
	     CU_PTX_VERSION);
	SAME(g->cu.module_load(&module, "rubbish", 0, NULL, NULL), CU_INVALID_IMAGE);
	SAME(g->blas.create(&blas), CUBLAS_NOT_INITIALIZED);
}

static void software(void **state)
{
	(void)state;
	on_node(NODE("{\"kind\":\"event_clock\",\"card\":0,\"factor\":0.8}"), fast_clock);
	on_node(NODE("{\"kind\":\"tf32_as_fp32\",\"card\":0}"), tensor_for_single);
	on_node("{\"cards\":[{\"model\":\"a100-sxm4-80gb\"}],\"cuda\":8000,\"max_ptx\":50,"
	        "\"cublas\":130100}",
	        old_driver);
}

/* --- noise ------------------------------------------------------------------------------------------- */

static void noisy(const struct gpu *g)
{
	struct bench b;
	double sum = 0, squares = 0;

	bench_open(&b, g, 0);
	for (int i = 0; i < 400; i++) {
		double figure = gemm_tflops(&b, 2);

		sum += figure;
		squares += figure * figure;
		g->sleep_ns(5000000000);
	}
	NEAR(sum / 400, 312, 0.003);
	NEAR(sqrt(squares / 400 - sum * sum / 160000) / 312, 0.01, 0.15);
}

static void noise(void **state)
{
	(void)state;
	on_node("{\"cards\":[{\"model\":\"a100-sxm4-80gb\"}],"
	        "\"noise\":{\"seed\":3,\"window\":0.01,\"rho\":0.5}}",
	        noisy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identity),
		cmocka_unit_test(health),
		cmocka_unit_test(software),
		cmocka_unit_test(noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
