/* Notes to the person at the terminal, said once each: a thousand equal lines
 * hide the one that matters. */
#include "base/log.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REMEMBERED 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char *text;
	long again;
} said[REMEMBERED];
static int n_said;

void log_list(enum msg id, const char *const *args)
{
	/* Whoever calls this may speak English for what is stored. */
	enum language before = msg_speak(msg_reader());
	struct str text = {0}, shown = {0};

	msg_add_again(&text, id, args);
	str_add_printable(&shown, str_text(&text), text.len);
	str_release(&text);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < n_said; i++) {
		if (strcmp(said[i].text, str_text(&shown)) == 0) {
			said[i].again++;
			goto out;
		}
	}
	fprintf(stderr, "%s\n", say(MSG_log_line, str_text(&shown)));
	if (n_said < REMEMBERED)
		said[n_said++].text = str_detach(&shown);
out:
	pthread_mutex_unlock(&lock);
	msg_speak(before);
	str_release(&shown);
}

void log_flush(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < n_said; i++) {
		if (said[i].again)
			fprintf(stderr, "%s\n",
			        say(MSG_log_again, said[i].text, tmpf("%ld", said[i].again)));
		free(said[i].text);
		said[i].text = NULL;
		said[i].again = 0;
	}
	n_said = 0;
	pthread_mutex_unlock(&lock);
}
