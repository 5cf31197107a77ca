/* The kernel's log by /dev/kmsg, where a process may read it, else by the
 * journal. A container often has neither, and then nothing is known: no
 * message is no proof that there was none. */
#include "inventory_xid.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/proc.h"
#include "base/str.h"
#include "hw/gpu_lib.h"

#define MARK       "NVRM: Xid (PCI:"
#define LOG_LIMIT  ((size_t)32 << 20)
#define RECORD_MAX 8192 /* the kernel's own limit of a record */
#define JOURNAL_S  10
#define XIDS_MOST  4096

static void add(struct xid_log *log, struct arena *arena, const char *line, size_t len)
{
	const char *address = line + strlen(MARK), *end = memchr(line, ')', len);
	const char *pci = end ? arena_strn(arena, address, (size_t)(end - address)) : NULL;
	struct xid *grown;
	char *text;
	long number;

	pci = pci ? gpu_pci(arena, pci) : NULL;
	if (!pci || end[1] != ':' || log->n >= XIDS_MOST)
		return;
	text = arena_strn(arena, end + 2, len - (size_t)(end + 2 - line));
	number = strtol(text, &text, 10);
	if (number <= 0 || number > 10000)
		return;
	if ((log->n & (log->n - 1)) == 0) { /* full at each power of two */
		grown = arena_array(arena, log->n ? (size_t)log->n * 2 : 1, sizeof(*grown));
		if (log->n)
			memcpy(grown, log->list, (size_t)log->n * sizeof(*grown));
		log->list = grown;
	}
	text += strspn(text, ", ");
	log->list[log->n++] = (struct xid){pci, (int)number, text};
}

void xid_parse(struct xid_log *log, struct arena *arena, const char *text)
{
	for (const char *p = text; (p = strstr(p, MARK));) {
		size_t len = strcspn(p, "\n");

		add(log, arena, p, len);
		p += len;
	}
}

/* A device gives one record a read and none is ever at its end; a file (of a
 * recorded machine) ends. */
static bool read_kmsg(struct str *out, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char record[RECORD_MAX];
	ssize_t n;

	if (fd < 0)
		return false;
	for (;;) {
		n = read(fd, record, sizeof(record));
		if (n < 0 && (errno == EPIPE || errno == EINTR)) /* overwritten while we read */
			continue;
		if (n <= 0 || out->len + (size_t)n > LOG_LIMIT)
			break;
		str_addn(out, record, (size_t)n);
	}
	close(fd);
	return n == 0 || (n < 0 && errno == EAGAIN) || out->len > 0;
}

/* Whoever may not read it gets an empty answer, which no kernel has. */
static bool read_journal(struct str *out)
{
	static const char *const argv[] = {"journalctl", "--dmesg", "--boot", "--output=cat",
	                                   "--no-pager", "--quiet", NULL};
	struct spawn_spec spec = {.argv = argv, .deadline_s = JOURNAL_S, .max_out = LOG_LIMIT};
	struct proc_end end = {0};
	bool ok = spawn_run(&spec, out, &end, NULL) == ST_OK && end.exit_code == 0 && out->len > 0;

	str_release(&end.err);
	return ok;
}

struct xid_log xid_read(struct arena *arena, const char *root)
{
	struct xid_log log = {0};
	struct str text = {0};

	if (read_kmsg(&text, tmpf("%s/dev/kmsg", root))) {
		log.source = "/dev/kmsg";
	} else {
		str_clear(&text);
		if (!*root && read_journal(&text))
			log.source = "journal";
	}
	if (log.source)
		xid_parse(&log, arena, str_text(&text));
	str_release(&text);
	return log;
}

bool xid_blames_card(int number)
{
	/* Faults of a program, and of what is ended after one. */
	static const int programs[] = {8, 13, 31, 37, 43, 44, 45, 66, 68, 69, 137};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (programs[i] == number)
			return false;
	return true;
}
