/* What the storage does for a training run: how fast checkpoints are written and
 * read back, how long those of known models take, how fast data sets stream.
 * A cluster waits for its slowest node, so that is the one shown. */
#include "report/storage_jobs.h"

#include <math.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/words.h"

static void add_part(struct str *out, const char *text)
{
	str_addf(out, "%s%s", out->len ? ", " : "", text);
}

/* "2.1 GB/s written", with what the page cache makes of it. */
static void add_rate(struct str *out, struct span node, enum msg id, const char *name,
                     const char *buffered_name)
{
	double direct = span_number(node, name, NULL),
	       buffered = span_number(node, buffered_name, NULL);
	const char *text;

	if (!isfinite(direct) && !isfinite(buffered))
		return;
	text = say(id, fmt_measure(isfinite(direct) ? direct : buffered, "GB/s"));
	if (!isfinite(direct))
		text = say(MSG_jobs_figure_only_buffered, text);
	else if (isfinite(buffered))
		text = say(MSG_jobs_figure_buffered, text, fmt_measure(buffered, "GB/s"));
	add_part(out, text);
}

static const char *size_word(double bytes)
{
	return bytes < 1e12 ? fmt_measure(bytes / 1e9, "GB") : fmt_measure(bytes / 1e12, "TB");
}

/* The size is what the time was computed for. */
static void add_takes(struct str *out, struct span node, const char *name, const char *model)
{
	const struct reading *r = span_find(node, name, NULL);
	struct json_doc doc;
	double bytes = NAN;

	if (!r || r->value_kind != VALUE_NUMBER)
		return;
	if (span_params(r, &doc)) {
		bytes = json_number(doc.root, "checkpoint_bytes", NAN);
		json_release(&doc);
	}
	add_part(out, isfinite(bytes)
	                      ? say(MSG_jobs_checkpoint_takes_of, model, size_word(bytes),
	                            fmt_duration(r->value))
	                      : say(MSG_jobs_checkpoint_takes, model, fmt_duration(r->value)));
}

/* Who it is of, where there are many. */
static void job_line(const struct page_part *to, struct span node, int64_t nodes, enum msg id,
                     struct str *what)
{
	struct str s = {0}, name = {0};

	if (what->len) {
		msg_add(&s, id, what->data);
		if (nodes > 1) {
			words_add(&name, span_node(node));
			str_addf(&s, "; %s",
			         say(MSG_jobs_slowest_of, str_text(&name),
			             words_subjects(SUBJECT_NODE, nodes)));
		}
		str_pad(to->out, ' ', (size_t)to->indent);
		words_wrap(to->out, s.data, to->indent, to->indent + 2, to->width);
	}
	str_release(&name);
	str_release(&s);
	str_release(what);
}

/* By the first of these figures that any node has; the list ends with NULL. */
static struct span slowest_by(struct span path, const char *const *names, int64_t *nodes)
{
	struct span s = {path.items, 0};

	*nodes = 0;
	for (; *names && *nodes == 0; names++)
		s = span_slowest(path, *names, nodes);
	return s;
}

static void checkpoint(const struct page_part *to, struct span path)
{
	static const char *const by[] = {"checkpoint_write_gbs", "checkpoint_read_gbs",
	                                 "checkpoint_write_buffered_gbs",
	                                 "checkpoint_read_buffered_gbs", NULL};
	struct str what = {0}, takes = {0};
	int64_t nodes;
	struct span node = slowest_by(path, by, &nodes);

	add_rate(&what, node, MSG_jobs_checkpoint_written, by[0], by[2]);
	add_rate(&what, node, MSG_jobs_checkpoint_read, by[1], by[3]);
	add_takes(&takes, node, "checkpoint_70b_s", "70B");
	add_takes(&takes, node, "checkpoint_405b_s", "405B");
	if (takes.len)
		str_addf(&what, "; %s %s", takes.data, msg_format(MSG_jobs_checkpoint_alone));
	job_line(to, node, nodes, MSG_jobs_checkpoint_line, &what);
	str_release(&takes);
}

static void dataset(const struct page_part *to, struct span path)
{
	static const char *const by[] = {"dataset_stream_gbs", "dataset_stream_buffered_gbs",
	                                 "dataset_small_iops", NULL};
	struct str what = {0};
	int64_t nodes;
	struct span node = slowest_by(path, by, &nodes);
	double small = span_number(node, by[2], NULL);

	add_rate(&what, node, MSG_jobs_dataset_streamed, by[0], by[1]);
	if (isfinite(small))
		add_part(&what, say(MSG_jobs_dataset_small, fmt_measure(small, "IOPS")));
	job_line(to, node, nodes, MSG_jobs_dataset_line, &what);
}

void job_lines(const struct page_part *to, struct span path)
{
	checkpoint(to, path);
	dataset(to, path);
}
