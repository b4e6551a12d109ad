/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/address.h"
#include "base/name.h"

/*
 * Reading what an upstream sent: a bounded reader of our own that keeps the
 * records a forwarder of addresses needs, and lets nothing else by. A
 * compression pointer must lead strictly backwards, LIMIT_POINTER_HOPS times
 * at most, and LIMIT_MESSAGE_RECORDS records are walked at most, so that no
 * message is expensive.
 */

/* A record of the answer section: A, AAAA, CNAME or DNAME. */
struct message_record {
	struct name owner;
	uint16_t type;
	uint32_t ttl_s;         /* with the top bit set, 0 (RFC 2181, 8) */
	struct name target;     /* of CNAME and DNAME */
	struct address address; /* of A and AAAA */
};

/*
 * A record that proves something (RFC 4035): RRSIG, and of the authority section SOA, NSEC and
 * NSEC3.
 */
struct message_proof {
	struct name owner;
	uint16_t type;
	uint16_t covered;        /* by an RRSIG: the type that it signs ... */
	struct name signer;      /* ... the zone that signed ... */
	uint32_t original_ttl_s; /* ... and what the TTL was then */
	bool authority;
	uint16_t data_len;
	const uint8_t *data; /* without compression, in message->proof_data */
};

struct message {
	uint16_t rcode; /* with the upper bits of OPT */
	bool truncated;
	struct message_record *records; /* in the order of the message */
	unsigned n_records;
	struct message_proof *proofs; /* none if one that there was cannot be told whole */
	unsigned n_proofs;
	uint8_t *proof_data;
	bool authentic;          /* its sender calls it so (AD) */
	bool has_soa;            /* in the authority section ... */
	uint32_t negative_ttl_s; /* ... the smaller of its TTL and MINIMUM (RFC 2308, 5) */
};

/* How bytes that came back stand to a query that was sent. */
enum message_match {
	MESSAGE_OTHER = 0, /* no answer to it */
	MESSAGE_CASE,      /* an answer but for the letters' case of its name */
	MESSAGE_ANSWER,
};

/*
 * Compare the @len bytes at @bytes with the query that was sent: @query, whose question ends at
 * byte @question_end.
 *
 * It is the answer if the id, the opcode and the question are the same to the bit (RFC 5452, 9.1),
 * the letters' case of the name among them. The socket has seen to the address and port.
 */
enum message_match message_compare(const uint8_t *bytes, size_t len, const uint8_t *query,
				   size_t question_end);

/*
 * Read the @len bytes at @bytes into @ret_message; with @proofs, keep what proves it.
 *
 * A or AAAA records of another length than 4 or 16 bytes, and records of other classes or types,
 * are passed over.
 *
 * Fails  -EBADMSG: the bytes do not add up; -ENOMEM.
 * Owns   the caller calls message_done().
 */
int message_read(const uint8_t *bytes, size_t len, bool proofs, struct message *ret_message)
	__attribute__((warn_unused_result));

/* Free what @message holds. */
void message_done(struct message *message);
