/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Internet addresses, networks and endpoints, and which of them are special. */

enum {
	ADDRESS_TEXT_SIZE = 46,  /* INET6_ADDRSTRLEN */
	NETWORK_TEXT_SIZE = 50,  /* with its /128 */
	ENDPOINT_TEXT_SIZE = 56, /* with its brackets and port */
};

struct address {
	uint8_t family;    /* 4 or 6; 0 is no address */
	uint8_t bytes[16]; /* network order; for IPv4 the first four, the rest zero */
};

/* Where an address is: all zero is unknown. */
struct origin {
	char country[3]; /* ISO 3166-1 alpha-2 and its NUL */
	uint32_t asn;    /* the number of the autonomous system that announces it */
};

struct network {
	struct address address; /* host bits zero */
	uint8_t prefix;         /* bits */
};

struct endpoint {
	struct address address;
	uint16_t port; /* host order */
};

/* How many bytes an address of @address's family has: 4 or 16. */
static inline size_t address_len(const struct address *address)
{
	return address->family == 4 ? 4 : 16;
}

/*
 * Parse @text: dotted quad, or RFC 4291 text without brackets or zone.
 *
 * Fails  -EINVAL: anything else, `127.1`, `0x7f.1`, `017700000001` and leading zeros among it.
 */
int address_parse(const char *text, struct address *ret_address)
	__attribute__((warn_unused_result));

/* Write @address into @text; IPv6 as RFC 5952 has it. */
void address_print(const struct address *address, char text[ADDRESS_TEXT_SIZE]);

/* True if @a and @b are the same address of the same family. */
bool address_equal(const struct address *a, const struct address *b);

/* The address of @len bytes (4 or 16) at @bytes, in network order. */
struct address address_from_bytes(const uint8_t *bytes, size_t len);

/*
 * Whether @address is special-purpose: anything that IANA's registries (RFC 6890 and its
 * successors) do not call globally reachable unicast, in any form that carries it: IPv4-mapped,
 * IPv4-compatible, NAT64 and 6to4 are judged by the IPv4 address inside, and mapped, compatible
 * and Teredo forms are special whatever they carry.
 *
 * Gives  NULL if it is ordinary, else the block's name in words, such as "loopback".
 */
const char *address_special(const struct address *address);

/*
 * Parse @text as `ADDRESS` or `ADDRESS/PREFIX`.
 *
 * Fails  -EINVAL: no network; -ERANGE: bits are set behind the prefix.
 */
int network_parse(const char *text, struct network *ret_network)
	__attribute__((warn_unused_result));

/*
 * Whether any address of @network is special-purpose, as address_special() has it.
 *
 * Gives  NULL if none is, else the name of one such block in words.
 */
const char *network_special(const struct network *network);

/* Write @network into @text, without the prefix if it is a single address. */
void network_print(const struct network *network, char text[NETWORK_TEXT_SIZE]);

/* True if @address lies in @network. */
bool network_contains(const struct network *network, const struct address *address);

/*
 * Parse @text as `1.2.3.4`, `1.2.3.4:53`, `::1` or `[::1]:53`; without a port, @default_port.
 *
 * Fails  -EINVAL: anything else, port 0 among it.
 */
int endpoint_parse(const char *text, uint16_t default_port, struct endpoint *ret_endpoint)
	__attribute__((warn_unused_result));

/* Write @endpoint into @text, IPv6 in brackets. */
void endpoint_print(const struct endpoint *endpoint, char text[ENDPOINT_TEXT_SIZE]);

/* True if @a and @b are the same address and port. */
bool endpoint_equal(const struct endpoint *a, const struct endpoint *b);

/*
 * True if who listens on @listen gets what is sent to @to on the same host: it is the same
 * endpoint, or @listen is the unspecified address (any of the host's) and @to is that or loopback.
 * Which other addresses the host has is not known here.
 */
bool endpoint_reaches(const struct endpoint *to, const struct endpoint *listen);

/* True if @address is this host to itself: in 127.0.0.0/8, or ::1. */
bool address_is_loopback(const struct address *address);

/* True if @address is IPv4-mapped: ::ffff:a.b.c.d (RFC 4291, 2.5.5.2). */
bool address_is_mapped(const struct address *address);

/* True if @address is 0.0.0.0 or ::. */
bool address_is_unspecified(const struct address *address);

/* Put @endpoint into @ret_sockaddr; give its length. */
socklen_t endpoint_to_sockaddr(const struct endpoint *endpoint,
			       struct sockaddr_storage *ret_sockaddr);

/* The endpoint in @sockaddr, an IPv4-mapped IPv6 one as IPv4; family 0 if it is neither. */
struct endpoint endpoint_from_sockaddr(const struct sockaddr_storage *sockaddr);
