/* software: a made node that fits, then each way in which one does not; metadata that
 * is broken, missing, doubled or in circles; what the fingerprint says and keeps to
 * itself. No library of the trees is ever loaded: they have no code in them. */
#include "probe_harness.h"

#include <elf.h>
#include <math.h>
#include <sys/time.h>

#include "software.h"
#include "stats/rng.h"
#include "tree_kit.h"

extern const struct probe probe_software;

#define SITE "/opt/conda/lib/python3.11/site-packages"
#define CARD "/sys/bus/pci/devices/0000:17:00.0"

/* --- trees --------------------------------------------------------------------------- */

static void put_bytes(struct tree *t, const char *path, const void *data, size_t len)
{
	FILE *f;

	put(t, path, "");
	f = fopen(tmpf("%s%s", t->root, path), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* A shared library of headers and names only; `text` lies behind them. */
static void put_elf(struct tree *t, const char *path, const char *soname, const char *needed,
                    const char *symbol, const char *text)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr program[2];
		Elf64_Dyn dynamic[5];
		char strings[256], text[256];
	} e = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
	                .e_type = ET_DYN,
	                .e_phoff = sizeof(Elf64_Ehdr),
	                .e_phentsize = sizeof(Elf64_Phdr),
	                .e_phnum = 2}};
	size_t at = 1, need, strings = offsetof(__typeof__(e), strings);

	memcpy(e.strings + at, soname, strlen(soname));
	need = at + strlen(soname) + 1;
	memcpy(e.strings + need, needed, strlen(needed));
	memcpy(e.strings + need + strlen(needed) + 1, symbol, strlen(symbol));
	memcpy(e.text, text, strlen(text));
	e.program[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof(e)};
	e.program[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
	                            .p_offset = offsetof(__typeof__(e), dynamic),
	                            .p_filesz = sizeof(e.dynamic)};
	e.dynamic[0] = (Elf64_Dyn){DT_STRTAB, {strings}};
	e.dynamic[1] = (Elf64_Dyn){DT_STRSZ, {sizeof(e.strings)}};
	e.dynamic[2] = (Elf64_Dyn){DT_SONAME, {at}};
	e.dynamic[3] = (Elf64_Dyn){DT_NEEDED, {need}};
	put_bytes(t, path, &e, sizeof(e));
}

static void put_wheel(struct tree *t, const char *name, const char *version, const char *more)
{
	put(t, tmpf(SITE "/%s-%s.dist-info/METADATA", name, version),
	    tmpf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n%s\nA text.\n", name, version,
	         more));
}

static void put_torch(struct tree *t, const char *version, const char *cuda)
{
	put_wheel(t, "torch", version, "Requires-Dist: nvidia-nccl-cu12 (==2.21.5) ; platform\n");
	put(t, tmpf(SITE "/torch-%s.dist-info/INSTALLER", version), "pip\n");
	put(t, SITE "/torch/version.py",
	    tmpf("__version__ = '%s'\ndebug = False\ncuda: Optional[str] = %s\nhip = None\n",
	         version, cuda));
	put_elf(t, SITE "/torch/lib/libtorch_cuda.so", "libtorch_cuda.so", "libnccl.so.2", "", "");
	put_elf(t, SITE "/nvidia/nccl/lib/libnccl.so.2", "libnccl.so.2", "libc.so.6", "",
	        "NCCL version 2.21.5+cuda12.4");
}

/* An H100 and the driver 550.54.15, everything of one cast. */
static void put_node(struct tree *t)
{
	put(t, "/proc/sys/kernel/osrelease", "5.15.0-91-generic\n");
	put(t, "/proc/cmdline", "BOOT_IMAGE=/vmlinuz-1 root=UUID=77 iommu=pt\n");
	put(t, CARD "/class", "0x030200\n");
	put(t, CARD "/vendor", "0x10de\n");
	put(t, CARD "/device", "0x2330\n");
	put(t, "/sys/module/nvidia/version", "550.54.15\n");
	put(t, "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15", "x");
	put_link(t, "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "libcuda.so.550.54.15");
	put(t, "/opt/conda/conda-meta/history", "");
	put(t, "/opt/conda/bin/python3.11", "");
	put_torch(t, "2.6.0+cu124", "'12.4'");
}

struct scan {
	struct harness h;
	struct tree *t;
};

static void scan(struct scan *x, void **state)
{
	x->t = *state;
	harness_init(&x->h, &probe_software);
	x->h.ctx.sys_root = x->t->root;
	harness_run(&x->h, ST_OK);
}

static void expect_words(struct scan *x, const char *metric, const char *text)
{
	assert_string_equal(harness_expect(&x->h, metric, OUTCOME_MEASURED, NULL)->text, text);
}

static void expect_problem(void **state, const char *code)
{
	struct scan x;

	scan(&x, state);
	harness_expect(&x.h, "sw_driver_fits", OUTCOME_FAILED, code);
	harness_release(&x.h);
}

static const char *part(struct scan *x, const char *metric)
{
	return harness_expect(&x->h, metric, OUTCOME_MEASURED, NULL)->text;
}

/* --- what fits ------------------------------------------------------------------------ */

static void a_node_that_fits(void **state)
{
	struct scan x;

	put_node(*state);
	scan(&x, state);
	expect_words(&x, "sw_pytorch", "2.6.0+cu124, CUDA 12.4, NCCL 2.21.5: compatible");
	expect_words(&x, "sw_nccl", "2.21.5 (" SITE "/nvidia/nccl/lib/libnccl.so.2)");
	expect_words(&x, "sw_stack", "kernel_driver 550.54.15, libcuda 550.54.15");
	assert_true(harness_expect(&x.h, "sw_driver_fits", OUTCOME_MEASURED, NULL)->value == 1);
	assert_true(harness_reading(&x.h, "sw_packages")->value == 1);
	harness_expect(&x.h, "sw_tensorflow", OUTCOME_UNSUPPORTED, "sw_none");
	harness_expect(&x.h, "sw_engine", OUTCOME_UNSUPPORTED, "sw_none");
	harness_expect(&x.h, "sw_preinstalled_share", OUTCOME_NOT_MEASURED, "sw_since_unknown");
	assert_non_null(strstr(harness_raw(&x.h, "fingerprint.json")->data, "iommu=pt"));
	harness_release(&x.h);
}

static void other_frameworks(void **state)
{
	struct scan x;
	struct tree *t = *state;

	put_node(t);
	put_wheel(t, "tensorflow", "2.17.0", "");
	put(t, SITE "/tensorflow/__init__.py", "");
	put(t, SITE "/tensorflow/python/platform/build_info.py",
	    "build_info = collections.OrderedDict([('cuda_version', '12.3'), ('is_cuda_build', "
	    "True)])\n");
	put_wheel(t, "mxnet-cu112", "1.9.1", "");
	put(t, SITE "/mxnet/libinfo.py", "");
	put(t, SITE "/megatron/core/package_info.py", "__version__ = '0.9.0'\n");
	put(t, "/opt/conda/conda-meta/numpy-base-1.26.4-py311_0.json", "{}");
	put(t, "/var/lib/dpkg/status",
	    "Package: libc6\nStatus: install ok installed\nVersion: 2.36\n\n"
	    "Package: gone\nStatus: deinstall ok config-files\nVersion: 1\n\n");
	scan(&x, state);
	expect_words(&x, "sw_tensorflow", "2.17.0, CUDA 12.3, NCCL 2.21.5: compatible");
	expect_words(&x, "sw_mxnet", "1.9.1, CUDA 11.2, NCCL 2.21.5: present");
	expect_words(&x, "sw_megatron", "0.9.0, CUDA ?, NCCL 2.21.5: present");
	assert_true(harness_param(harness_reading(&x.h, "sw_packages"), "conda") == 1);
	assert_true(harness_param(harness_reading(&x.h, "sw_packages"), "deb") == 1);
	/* CUDA 11.2 has no code for an H100; MXNet cannot fail a platform for it. */
	harness_expect(&x.h, "sw_driver_fits", OUTCOME_MEASURED, NULL);
	harness_release(&x.h);
}

static void without_cards(void **state)
{
	struct scan x;
	struct tree *t = *state;

	put_torch(t, "2.6.0+cu124", "'12.4'");
	put(t, "/sys/bus/pci/devices/0000:00:02.0/class", "0x060000\n");
	scan(&x, state);
	expect_words(&x, "sw_pytorch", "2.6.0+cu124, CUDA 12.4, NCCL 2.21.5: present");
	harness_expect(&x.h, "sw_driver_fits", OUTCOME_UNSUPPORTED, "sw_no_cards");
	harness_release(&x.h);
}

/* --- what does not ------------------------------------------------------------------------ */

static void driver_and_library_differ(void **state)
{
	put_node(*state);
	put(*state, "/sys/module/nvidia/version", "550.90.07\n");
	expect_problem(state, "sw_driver_apart");
}

static void driver_too_old(void **state)
{
	struct tree *t = *state;

	put_node(t);
	put(t, "/sys/module/nvidia/version", "515.43.04\n");
	assert_int_equal(remove(tmpf("%s/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15", t->root)),
	                 0);
	put(t, "/usr/lib/x86_64-linux-gnu/libcuda.so.515.43.04", "x");
	expect_problem(state, "sw_driver_old");
}

static void no_library(void **state)
{
	struct tree *t = *state;

	put_node(t);
	assert_int_equal(remove(tmpf("%s/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15", t->root)),
	                 0);
	assert_int_equal(remove(tmpf("%s/usr/lib/x86_64-linux-gnu/libcuda.so.1", t->root)), 0);
	expect_problem(state, "sw_no_libcuda");
}

static void build_too_old_for_the_card(void **state)
{
	put_node(*state);
	put(*state, SITE "/torch/version.py", "__version__ = '1.13'\ncuda = '11.7'\n");
	expect_problem(state, "sw_arch_new");
}

static void built_for_the_cpu(void **state)
{
	struct scan x;

	put_node(*state);
	put(*state, SITE "/torch/version.py",
	    "__version__ = '2.6.0+cpu'\ncuda: Optional[str] = None\n");
	scan(&x, state);
	harness_expect(&x.h, "sw_driver_fits", OUTCOME_MEASURED, NULL);
	assert_non_null(strstr(harness_reading(&x.h, "sw_pytorch")->params, "built for the CPU"));
	assert_string_equal(harness_param_text(&x.h, harness_reading(&x.h, "sw_pytorch"), "level"),
	                    "present");
	harness_release(&x.h);
}

static void fabric_manager(void **state)
{
	struct tree *t = *state;

	put_node(t);
	put(t, "/sys/bus/pci/devices/0000:c1:00.0/class", "0x068000\n");
	put(t, "/sys/bus/pci/devices/0000:c1:00.0/vendor", "0x10de\n");
	put(t, "/sys/bus/pci/devices/0000:c1:00.0/device", "0x22a3\n");
	expect_problem(state, "sw_no_fabric");
	put(t, "/usr/bin/nv-fabricmanager", "");
	put(t, "/var/lib/dpkg/status",
	    "Package: nvidia-fabricmanager-550\nStatus: install ok installed\nVersion: "
	    "550.90.07-1\n");
	expect_problem(state, "sw_fabric_apart");
}

/* A container sees the switches and the module of its host, and not what runs there. */
static void from_within_a_container(void **state)
{
	struct tree *t = *state;
	struct scan x;

	put_node(t);
	put(t, "/.dockerenv", "");
	put(t, "/sys/bus/pci/devices/0000:c1:00.0/class", "0x068000\n");
	put(t, "/sys/bus/pci/devices/0000:c1:00.0/vendor", "0x10de\n");
	put(t, "/sys/bus/pci/devices/0000:c1:00.0/device", "0x22a3\n");
	scan(&x, state);
	assert_true(harness_expect(&x.h, "sw_driver_fits", OUTCOME_MEASURED, NULL)->value == 1);
	harness_release(&x.h);
	assert_int_equal(remove(tmpf("%s/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15", t->root)),
	                 0);
	assert_int_equal(remove(tmpf("%s/usr/lib/x86_64-linux-gnu/libcuda.so.1", t->root)), 0);
	scan(&x, state);
	harness_expect(&x.h, "sw_driver_fits", OUTCOME_NOT_MEASURED, "sw_no_libcuda");
	harness_release(&x.h);
	/* The newer libcuda of cuda-compat is no mismatch. */
	put(t, "/etc/ld.so.conf.d/compat.conf", "/usr/local/cuda/compat\n");
	put(t, "/usr/local/cuda/compat/libcuda.so.570.10", "x");
	scan(&x, state);
	harness_expect(&x.h, "sw_driver_fits", OUTCOME_MEASURED, NULL);
	harness_release(&x.h);
}

static void nccl_of_another_version(void **state)
{
	struct scan x;

	put_node(*state);
	put_elf(*state, SITE "/nvidia/nccl/lib/libnccl.so.2", "libnccl.so.2", "", "",
	        "NCCL version 2.18.1+cuda12.1");
	scan(&x, state);
	expect_words(&x, "sw_pytorch", "2.6.0+cu124, CUDA 12.4, NCCL 2.18.1: present");
	assert_non_null(strstr(harness_reading(&x.h, "sw_pytorch")->params, "wants NCCL 2.21.5"));
	harness_expect(&x.h, "sw_driver_fits", OUTCOME_MEASURED, NULL);
	harness_release(&x.h);
}

static void nccl_inside(void **state)
{
	struct scan x;

	put_node(*state);
	put_elf(*state, SITE "/torch/lib/libtorch_cuda.so", "libtorch_cuda.so", "libc.so.6", "",
	        "NCCL version 2.21.5+cuda12.4");
	scan(&x, state);
	expect_words(&x, "sw_nccl", "2.21.5 (inside " SITE "/torch/lib/libtorch_cuda.so)");
	harness_release(&x.h);
}

/* --- broken metadata ------------------------------------------------------------------------- */

static void broken_metadata(void **state)
{
	struct scan x;
	struct tree *t = *state;
	const struct reading *r;

	put_node(t);
	put(t, SITE "/empty-1.0.dist-info/RECORD", "");
	put(t, SITE "/nameless-1.0.dist-info/METADATA", "\xff\xfe rubbish");
	put(t, SITE "/~orch-2.5.0.dist-info/METADATA", "Name: torch\nVersion: 2.5.0\n");
	put(t, SITE "/fifo-1.0.dist-info/RECORD", "");
	assert_int_equal(mkfifo(tmpf("%s" SITE "/fifo-1.0.dist-info/METADATA", t->root), 0600), 0);
	put_wheel(t, "numpy", "1.26.4", "");
	put_wheel(t, "numpy", "2.0.0", "");
	put_link(t, SITE "/loop", "loop");
	put_link(t, "/opt/circle/lib", "../circle");
	put_link(t, "/opt/round/conda-meta", "conda-meta");
	put_bytes(t, "/opt/conda/lib/python3.11/site-packages/torch/lib/libtorch_cuda.so",
	          "\x7f"
	          "ELF\2\1\1",
	          7);
	scan(&x, state);
	r = harness_expect(&x.h, "sw_packages", OUTCOME_MEASURED, NULL);
	assert_true(harness_param(r, "broken_count") == 4);
	assert_true(harness_param(r, "twice_count") == 1);
	assert_true(harness_param(r, "unreadable_count") == 1);
	assert_non_null(strstr(r->params, "numpy 1.26.4 and 2.0.0"));
	/* What was not found may lie in what could not be read. */
	harness_expect(&x.h, "sw_tensorflow", OUTCOME_NOT_MEASURED, "sw_unreadable");
	harness_release(&x.h);
}

static void metadata_without_its_files(void **state)
{
	struct scan x;

	put_node(*state);
	put_wheel(*state, "deepspeed", "0.16.0", "");
	scan(&x, state);
	assert_non_null(strstr(harness_reading(&x.h, "sw_deepspeed")->params,
	                       "deepspeed/__init__.py is not there"));
	harness_release(&x.h);
}

/* As most have Megatron: its modules lie where they were cloned. */
static void metadata_of_a_clone(void **state)
{
	static const char url[] = "{\"url\":\"file:///work/%s\",\"dir_info\":{\"editable\":true}}";
	struct scan x;
	struct tree *t = *state;

	put_node(t);
	put_wheel(t, "megatron_core", "0.10.0", "");
	put(t, SITE "/megatron_core-0.10.0.dist-info/direct_url.json", tmpf(url, "Megatron-LM"));
	put(t, "/work/Megatron-LM/megatron/core/package_info.py", "MAJOR = 0\n");
	put_wheel(t, "deepspeed", "0.16.0", "");
	put(t, SITE "/deepspeed-0.16.0.dist-info/direct_url.json", tmpf(url, "gone"));
	scan(&x, state);
	assert_null(strstr(harness_reading(&x.h, "sw_megatron")->params, "fault"));
	assert_non_null(
		strstr(harness_reading(&x.h, "sw_megatron")->params, "\"/work/Megatron-LM\""));
	assert_non_null(strstr(harness_reading(&x.h, "sw_deepspeed")->params,
	                       "deepspeed/__init__.py is not there"));
	harness_release(&x.h);
}

static void two_environments(void **state)
{
	struct scan x;

	put_node(*state);
	put(*state, "/opt/old/lib/python3.8/site-packages/torch-1.8.0.dist-info/METADATA",
	    "Name: torch\nVersion: 1.8.0\n");
	put(*state, "/opt/old/lib/python3.8/site-packages/torch/version.py", "cuda = '10.2'\n");
	put_link(*state, "/opt/again", "conda");
	scan(&x, state);
	/* One good copy is enough, and a link makes no second one. */
	assert_non_null(strstr(harness_reading(&x.h, "sw_pytorch")->params, "1.8.0"));
	assert_true(harness_reading(&x.h, "sw_packages")->value == 2);
	assert_true(harness_expect(&x.h, "sw_driver_fits", OUTCOME_MEASURED, NULL)->value == 1);
	harness_release(&x.h);
}

static void time_is_up(void **state)
{
	struct scan x = {.t = *state};

	put_node(*state);
	for (int i = 0; i < 300; i++)
		put_wheel(*state, tmpf("p%d", i), "1.0", "");
	harness_init(&x.h, &probe_software);
	x.h.ctx.sys_root = x.t->root;
	harness_set(&x.h, "seconds", "0");
	harness_run(&x.h, ST_OK);
	harness_expect(&x.h, "sw_packages", OUTCOME_NOT_MEASURED, "sw_cut");
	harness_expect(&x.h, "sw_fingerprint", OUTCOME_NOT_MEASURED, "sw_cut");
	harness_expect(&x.h, "sw_jax", OUTCOME_NOT_MEASURED, "sw_cut");
	harness_release(&x.h);
}

/* Bytes of a library changed at random: refused or read, never beyond its end. */
static void libraries_of_rubbish(void **state)
{
	struct tree *t = *state;
	struct sw_scan s = {.arena = &t->arena, .root = t->root};
	struct harness h;
	struct str text = {0};
	struct rng rng;

	harness_init(&h, &probe_software);
	s.ctx = &h.ctx;
	s.until_ns = INT64_MAX;
	rng_seed(&rng, 5);
	put_elf(t, "/a.so", "a.so", "b.so", "ncclNet_v8", "NCCL version 2.21.5+cuda12.4");
	assert_true(sw_read(&s, &text, "/a.so", 1 << 20));
	for (int i = 0; i < 1500; i++) {
		struct sw_elf elf;
		char *bytes = malloc(text.len);
		size_t len = i % 3 ? text.len : rng_below(&rng, (uint32_t)text.len);

		memcpy(bytes, text.data, text.len);
		for (int k = 0; k < 1 + i % 4; k++)
			bytes[rng_below(&rng, 300)] = (char)rng_next(&rng);
		put_bytes(t, "/b.so", bytes, len);
		free(bytes);
		if (sw_elf_read(&s, &elf, "/b.so")) {
			sw_elf_highest(&elf, "ncclNet_v");
			sw_elf_needs(&elf, "b.so");
			sw_nccl_version(&s, "/b.so", &elf);
		}
		sw_identity(&s, "/b.so");
	}
	assert_null(sw_identity(&s, "/none.so"));
	str_release(&text);
	harness_release(&h);
}

/* --- engines ------------------------------------------------------------------------------------ */

static void present_and_loaded(void **state)
{
	struct scan x;
	struct tree *t = *state;
	static const char environment[] =
		"NCCL_TUNER_PLUGIN=x\0NCCL_IB_HCA=mlx5\0NCCL_AUTH_TOKEN=hush";

	put_node(t);
	put_wheel(t, "tccl", "0.3", "");
	put(t, "/usr/local/bccl/lib/libnccl.so.2", "");
	put_elf(t, "/usr/lib/x86_64-linux-gnu/libnccl-net.so", "libnccl-net.so", "",
	        "ncclNetPlugin_v8", "");
	put_elf(t, "/usr/local/bccl/lib/libnccl-net-mine.so", "n", "", "ncclNet_v6", "");
	put_elf(t, "/usr/lib/x86_64-linux-gnu/libnccl-tuner-x.so", "n", "", "ncclTunerPlugin_v2",
	        "");
	put_bytes(t, "/proc/self/environ", environment, sizeof(environment));
	scan(&x, state);
	expect_words(&x, "sw_engine", "TCCL present, BCCL present");
	expect_words(&x, "sw_plugins", "net v8 loaded, tuner v2 loaded, net v6 present");
	assert_non_null(strstr(harness_raw(&x.h, "fingerprint.json")->data, "mlx5"));
	assert_null(strstr(harness_raw(&x.h, "fingerprint.json")->data, "hush"));
	assert_null(strstr(harness_reading(&x.h, "sw_plugins")->params, "hush"));
	harness_release(&x.h);
}

static void schedulers(void **state)
{
	struct scan x;

	put(*state, "/etc/slurm/slurm.conf", "GresTypes=gpu\n");
	put(*state, "/etc/slurm/gres.conf", "# cards\n  AutoDetect=nvml\n");
	put(*state, "/proc/77/comm", "slurmd\n");
	put(*state, "/var/lib/kubelet/config.yaml", "");
	put(*state, "/usr/bin/dockerd", "");
	put(*state, "/var/lib/docker/image/overlay2/repositories.json",
	    "{\"Repositories\":{\"pt\":{\"pt:2.6\":\"sha256:0123456789abcdef\","
	    "\"pt@sha256:99\":\"sha256:0123456789abcdef\"}}}");
	scan(&x, state);
	expect_words(&x, "sw_scheduler",
	             "Slurm (gpu in gres.conf); Kubernetes (no NVIDIA device plugin)");
	expect_words(&x, "sw_containers", "docker, 1 images");
	harness_release(&x.h);
}

/* --- fingerprint ---------------------------------------------------------------------------------- */

static const char mounts_a[] =
	"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	"30 22 0:45 / /data rw,noatime - nfs4 nas:/x rw,vers=4.2,password=hush\n";
static const char mounts_b[] =
	"31 22 0:46 / /data rw,noatime - nfs4 nas:/x rw,vers=4.2,password=tell\n"
	"23 1 8:17 / / rw - ext4 /dev/sdb1 rw\n";

static void alike_after_a_reboot(void **state)
{
	struct scan a, b;
	struct tree *t = *state;

	put_node(t);
	put(t, "/proc/self/mountinfo", mounts_a);
	put(t, "/proc/cmdline", "BOOT_IMAGE=/vmlinuz-1 root=UUID=77 iommu=pt db_password=hush\n");
	put(t, "/sys/module/mlx5_core/version", "24.10\n");
	scan(&a, state);
	put(t, "/proc/self/mountinfo", mounts_b);
	put(t, "/proc/cmdline", "BOOT_IMAGE=/vmlinuz-2 root=UUID=99 iommu=pt db_password=other\n");
	put(t, "/proc/sys/kernel/random/boot_id", "0815\n");
	put(t, "/sys/module/snd_hda_intel/refcnt", "1\n");
	scan(&b, state);
	assert_string_equal(part(&a, "sw_fingerprint"), part(&b, "sw_fingerprint"));
	assert_null(strstr(harness_raw(&a.h, "fingerprint.json")->data, "hush"));
	assert_non_null(strstr(harness_raw(&a.h, "fingerprint.json")->data, "nfs4 noatime rw"));
	harness_release(&a.h);
	harness_release(&b.h);
}

static void only_what_changed_differs(void **state)
{
	struct scan a, b;
	struct tree *t = *state;

	put_node(t);
	scan(&a, state);
	put_wheel(t, "einops", "0.8.0", "");
	scan(&b, state);
	assert_string_not_equal(part(&a, "sw_fingerprint"), part(&b, "sw_fingerprint"));
	assert_string_not_equal(part(&a, "sw_part_packages"), part(&b, "sw_part_packages"));
	assert_string_equal(part(&a, "sw_part_kernel"), part(&b, "sw_part_kernel"));
	assert_string_equal(part(&a, "sw_image"), part(&b, "sw_image"));
	harness_release(&b.h);
	put_elf(t, SITE "/nvidia/nccl/lib/libnccl.so.2", "libnccl.so.2", "", "",
	        "NCCL version 2.21.5+cuda12.4 patched");
	scan(&b, state);
	assert_string_not_equal(part(&a, "sw_part_libraries"), part(&b, "sw_part_libraries"));
	assert_string_equal(part(&a, "sw_image"), part(&b, "sw_image"));
	harness_release(&b.h);
	/* Somebody's own copy is another fingerprint and no other image; a driver is. */
	put(t, "/home/u/venv/lib/python3.11/site-packages/torch/version.py", "cuda = '12.1'\n");
	scan(&b, state);
	assert_string_not_equal(part(&a, "sw_part_frameworks"), part(&b, "sw_part_frameworks"));
	assert_string_equal(part(&a, "sw_image"), part(&b, "sw_image"));
	harness_release(&b.h);
	put(t, "/sys/module/nvidia/version", "550.90.07\n");
	scan(&b, state);
	assert_string_not_equal(part(&a, "sw_image"), part(&b, "sw_image"));
	harness_release(&a.h);
	harness_release(&b.h);
}

static void secrets_and_options(void **state)
{
	struct arena a = {0};

	(void)state;
	assert_true(sw_is_secret("MY_ApiKey", 9));
	assert_true(sw_is_secret("nfs_password", 12));
	assert_true(sw_is_secret("DB_PWD", 6));
	assert_true(sw_is_secret("wpa_psk", 7));
	assert_true(sw_is_secret("AWS_ACCESS_KEY_ID", 17));
	assert_false(sw_is_secret("NCCL_IB_HCA", 11));
	assert_string_equal(sw_mount_options(&a, "rw,username=me,vers=3,passwd=x,noatime"),
	                    "noatime rw vers=3");
	assert_string_equal(sw_mount_options(&a, NULL), "");
	arena_release(&a);
}

/* --- pre-installed ---------------------------------------------------------------------------------- */

static double share(struct scan *x, void **state, const char *since, const char *by)
{
	const struct reading *r;
	double value;

	x->t = *state;
	harness_init(&x->h, &probe_software);
	x->h.ctx.sys_root = x->t->root;
	if (since)
		harness_set(&x->h, "since", since);
	harness_run(&x->h, ST_OK);
	r = harness_expect(&x->h, "sw_preinstalled_share", OUTCOME_MEASURED, NULL);
	assert_string_equal(harness_param_text(&x->h, r, "known_by"), by);
	value = r->value;
	harness_release(&x->h);
	return value;
}

static void pre_installed(void **state)
{
	struct scan x = {.t = *state};
	struct tree *t = *state;
	struct timeval old[2] = {{1000000000, 0}, {1000000000, 0}};
	struct timeval late[2] = {{4000000000, 0}, {4000000000, 0}};

	put_node(t);
	/* PyTorch and the driver; a driver without a file of ours is the host's. */
	assert_true(fabs(share(&x, state, "2100-01-01T00:00:00Z", "software.since") - 1) < 1e-9);
	assert_true(fabs(share(&x, state, "2001-01-01T00:00:00Z", "software.since") - 0.5) < 1e-9);
	/* Newer than the keys means nothing, older than them is before; cloud-init knows. */
	put(t, "/etc/ssh/ssh_host_rsa_key", "");
	assert_int_equal(utimes(tmpf("%s/etc/ssh/ssh_host_rsa_key", t->root), late), 0);
	assert_true(fabs(share(&x, state, NULL, "/etc/ssh/ssh_host_rsa_key") - 1) < 1e-9);
	assert_int_equal(utimes(tmpf("%s/etc/ssh/ssh_host_rsa_key", t->root), old), 0);
	scan(&x, state);
	harness_expect(&x.h, "sw_preinstalled_share", OUTCOME_NOT_MEASURED, "sw_since_unknown");
	harness_release(&x.h);
	put(t, "/var/lib/cloud/instance/sem/config_ssh", "");
	assert_int_equal(utimes(tmpf("%s/var/lib/cloud/instance/sem/config_ssh", t->root), old), 0);
	assert_true(fabs(share(&x, state, NULL, "/var/lib/cloud/instance/sem/config_ssh") - 0.5) <
	            1e-9);
	harness_init(&x.h, &probe_software);
	x.h.ctx.sys_root = t->root;
	harness_set(&x.h, "since", "yesterday");
	harness_run(&x.h, ST_OK);
	harness_expect(&x.h, "sw_preinstalled_share", OUTCOME_NOT_MEASURED, "sw_since_bad");
	harness_release(&x.h);
}

static void without_our_own(void **state)
{
	struct scan x = {.t = *state};
	struct tree *t = *state;

	put(t, "/var/lib/dpkg/status",
	    "Package: fio\nStatus: install ok installed\nVersion: 3.33-3\n\n"
	    "Package: git\nStatus: install ok installed\nVersion: 2.39\n");
	put(t, "/record", "cmake 3.25\nfio 3.33-3\ngit 2.38\n");
	harness_init(&x.h, &probe_software);
	x.h.ctx.sys_root = t->root;
	harness_set(&x.h, "installed_record", arena_strf(&t->arena, "%s/record", t->root));
	harness_run(&x.h, ST_OK);
	assert_true(harness_reading(&x.h, "sw_packages")->value == 1);
	assert_non_null(strstr(harness_raw(&x.h, "fingerprint.json")->data, "deb git"));
	assert_null(strstr(harness_raw(&x.h, "fingerprint.json")->data, "deb fio"));
	harness_release(&x.h);
}

static void this_machine(void **state)
{
	struct harness h;

	(void)state;
	harness_init(&h, &probe_software);
	harness_run(&h, ST_OK);
	harness_expect(&h, "sw_packages", OUTCOME_MEASURED, NULL);
	assert_int_equal(strlen(harness_expect(&h, "sw_fingerprint", OUTCOME_MEASURED, NULL)->text),
	                 64);
	harness_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(a_node_that_fits),
		TREE_TEST(other_frameworks),
		TREE_TEST(without_cards),
		TREE_TEST(driver_and_library_differ),
		TREE_TEST(driver_too_old),
		TREE_TEST(no_library),
		TREE_TEST(build_too_old_for_the_card),
		TREE_TEST(built_for_the_cpu),
		TREE_TEST(fabric_manager),
		TREE_TEST(from_within_a_container),
		TREE_TEST(nccl_of_another_version),
		TREE_TEST(nccl_inside),
		TREE_TEST(broken_metadata),
		TREE_TEST(metadata_without_its_files),
		TREE_TEST(metadata_of_a_clone),
		TREE_TEST(two_environments),
		TREE_TEST(time_is_up),
		TREE_TEST(libraries_of_rubbish),
		TREE_TEST(present_and_loaded),
		TREE_TEST(schedulers),
		TREE_TEST(alike_after_a_reboot),
		TREE_TEST(only_what_changed_differs),
		cmocka_unit_test(secrets_and_options),
		TREE_TEST(pre_installed),
		TREE_TEST(without_our_own),
		cmocka_unit_test(this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
