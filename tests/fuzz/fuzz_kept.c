/* The list of evidence kept with a run, out of anybody's archive: it names files of its
 * folder and no others, and what is taken is what was kept. */
#include "fuzz.h"

#include <string.h>

#include "base/str.h"
#include "cli/evidence_kept.h"
#include "run/line.h"

static const struct {
	const char *name, *text;
} files[] = {
	{JOURNAL_FILE, "{\"kind\":\"start\",\"v\":1,\"time\":\"2026-12-02T03:04:05.678Z\","
                       "\"run_sha256\":\"\"}\n"},
	{"evidence/1-q.json",
         "{\"v\":1,\"name\":\"q\",\"title\":\"Q\",\"figures\":[],\"quote\":{\"currency\":\"CNY\","
         "\"tax\":\"included\",\"items\":[{\"item\":\"node\",\"match\":[\"gn8*\"],\"per\":"
         "\"hour\",\"price\":\"98.40\",\"gpus\":8,\"granularity\":\"hour\"}]}}\n"},
	{"evidence/2-b.csv",
         "BillingCycle,ProductName,BillingItem,InstanceID,Item,UsageStartTime,UsageEndTime,Usage,"
         "UsageUnit,PretaxAmount,Currency\n2024-11,gn8,gn8.a100,i-1,PayAsYouGoBill,2024-11-01 "
         "00:00:00,2024-11-01 02:00:00,7200,s,196.80,CNY\n"},
	{"evidence/3-u.csv", "resource,start,end\ni-1,2024-11-01T00:00:00Z,2024-11-01T01:20:00Z\n"},
	{"evidence/4-t.csv",
         "ticket_id,severity,opened_utc,opened_by,first_auto_utc,first_human_utc,engaged_utc,"
         "mitigated_utc,resolved_utc,node,cause,source\nT1,1,2026-11-01T03:00:00Z,customer,,"
         "2026-11-01T03:12:00Z,,,2026-11-01T19:00:00+08:00,n1,,mail\n"},
	{"evidence/5-c.csv", "from_utc,to_utc,node,cause,note\n2026-11-01T00:00:00Z,"
                             "2026-11-02T00:00:00Z,*,customer,\n"},
	{"evidence/6-w/n1.heartbeat.csv",
         "ts_utc,mono_s,node,observer,seq,boot_id,kind,gpus_ok,kernel_ms,xid,ecc,link_flaps,state,"
         "note,prev_sha256\n2028-02-28T23:58:00.000Z,5.000,n1,w,1,b,beat,,,,,,up,,"
         "2b4bd07b49ee4f3c4f66a3c233330220d2a9ddf240ac1f1035137118629af3fc\n"},
	{"evidence/7-r.txt",
         "Burning for 60 seconds.\nGPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-aa)\n100.0%  proc'd: "
         "7760 (15300 Gflop/s)   errors: 0   temps: 62 C\nTested 1 GPUs:\n\tGPU 0: OK\n"},
};

static void prepare(void)
{
	static int made;

	fuzz_run_json();
	for (size_t i = 0; !made && i < sizeof(files) / sizeof(*files); i++)
		fuzz_named(files[i].name, files[i].text, strlen(files[i].text));
	made = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const struct evidence_file *used;
	struct error err = {0};
	struct rundir run;
	int n;

	prepare();
	fuzz_named(EVIDENCE_FILE, data, len);
	fuzz_promise(rundir_open(&run, fuzz_folder(), 0, NULL) == ST_OK, "the run");
	if (evidence_take_kept(&run, NULL, &used, &n, &err) == ST_OK) {
		for (int i = 0; i < n; i++)
			fuzz_promise(used[i].file && strlen(used[i].sha256) == 64,
			             "a file without name or digest");
	} else {
		fuzz_promise(err.text.len > 0, "refused without a word");
	}
	rundir_close(&run);
	error_release(&err);
	return 0;
}
