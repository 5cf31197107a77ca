/* The ids of all user texts; base/msg.h explains and says them. */
#ifndef ASSAY_MESSAGE_H
#define ASSAY_MESSAGE_H

enum msg {
#define MSG(id, text) MSG_##id,
#include "base/messages/all.def"
#undef MSG
	MSG_COUNT
};

#endif
