/* What assay bundle and assay verify share: what is made of a run anew, and signatures. */
#ifndef ASSAY_CLI_EVIDENCE_ARCHIVE_H
#define ASSAY_CLI_EVIDENCE_ARCHIVE_H

#include "assay/finding.h"
#include "base/error.h"
#include "base/sha256.h"

/* What is made of a run: its scorecard as JSON, and where `clauses` (a file) is not NULL the
 * certificate about them as HTML. */
struct evidence_made {
	struct str card, certificate;
	const char *verdict; /* its word */
};

/* In English, by the profile, the waivers and the evidence that the run keeps: the same bytes
 * from the same build. Release also after an error. */
enum status evidence_make(struct evidence_made *made, const char *dir, enum rule_stage stage,
                          const char *clauses, struct error *err);
void evidence_made_release(struct evidence_made *made);

/* Names of both, and of the clauses, in an archive. */
#define CARD_FILE        "scorecard.json"
#define CLAUSES_FILE     "clauses.json"
#define CERTIFICATE_FILE "certificate.html"

/* Digest of this very program. */
enum status evidence_tool(char hex[SHA256_HEX], struct error *err);

/* Signs FILE with a private key of OpenSSH into FILE.sig, by ssh-keygen -Y. */
enum status evidence_sign(const char *file, const char *key, struct error *err);
/* Whether FILE.sig is a signature of FILE by `identity`, as the list of allowed signers
 * knows it (ssh-keygen(1), ALLOWED SIGNERS). ST_CORRUPT: it is not. */
enum status evidence_signed(const char *file, const char *signers, const char *identity,
                            struct error *err);

#endif
