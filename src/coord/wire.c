/* Framing of messages between ranks. */
#include "coord/wire.h"

#include <string.h>

enum status wire_send(struct comm *comm, int to, enum wire kind, const char *text, size_t len,
                      struct error *err)
{
	struct str message = {0};
	enum status st;

	str_addc(&message, (char)kind);
	str_addn(&message, text, len);
	st = comm->ops->send(comm, to, message.data, message.len, err);
	str_release(&message);
	return st;
}

void wire_begin(struct wire_json *w)
{
	w->text = (struct str){0};
	w->j = json_writer(&w->text, 0);
	json_object_begin(&w->j, NULL);
}

enum status wire_end(struct wire_json *w, struct comm *comm, int to, enum wire kind,
                     struct error *err)
{
	enum status st;

	json_object_end(&w->j);
	st = wire_send(comm, to, kind, w->text.data, w->text.len, err);
	str_release(&w->text);
	return st;
}
