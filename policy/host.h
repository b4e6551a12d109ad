/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/address.h"
#include "base/err.h"
#include "base/name.h"

/* Hosts, as `host =` lists them. */

enum host_kind {
	HOST_NAME,     /* that name alone */
	HOST_WILDCARD, /* every name below it, at any depth, and not itself */
	HOST_LITERAL,  /* an address or a network */
};

struct host {
	enum host_kind kind;
	unsigned line;
	const char *text;       /* as it was written */
	const uint8_t *wire;    /* of a name or a wildcard; `*` alone has the root's */
	uint8_t len, labels;    /* of it, as in struct name */
	struct network network; /* of a literal */
};

/* What host_parse() reads before it is packed into a struct host. */
struct host_parsed {
	enum host_kind kind;
	struct name name;
	struct network network;
};

/*
 * Parse @text: a name, a wildcard, an address or a network.
 *
 * Fails  -EINVAL and @err: why it is none of these.
 */
int host_parse(const char *text, struct host_parsed *ret_parsed, struct err *err)
	__attribute__((warn_unused_result));

/* Unpack the name of @host, or of what a wildcard stands before; false if it is an address. */
bool host_name(const struct host *host, struct name *ret_name);

/*
 * How many of the last labels of @name are its registered domain: a public suffix and one more.
 *
 * Gives  0 if it has none: it is a public suffix, or the root.
 * Never  allocates.
 */
unsigned host_domain_labels(const struct name *name);

/* True if @name is a public suffix, such as `com` or `co.uk`, or has no label. */
bool host_is_public_suffix(const struct name *name);
