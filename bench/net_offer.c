/* Offers, written and read. They come from other processes on other machines:
 * nothing in them is believed that cannot be. */
#include "net_offer.h"

#include <string.h>
#include <sys/random.h>

#define TRIED_MOST 16 /* addresses that are named */

static bool make_token(char token[NET_TOKEN + 1])
{
	unsigned char bytes[NET_TOKEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		memcpy(token + 2 * i, tmpf("%02x", bytes[i]), 2);
	token[NET_TOKEN] = '\0';
	return true;
}

bool net_offer_tokens(struct net_offer *offer)
{
	return make_token(offer->token) && make_token(offer->answer);
}

void net_offer_put(struct json_out *j, const struct net_offer *offer)
{
	json_put_int(j, "port", offer->port);
	json_put_string(j, "token", offer->token);
	json_put_string(j, "answer", offer->answer);
	json_array_begin(j, "addresses");
	for (int i = 0; i < offer->addresses.count; i++) {
		const struct net_address *a = &offer->addresses.list[i];

		json_object_begin(j, NULL);
		json_put_string(j, "address", a->text);
		json_put_string(j, "interface", a->interface);
		json_put_int(j, "speed_mbps", a->speed_mbps);
		json_object_end(j);
	}
	json_array_end(j);
}

static bool read_token(char token[NET_TOKEN + 1], const cJSON *root, const char *key)
{
	const char *text = json_string(root, key, "");

	if (strlen(text) != NET_TOKEN)
		return false;
	memcpy(token, text, NET_TOKEN + 1);
	return true;
}

static void read_addresses(struct net_addresses *all, struct arena *arena, const cJSON *list)
{
	const cJSON *item;

	all->list = arena_array(arena, (size_t)(list ? cJSON_GetArraySize(list) : 0) + 1,
	                        sizeof(*all->list));
	cJSON_ArrayForEach(item, list)
	{
		struct net_address *a = &all->list[all->count];

		if (!net_address_parse(a, json_string(item, "address", "")))
			continue;
		a->text = arena_str(arena, json_string(item, "address", ""));
		a->interface = arena_str(arena, json_string(item, "interface", "?"));
		a->speed_mbps = json_int64(item, "speed_mbps", -1);
		all->count++;
	}
}

bool net_offer_read(struct net_offer *offer, struct arena *arena, const cJSON *root)
{
	double port = json_number(root, "port", 0);

	*offer = (struct net_offer){.port = port > 0 && port < 65536 ? (int)port : 0};
	read_addresses(&offer->addresses, arena, json_get(root, "addresses"));
	return read_token(offer->token, root, "token") &&
	       read_token(offer->answer, root, "answer") && offer->port > 0;
}

void net_tried_add(struct str *tried, int count, const struct net_address *a, int errnum)
{
	if (count < TRIED_MOST)
		str_addf(tried, "%s%s (%s): %s", count ? ", " : "", a->text, a->interface,
		         strerror(errnum));
	else if (count == TRIED_MOST)
		str_add(tried, " …");
}
