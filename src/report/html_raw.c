/* A raw file counts only with the digest the journal has of it. */
#include "report/html_raw.h"

#include <string.h>

#include "base/file.h"
#include "base/sha256.h"

#define LIMIT (16 << 20) /* bytes of a file that a chart looks at */

bool html_raw(struct html *h, struct csv *csv, const struct reading *r)
{
	struct str path = {0}, text = {0};
	char digest[SHA256_HEX];
	bool good = h->o->run_dir && r->raw.file && r->raw.sha256;

	if (good)
		good = file_read(&text, path_join(&path, h->o->run_dir, r->raw.file), LIMIT,
		                 NULL) == ST_OK;
	if (good) {
		sha256_text(str_text(&text), text.len, digest);
		good = strcmp(digest, r->raw.sha256) == 0 &&
		       csv_parse(csv, r->raw.file, str_text(&text), text.len, NULL) == ST_OK;
	}
	str_release(&path);
	str_release(&text);
	return good;
}
