/* SPDX-License-Identifier: MIT */
#include "lease/key.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
	FIELD_ALIGN = 4,
	/* nft's data types, and how it makes one of several. */
	TYPE_IPV4 = 7,
	TYPE_IPV6 = 8,
	TYPE_PROTOCOL = 12,
	TYPE_PORT = 13,
	TYPE_BITS = 6,
};

static void put_field(struct key *key, const uint8_t *bytes, uint32_t len)
{
	assert(key->len + len <= sizeof(key->bytes));
	memcpy(key->bytes + key->len, bytes, len);
	key->len += (len + FIELD_ALIGN - 1) / FIELD_ALIGN * FIELD_ALIGN;
}

static void put_agent(struct key *key, uint8_t version, const struct address *agent)
{
	struct address shown = *agent;

	if (agent->family != version)
		memset(shown.bytes, 0, sizeof(shown.bytes));
	if (agent->family == 4 && version == 6) {
		shown.bytes[10] = shown.bytes[11] = 0xff;
		memcpy(shown.bytes + 12, agent->bytes, 4);
	}
	put_field(key, shown.bytes, version == 4 ? 4 : 16);
}

struct key key_make(const struct netlink_set *set, const struct netlink_write *write,
		    const struct neighbour *neighbour)
{
	const uint8_t port[2] = { (uint8_t)(write->port >> 8), (uint8_t)write->port };
	struct key key = { .len = 0 };

	assert(write->address.family == set->version);
	if (set->form == NETLINK_FORM_ETHER) {
		/* A link's number is the host's own, and stays in its order. */
		put_field(&key, (const uint8_t *)&neighbour->link, sizeof(neighbour->link));
		put_field(&key, neighbour->ether, sizeof(neighbour->ether));
	}
	if (set->form == NETLINK_FORM_LEASE)
		put_agent(&key, set->version, &write->agent);
	put_field(&key, write->address.bytes, (uint32_t)address_len(&write->address));
	if (set->form == NETLINK_FORM_ADDRESS)
		return key;
	put_field(&key, &write->protocol, 1);
	put_field(&key, port, sizeof(port));
	return key;
}

int key_type_form(uint32_t type, enum netlink_form *ret_form, uint8_t *ret_version)
{
	uint32_t address = type;
	enum netlink_form form = NETLINK_FORM_ADDRESS;

	if ((type & ((1u << 2 * TYPE_BITS) - 1)) == (TYPE_PROTOCOL << TYPE_BITS | TYPE_PORT)) {
		address = type >> 2 * TYPE_BITS;
		form = NETLINK_FORM_TUPLE;
	}
	if (address != TYPE_IPV4 && address != TYPE_IPV6)
		return -EINVAL;
	*ret_form = form;
	*ret_version = address == TYPE_IPV4 ? 4 : 6;
	return 0;
}
