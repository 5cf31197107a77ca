/* The inside of a probe child: reads one request (JSON) from stdin, runs the
 * probe, sends readings and progress as lines on descriptor 3. The coordinator
 * starts it as `assay --child`. */
#ifndef ASSAY_COORD_WORKER_H
#define ASSAY_COORD_WORKER_H

#include "assay/probe.h"

#define WORKER_CHANNEL 3

/* Returns the exit code of the child: 0 when the probe ended by itself. */
int worker_main(const struct probe *const *probes);

/* By enum stage, as written on the channel. */
extern const char *const stage_names[STAGES];

/* Lines that are not readings:
 *   {"kind":"progress","stage":"measuring","done":0.4,"what":"message_id"}
 *   {"kind":"support","yes":false,"code":…,"args":[…],"text":…}   (list --try)
 *   {"kind":"peer","to":1,"text":…}       to the child of peers[1]
 *   {"kind":"done","status":"ok"}
 *
 * The request is the first line of stdin; of a unit in company others follow:
 *   {"from":1,"text":…} */

#endif
