/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libmnl/libmnl.h>

/*
 * Transactions of nf_tables on a lasting socket: messages between BEGIN and
 * END, of which all take effect or none.
 */
struct channel {
	struct mnl_socket *socket;
	uint32_t seq;
	size_t batch_bytes; /* what fits into one sendmsg() without asking for more ... */
	size_t batch_max;   /* ... and how many elements may fail at once */
	uint8_t *buffer;
	size_t buffer_bytes;
};

struct transaction {
	struct channel *channel;
	uint32_t first_seq;
	size_t used;
	size_t last; /* where the last message begins */
};

/* An element of a set. */
struct transaction_element {
	const char *table, *set;
	uint16_t family;
	const void *key;
	uint32_t key_len;
	uint64_t timeout_ms; /* 0: none */
	uint64_t expires_ms; /* 0: the same */
	const char *comment; /* NULL: none */
};

/* What one element takes at most of a transaction, its three messages if it is renewed. */
enum { TRANSACTION_ELEMENT_BYTES = 2048 };

/* Open @channel, which is all zero. Fails -errno; channel_done() is due in any case. */
int channel_open(struct channel *channel) __attribute__((warn_unused_result));

/* Close @channel; nothing happens if it is all zero. */
void channel_done(struct channel *channel);

/*
 * Send the one request @header on @channel, which is no transaction, and call @read with @arg for
 * each message of the answer.
 *
 * Fails  -errno: what the kernel or @read said.
 */
int channel_ask(struct channel *channel, const struct nlmsghdr *header, mnl_cb_t read, void *arg)
	__attribute__((warn_unused_result));

/* Begin a transaction on @channel. */
struct transaction transaction_begin(struct channel *channel);

/*
 * Make room in @transaction for one more message, of whatever size it is. Messages that were put
 * before may move. Where the caller knows that all of it fits into batch_bytes, none is needed.
 *
 * Fails  -ENOMEM.
 */
int transaction_reserve(struct transaction *transaction) __attribute__((warn_unused_result));

/* A message of @type and @family, with @flags, to be filled in and given to transaction_take(). */
struct nlmsghdr *transaction_put(struct transaction *transaction, uint16_t type, uint16_t family,
				 uint16_t flags);

/* Take @header, the last that was put, into @transaction. */
void transaction_take(struct transaction *transaction, const struct nlmsghdr *header);

/* Put @element into @transaction, to be added or deleted as @type says, with @flags. */
int transaction_put_element(struct transaction *transaction, uint16_t type,
			    const struct transaction_element *element, uint16_t flags)
	__attribute__((warn_unused_result));

/* Told of an @error about message number @i of a transaction; 0 is BEGIN. */
typedef void transaction_error_fn(void *arg, uint32_t i, int error);

/*
 * Send @transaction, and read its answers: @tell hears each error, with @arg.
 *
 * Fails  -EIO: it was not acknowledged; -ENOBUFS: answers were lost; -EMSGSIZE: it is larger than
 *        may be sent at once; -errno: not sent.
 */
int transaction_commit(struct transaction *transaction, transaction_error_fn *tell, void *arg)
	__attribute__((warn_unused_result));

/* transaction_commit() of @transaction, whose first error is the answer. */
int transaction_commit_whole(struct transaction *transaction) __attribute__((warn_unused_result));
