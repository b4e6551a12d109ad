/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <libmnl/libmnl.h>
#include <libnftnl/set.h>
#include "base/err.h"
#include "lease/rule.h"
#include "lease/transaction.h"

/*
 * The messages of a ruleset, one after the other into one transaction. The
 * first failure stays: whatever is put after it is ignored, and status says at
 * the end what it was.
 */
struct messages {
	const struct ruleset *ruleset;
	struct transaction t;
	uint32_t n_sets; /* they are told apart by number until they are named */
	int status;

	/* What the next message is about, for people: the kind and name of a thing ... */
	const char *kind, *name;
	const struct rule *rule; /* ... or a rule in the chain that is named */

	/* The number of a message that was refused: what it is about is said here. 0: none was. */
	uint32_t refused;
	struct err *what;
};

/* How nft is to read the bytes of keys. */
enum {
	MESSAGE_ORDER_MIXED = 0,
	MESSAGE_ORDER_HOST = 1,
	MESSAGE_ORDER_NETWORK = 2,
};

/* Note in @messages that something has failed with @status, a negative errno. */
void message_fail(struct messages *messages, int status);

/* True if @object was made; if it is NULL there was no memory, which @messages notes. */
bool message_made(struct messages *messages, const void *object);

/* Begin a message of @type with @flags in @messages. Gives NULL if something has failed. */
struct nlmsghdr *message_begin(struct messages *messages, uint16_t type, uint16_t flags);

/* Put the message @header, which message_begin() gave and which is filled in, into @messages. */
void message_put(struct messages *messages, const struct nlmsghdr *header);

/*
 * Begin a set of the table that @messages are for: @name, with @flags of nf_tables, and keys of
 * @key_bytes that nft knows by the number @type and in @order.
 *
 * Gives  the set, which the caller frees; or NULL if something has failed.
 */
struct nftnl_set *message_set_new(struct messages *messages, const char *name, uint32_t flags,
				  uint32_t type, uint32_t order, uint32_t key_bytes);

/* Put @set, of at most @size elements, into @messages. */
void message_set_put(struct messages *messages, struct nftnl_set *set, uint32_t size);

/* Add the element with @key of @key_bytes to @set. Gives NULL if something has failed. */
struct nftnl_set_elem *message_element_add(struct messages *messages, struct nftnl_set *set,
					   const void *key, uint32_t key_bytes);

/* Put the elements of @set into @messages. */
void message_elements_put(struct messages *messages, const struct nftnl_set *set);
