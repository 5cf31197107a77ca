/* Live progress. A line is redrawn at most five times a second; in a log each
 * unit has one line when it begins and one for whatever went wrong. */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unit.h"
#include "report/words.h"

#define LOG_NS (60 * NS_PER_S) /* in a log, of a phase that takes longer */

void progress_init(struct progress_view *v)
{
	struct winsize size;

	*v = (struct progress_view){
		.tty = isatty(STDERR_FILENO), .width = 80, .logged_ns = clock_now(&clock_system)};
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
	struct str cut = {0};

	str_add_printable(&shown, text, strlen(text));
	/* The line must not wrap: what wraps is not redrawn. */
	words_cut(&cut, str_text(&shown), v->width - 1);
	fprintf(stderr, "\r\033[K%s", str_text(&cut));
	fflush(stderr);
	v->line_open = true;
	str_release(&shown);
	str_release(&cut);
}

void progress_end(struct progress_view *v)
{
	if (v->line_open)
		fprintf(stderr, "\r\033[K");
	v->line_open = false;
}

void progress_line(struct progress_view *v, const char *text, bool transient)
{
	enum language before = msg_speak(msg_reader());
	int64_t now = clock_now(&clock_system);
	struct str said = {0};

	msg_again(&said, text);
	if (transient && v->tty) {
		draw(v, str_text(&said));
	} else if (!transient || now - v->logged_ns >= LOG_NS) {
		progress_end(v);
		fprintf(stderr, "%s\n", str_text(&said));
		v->logged_ns = now;
	}
	str_release(&said);
	msg_speak(before);
}

static const char *remaining(const struct coord_event *e)
{
	return e->remaining_s > 0 ? say(MSG_progress_left, fmt_duration(e->remaining_s)) : "";
}

/* Short-lived, as the reader would have it said. */
static const char *in_words(const char *english)
{
	struct str said = {0};
	const char *shown;

	msg_again(&said, english);
	shown = tmpf("%s", str_text(&said));
	str_release(&said);
	return shown;
}

static const char *reason_words(const struct reason *reason)
{
	struct str said = {0};
	const char *shown;

	reason_say(&said, reason);
	shown = tmpf("%s", str_text(&said));
	str_release(&said);
	return shown;
}

static void show(struct progress_view *v, const struct coord_event *e)
{
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
		                            in_words(e->text), e->done * 100, remaining(e))
		                     : tmpf("%s %s  %s  %s", position, unit_name(e->unit),
		                            in_words(e->text), remaining(e)));
		break;
	case COORD_READING:
		if (e->reading->outcome != OUTCOME_FAILED &&
		    e->reading->outcome != OUTCOME_TIMED_OUT)
			break;
		progress_end(v);
		fprintf(stderr, "%s\n",
		        say(MSG_progress_bad, e->reading->metric,
		            msg_format(e->reading->outcome == OUTCOME_FAILED
		                               ? MSG_progress_failed
		                               : MSG_progress_timed_out),
		            reason_words(&e->reading->reason)));
		break;
	case COORD_TROUBLE:
		progress_end(v);
		fprintf(stderr, "%s\n", say(MSG_log_line, in_words(e->text)));
		break;
	case COORD_END:
		break;
	}
}

/* The run speaks English, whoever looks. */
void progress_event(void *arg, const struct coord_event *e)
{
	enum language before = msg_speak(msg_reader());

	show(arg, e);
	msg_speak(before);
}
