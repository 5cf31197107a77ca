/* What assay bundle and assay verify share: the scorecard as it is archived, the manifest,
 * and signatures. */
#ifndef ASSAY_CLI_EVIDENCE_ARCHIVE_H
#define ASSAY_CLI_EVIDENCE_ARCHIVE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/sha256.h"

/* The scorecard of a run as JSON in English, by the profile and the waivers the run
 * keeps; `verdict` (may be NULL) gets its word. The same bytes from the same build. */
enum status evidence_scorecard(struct str *out, const char *dir, const char **verdict,
                               struct error *err);
/* Digest of this very program. */
enum status evidence_tool(char hex[SHA256_HEX], struct error *err);

/* Signs FILE with a private key of OpenSSH into FILE.sig, by ssh-keygen -Y. */
enum status evidence_sign(const char *file, const char *key, struct error *err);
/* Whether FILE.sig is a signature of FILE by `identity`, as the list of allowed signers
 * knows it (ssh-keygen(1), ALLOWED SIGNERS). ST_CORRUPT: it is not. */
enum status evidence_signed(const char *file, const char *signers, const char *identity,
                            struct error *err);

#endif
