/* Live progress. A line is redrawn at most five times a second; in a log each
 * unit has one line when it begins and one for whatever went wrong. */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/unit.h"

void progress_init(struct progress_view *v)
{
	struct winsize size;

	*v = (struct progress_view){.tty = isatty(STDERR_FILENO), .width = 80};
	if (v->tty && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
		v->width = size.ws_col;
}

static const char *unit_name(const struct unit *u)
{
	return u->subject ? tmpf("%s %s", u->probe->name, u->subject) : tmpf("%s", u->probe->name);
}

static void draw(struct progress_view *v, const char *text)
{
	struct str shown = {0};
	size_t len = 0;

	str_add_printable(&shown, text, strlen(text));
	/* Cut by characters, not bytes: the line must not wrap. */
	for (int columns = 0; len < shown.len && columns < v->width - 1; columns++)
		len += (size_t)utf8_len(shown.data + len, shown.data + shown.len);
	fprintf(stderr, "\r\033[K%.*s", (int)len, str_text(&shown));
	fflush(stderr);
	v->line_open = true;
	str_release(&shown);
}

void progress_end(struct progress_view *v)
{
	if (v->line_open)
		fprintf(stderr, "\r\033[K");
	v->line_open = false;
}

void progress_line(struct progress_view *v, const char *text, bool transient)
{
	if (transient && v->tty) {
		draw(v, text);
	} else if (!transient) {
		progress_end(v);
		fprintf(stderr, "%s\n", text);
	}
}

static const char *remaining(const struct coord_event *e)
{
	return e->remaining_s > 0 ? say(MSG_progress_left, fmt_duration(e->remaining_s)) : "";
}

void progress_event(void *arg, const struct coord_event *e)
{
	struct progress_view *v = arg;
	const char *position = tmpf("[%d/%d]", e->position, e->total);

	switch (e->kind) {
	case COORD_BEGIN:
		if (v->tty)
			draw(v, tmpf("%s %s  %s", position, unit_name(e->unit), remaining(e)));
		else if (e->unit->seconds > 0)
			fprintf(stderr, "%s %s (%s)\n", position, unit_name(e->unit),
			        fmt_duration(e->unit->seconds));
		v->shown_at = e->elapsed_s;
		break;
	case COORD_PROGRESS:
		if (!v->tty || e->elapsed_s - v->shown_at < 0.2)
			break;
		v->shown_at = e->elapsed_s;
		draw(v, e->done >= 0 ? tmpf("%s %s  %s %.0f %%  %s", position, unit_name(e->unit),
		                            e->text, e->done * 100, remaining(e))
		                     : tmpf("%s %s  %s  %s", position, unit_name(e->unit), e->text,
		                            remaining(e)));
		break;
	case COORD_READING:
		if (e->reading->outcome != OUTCOME_FAILED &&
		    e->reading->outcome != OUTCOME_TIMED_OUT)
			break;
		progress_end(v);
		fprintf(stderr, "%s\n",
		        say(MSG_progress_bad, e->reading->metric, outcome_name(e->reading->outcome),
		            e->reading->reason.text ? e->reading->reason.text : ""));
		break;
	case COORD_TROUBLE:
		progress_end(v);
		fprintf(stderr, "%s\n", say(MSG_log_line, e->text));
		break;
	case COORD_END:
		break;
	}
}
