/* SPDX-License-Identifier: MIT */
#include "base/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

int address_parse(const char *text, struct address *ret_address)
{
	struct address address = { .family = 4 };

	if (inet_pton(AF_INET, text, address.bytes) != 1) {
		address.family = 6;
		if (inet_pton(AF_INET6, text, address.bytes) != 1)
			return -EINVAL;
	}
	*ret_address = address;
	return 0;
}

void address_print(const struct address *address, char text[ADDRESS_TEXT_SIZE])
{
	inet_ntop(address->family == 4 ? AF_INET : AF_INET6, address->bytes, text,
		  ADDRESS_TEXT_SIZE);
}

bool address_equal(const struct address *a, const struct address *b)
{
	return a->family == b->family && memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

struct address address_from_bytes(const uint8_t *bytes, size_t len)
{
	struct address address = { .family = len == 4 ? 4 : 6 };

	memcpy(address.bytes, bytes, len);
	return address;
}

/*
 * The special-purpose registries (RFC 6890, as updated up to RFC 9780), most specific first.
 * A row with @inside says at which byte an IPv4 address lies; that address is judged instead.
 */
struct block {
	uint8_t bytes[16];
	uint8_t prefix;
	int8_t inside; /* -1: special as it is */
	const char *what;
};

static const struct block blocks4[] = {
	{ { 0 }, 8, -1, "this network" },
	{ { 10 }, 8, -1, "private" },
	{ { 100, 64 }, 10, -1, "shared (carrier-grade NAT)" },
	{ { 127 }, 8, -1, "loopback" },
	{ { 169, 254 }, 16, -1, "link-local" },
	{ { 172, 16 }, 12, -1, "private" },
	{ { 192, 0, 0 }, 24, -1, "IETF protocol assignments" },
	{ { 192, 0, 2 }, 24, -1, "documentation" },
	{ { 192, 88, 99 }, 24, -1, "6to4 relay" },
	{ { 192, 168 }, 16, -1, "private" },
	{ { 198, 18 }, 15, -1, "benchmarking" },
	{ { 198, 51, 100 }, 24, -1, "documentation" },
	{ { 203, 0, 113 }, 24, -1, "documentation" },
	{ { 224 }, 4, -1, "multicast" },
	{ { 240 }, 4, -1, "reserved" },
};

static const struct block blocks6[] = {
	{ { 0 }, 128, -1, "unspecified" },
	{ { [15] = 1 }, 128, -1, "loopback" },
	{ { [10] = 0xff, [11] = 0xff }, 96, -1, "IPv4-mapped" },
	{ { 0 }, 96, -1, "IPv4-compatible" },
	{ { 0x00, 0x64, 0xff, 0x9b }, 96, 12, "NAT64" },
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48, -1, "local NAT64" },
	{ { 0x01 }, 64, -1, "discard" },
	{ { 0x20, 0x01, 0x00, 0x00 }, 32, -1, "Teredo" },
	{ { 0x20, 0x01 }, 23, -1, "IETF protocol assignments" },
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32, -1, "documentation" },
	{ { 0x20, 0x02 }, 16, 2, "6to4" },
	{ { 0x3f, 0xff }, 20, -1, "documentation" },
	{ { 0x20 }, 3, 0, NULL },
	{ { 0xfc }, 7, -1, "unique local" },
	{ { 0xfe, 0x80 }, 10, -1, "link-local" },
	{ { 0xfe, 0xc0 }, 10, -1, "site-local" },
	{ { 0xff }, 8, -1, "multicast" },
	{ { 0 }, 0, -1, "not assigned" },
};

static bool has_prefix(const uint8_t *bytes, const uint8_t *prefix, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;

	if (memcmp(bytes, prefix, whole) != 0)
		return false;
	return rest == 0 || (bytes[whole] ^ prefix[whole]) >> (8 - rest) == 0;
}

static const struct block *find_block(const struct block *blocks, size_t n, const uint8_t *bytes)
{
	for (size_t i = 0; i < n; i++)
		if (has_prefix(bytes, blocks[i].bytes, blocks[i].prefix))
			return &blocks[i];
	return NULL;
}

static const char *special4(const uint8_t *bytes)
{
	const struct block *block =
		find_block(blocks4, sizeof(blocks4) / sizeof(blocks4[0]), bytes);

	return block != NULL ? block->what : NULL;
}

const char *address_special(const struct address *address)
{
	if (address->family == 4)
		return special4(address->bytes);

	const struct block *block =
		find_block(blocks6, sizeof(blocks6) / sizeof(blocks6[0]), address->bytes);

	/* The last row covers everything, so there is always a block. */
	if (block->what != NULL && block->inside >= 0)
		return special4(address->bytes + block->inside);
	return block->what;
}

/* The decimal number @text, from 0 to @max, in its one spelling: no sign, no leading zero. */
static int read_number(const char *text, unsigned max)
{
	unsigned number = 0;

	if (*text == '\0' || (text[0] == '0' && text[1] != '\0'))
		return -EINVAL;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		number = number * 10 + (unsigned)(*text - '0');
		if (number > max)
			return -EINVAL;
	}
	return (int)number;
}

int network_parse(const char *text, struct network *ret_network)
{
	char head[ADDRESS_TEXT_SIZE];
	const char *slash = strchr(text, '/');
	size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);
	struct network network;
	int prefix;

	if (len >= sizeof(head))
		return -EINVAL;
	memcpy(head, text, len);
	head[len] = '\0';
	if (address_parse(head, &network.address) < 0)
		return -EINVAL;

	unsigned bits = (unsigned)address_len(&network.address) * 8;

	prefix = slash != NULL ? read_number(slash + 1, bits) : (int)bits;
	if (prefix < 0)
		return prefix;
	network.prefix = (uint8_t)prefix;
	for (unsigned bit = network.prefix; bit < bits; bit++)
		if (network.address.bytes[bit / 8] & 0x80 >> bit % 8)
			return -ERANGE;
	*ret_network = network;
	return 0;
}

void network_print(const struct network *network, char text[NETWORK_TEXT_SIZE])
{
	char address[ADDRESS_TEXT_SIZE];

	address_print(&network->address, address);
	if (network->prefix == address_len(&network->address) * 8)
		snprintf(text, NETWORK_TEXT_SIZE, "%s", address);
	else
		snprintf(text, NETWORK_TEXT_SIZE, "%s/%u", address, network->prefix);
}

bool network_contains(const struct network *network, const struct address *address)
{
	return network->address.family == address->family &&
	       has_prefix(address->bytes, network->address.bytes, network->prefix);
}

/* What is special of @network: the block that it lies in, or one of the @n at @blocks inside it. */
static const char *special_within(const struct network *network, const struct block *blocks,
				  size_t n)
{
	const char *special = address_special(&network->address);

	for (size_t i = 0; i < n && special == NULL; i++)
		if (blocks[i].what != NULL && blocks[i].prefix >= network->prefix &&
		    has_prefix(blocks[i].bytes, network->address.bytes, network->prefix))
			special = blocks[i].what;
	return special;
}

const char *network_special(const struct network *network)
{
	size_t n4 = sizeof(blocks4) / sizeof(blocks4[0]), n6 = sizeof(blocks6) / sizeof(blocks6[0]);
	const char *special;

	if (network->address.family == 4)
		return special_within(network, blocks4, n4);
	special = special_within(network, blocks6, n6);

	/* One that carries IPv4 addresses, or a part of it: judge what it carries. */
	const struct block *block = find_block(blocks6, n6, network->address.bytes);
	struct network inner = { .prefix = 0 };

	if (special != NULL || block->what == NULL || block->inside < 0)
		return special;
	inner.address = address_from_bytes(network->address.bytes + block->inside, 4);
	inner.prefix = (uint8_t)(network->prefix - block->inside * 8);
	if (inner.prefix > 32)
		inner.prefix = 32;
	return special_within(&inner, blocks4, n4);
}

/* Copy what stands before @end of @text into @head, without the brackets of an IPv6 address. */
static int cut_head(const char *text, const char *end, char head[ADDRESS_TEXT_SIZE])
{
	if (*text == '[') {
		if (end[-1] != ']')
			return -EINVAL;
		text++;
		end--;
	}
	size_t len = (size_t)(end - text);

	if (len == 0 || len >= ADDRESS_TEXT_SIZE)
		return -EINVAL;
	memcpy(head, text, len);
	head[len] = '\0';
	return 0;
}

int endpoint_parse(const char *text, uint16_t default_port, struct endpoint *ret_endpoint)
{
	struct endpoint endpoint = { .port = default_port };
	char head[ADDRESS_TEXT_SIZE];
	const char *colon = strrchr(text, ':');
	bool bracketed = *text == '[';

	if (address_parse(text, &endpoint.address) == 0) {
		*ret_endpoint = endpoint;
		return 0;
	}
	if (colon == NULL || colon == text || (bracketed && colon[-1] != ']'))
		colon = text + strlen(text);
	if (cut_head(text, colon, head) < 0 || address_parse(head, &endpoint.address) < 0)
		return -EINVAL;
	if ((endpoint.address.family == 6) != bracketed)
		return -EINVAL;
	if (*colon == ':') {
		int port = read_number(colon + 1, UINT16_MAX);

		if (port <= 0)
			return -EINVAL;
		endpoint.port = (uint16_t)port;
	}
	*ret_endpoint = endpoint;
	return 0;
}

void endpoint_print(const struct endpoint *endpoint, char text[ENDPOINT_TEXT_SIZE])
{
	char address[ADDRESS_TEXT_SIZE];

	address_print(&endpoint->address, address);
	snprintf(text, ENDPOINT_TEXT_SIZE, endpoint->address.family == 6 ? "[%s]:%u" : "%s:%u",
		 address, endpoint->port);
}

bool endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && address_equal(&a->address, &b->address);
}

bool address_is_mapped(const struct address *address)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return address->family == 6 && memcmp(address->bytes, mapped, sizeof(mapped)) == 0;
}

bool address_is_unspecified(const struct address *address)
{
	return address_equal(address, &(struct address){ .family = address->family });
}

bool address_is_loopback(const struct address *address)
{
	const char *special = address_special(address);

	return special != NULL && strcmp(special, "loopback") == 0;
}

bool endpoint_reaches(const struct endpoint *to, const struct endpoint *listen)
{
	if (endpoint_equal(to, listen))
		return true;
	return to->port == listen->port && to->address.family == listen->address.family &&
	       address_is_unspecified(&listen->address) &&
	       (address_is_loopback(&to->address) || address_is_unspecified(&to->address));
}

socklen_t endpoint_to_sockaddr(const struct endpoint *endpoint,
			       struct sockaddr_storage *ret_sockaddr)
{
	memset(ret_sockaddr, 0, sizeof(*ret_sockaddr));
	if (endpoint->address.family == 4) {
		struct sockaddr_in *in = (struct sockaddr_in *)ret_sockaddr;

		in->sin_family = AF_INET;
		in->sin_port = htons(endpoint->port);
		memcpy(&in->sin_addr, endpoint->address.bytes, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret_sockaddr;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(endpoint->port);
	memcpy(&in6->sin6_addr, endpoint->address.bytes, 16);
	return sizeof(*in6);
}

struct endpoint endpoint_from_sockaddr(const struct sockaddr_storage *sockaddr)
{
	struct endpoint endpoint = { .port = 0 };

	if (sockaddr->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)sockaddr;

		endpoint.address = address_from_bytes((const uint8_t *)&in->sin_addr, 4);
		endpoint.port = ntohs(in->sin_port);
	} else if (sockaddr->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)sockaddr;
		bool mapped = IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);

		endpoint.address = address_from_bytes(in6->sin6_addr.s6_addr + (mapped ? 12 : 0),
						      mapped ? 4 : 16);
		endpoint.port = ntohs(in6->sin6_port);
	}
	return endpoint;
}
