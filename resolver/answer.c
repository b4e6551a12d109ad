/* SPDX-License-Identifier: MIT */
#include "resolver/answer.h"

#include <assert.h>
#include <string.h>
#include "resolver/proof.h"
#include "resolver/wire.h"

/* A writer that remembers that something did not fit; what did not is not there at all. */
struct writer {
	uint8_t *bytes;
	size_t used, size;
	bool full;
};

static uint8_t *reserve(struct writer *w, size_t len)
{
	uint8_t *at = w->bytes + w->used;

	if (w->full || w->size - w->used < len) {
		w->full = true;
		return NULL;
	}
	w->used += len;
	return at;
}

static void store_u16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void store_u32(uint8_t *at, uint32_t value)
{
	store_u16(at, value >> 16);
	store_u16(at + 2, value & 0xffff);
}

static void put_bytes(struct writer *w, const void *bytes, size_t len)
{
	uint8_t *at = reserve(w, len);

	if (at != NULL && len > 0)
		memcpy(at, bytes, len);
}

/* What stands between a record's owner and its data. */
static void store_head(uint8_t *at, uint16_t type, uint32_t ttl_s, size_t len)
{
	store_u16(at, type);
	store_u16(at + 2, WIRE_IN);
	store_u32(at + 4, ttl_s);
	store_u16(at + 8, (unsigned)len);
}

/* A record with its data: the owner is a pointer to @owner (RFC 1035, 4.1.4). */
static void put_record(struct writer *w, size_t owner, uint16_t type, uint32_t ttl_s,
		       const void *data, size_t len)
{
	uint8_t *at = reserve(w, 12 + len);

	if (at == NULL)
		return;
	store_u16(at, 0xc000u | (unsigned)owner);
	store_head(at + 2, type, ttl_s, len);
	memcpy(at + 12, data, len);
}

/* What is put of a proof, in order. */
struct proofs {
	const struct question *question;
	struct cursor left;
	struct proof_record next;
	bool more;
	bool signed_soa; /* there was one */
	uint32_t ttl_s;
};

/* Where in the message the @len bytes of @name stand as an end of the question; 0: nowhere. */
static size_t question_find(const struct question *question, const uint8_t *name, size_t len)
{
	size_t at = 0;

	while (question->name.len - at > len)
		at += 1u + question->name.wire[at];
	if (question->name.len - at != len || memcmp(question->name.wire + at, name, len) != 0)
		return 0;
	return WIRE_HEADER + at;
}

/*
 * A record of a proof, whose owner if it has none is at @owner. The end of an owner that is the
 * end of the question, too, is a pointer to there (RFC 1035, 4.1.4).
 */
__attribute__((cold)) static void put_proof(struct writer *w, const struct question *question,
					    const struct proof_record *record, size_t owner,
					    uint32_t ttl_s)
{
	size_t kept = 0, rest = record->owner_len;

	for (; rest > 1; rest -= 1u + record->owner[kept], kept += 1u + record->owner[kept]) {
		owner = question_find(question, record->owner + kept, rest);
		if (owner != 0)
			break;
	}
	uint8_t *at = reserve(w, kept);

	if (at != NULL && kept > 0)
		memcpy(at, record->owner, kept);
	if (record->owner_len == 0 || rest > 1) {
		put_record(w, owner, record->type, ttl_s, record->data, record->data_len);
		return;
	}
	at = reserve(w, 11u + record->data_len);
	if (at == NULL)
		return;
	at[0] = 0;
	store_head(at + 1, record->type, ttl_s, record->data_len);
	memcpy(at + 11, record->data, record->data_len);
}

__attribute__((cold)) static void
start_proofs(struct proofs *proofs, const struct question *question, const struct answer *answer)
{
	proofs->question = question;
	proofs->left = reply_proof(answer->chain);
	proofs->ttl_s = answer->ttl_s;
	proofs->more = proof_next(&proofs->left, &proofs->next);
}

/* The records of @proofs up to @place, those of the links and addresses at @owner. */
__attribute__((cold)) static void put_proofs(struct writer *w, struct proofs *proofs,
					     unsigned place, size_t owner, unsigned *count)
{
	while (proofs->more && proofs->next.place <= place) {
		put_proof(w, proofs->question, &proofs->next, owner, proofs->ttl_s);
		proofs->signed_soa |= proofs->next.type == WIRE_SOA;
		proofs->more = proof_next(&proofs->left, &proofs->next);
		++*count;
	}
}

/*
 * The CNAME links. The owner of the first is the question, that of each other is the target of
 * the one before. Gives where the last target stands, which is the owner of what follows.
 */
static size_t put_links(struct writer *w, const struct answer *answer, struct proofs *proofs,
			unsigned *count)
{
	const uint8_t *target = reply_links(answer->chain);
	size_t owner = WIRE_HEADER;

	for (unsigned i = 0; i < answer->chain->n_links; i++) {
		size_t len = 0;

		while (target[len] != 0)
			len += 1u + target[len];
		len++;
		if (proofs->more)
			put_proofs(w, proofs, proof_before(i), owner, count);
		put_record(w, owner, WIRE_CNAME, answer->ttl_s, target, len);
		++*count;

		size_t next = w->used - len;

		if (proofs->more)
			put_proofs(w, proofs, proof_behind(i), owner, count);
		owner = next;
		target += len;
	}
	return owner;
}

static void put_addresses(struct writer *w, const struct answer *answer, size_t owner,
			  unsigned *count)
{
	for (unsigned i = 0; i < answer->n_addresses; i++) {
		const struct address *address = &answer->addresses[i];

		put_record(w, owner, address->family == 4 ? WIRE_A : WIRE_AAAA, answer->ttl_s,
			   address->bytes, address_len(address));
		++*count;
	}
}

/*
 * The SOA of a negative answer. The name that is denied is the zone: nothing is claimed of
 * anything above it, and a cache keeps the answer as long as it says (RFC 2308, 5).
 */
static void put_soa(struct writer *w, const struct answer *answer, size_t owner)
{
	static const uint8_t names[] = "\011bailiwick\007invalid\0\006nobody\007invalid";
	uint8_t data[sizeof(names) + 20];
	uint8_t *numbers = data + sizeof(names);

	memcpy(data, names, sizeof(names));
	store_u32(numbers, 1);                  /* serial */
	store_u32(numbers + 4, 3600);           /* refresh */
	store_u32(numbers + 8, 600);            /* retry */
	store_u32(numbers + 12, 86400);         /* expire */
	store_u32(numbers + 16, answer->ttl_s); /* minimum: the TTL of the negative answer */
	put_record(w, owner, WIRE_SOA, answer->ttl_s, data, sizeof(data));
}

/*
 * The record in place of all records: who asks for ANY is not to be given more than that (RFC
 * 8482, 4.2).
 */
static void put_any(struct writer *w, const struct answer *answer, unsigned *count)
{
	static const uint8_t hinfo[] = "\7RFC8482"; /* and an operating system of no bytes */

	put_record(w, WIRE_HEADER, WIRE_HINFO, answer->ttl_s, hinfo, sizeof(hinfo));
	++*count;
}

/* Bytes of the OPT record, without the text of an Extended DNS Error. */
static size_t opt_len(const struct question *question, const struct answer *answer)
{
	size_t len = 11;

	if (answer->ede != WIRE_EDE_NONE)
		len += 6;
	if (question->cookie_len > 0)
		len += 4u + question->cookie_len;
	if (question->keepalive)
		len += 6;
	return len;
}

/* Write an option up to its data, of @len bytes. Gives where they go. */
static uint8_t *start_option(uint8_t *at, unsigned code, size_t len)
{
	store_u16(at, code);
	store_u16(at + 2, (unsigned)len);
	return at + 4;
}

/* The OPT record, with as much of the Extended DNS Error's text as fits (RFC 8914, 2). */
static void put_opt(struct writer *w, const struct question *question, const struct answer *answer)
{
	size_t len = opt_len(question, answer), text_len = 0;

	if (answer->ede != WIRE_EDE_NONE && answer->ede_text != NULL)
		text_len = strnlen(answer->ede_text, w->size - w->used - len);

	uint8_t *at = reserve(w, len + text_len);

	assert(at != NULL); /* answer_write() kept room for it */
	memset(at, 0, 11);
	store_u16(at + 1, WIRE_OPT);
	store_u16(at + 3, LIMIT_UDP_ANSWER_BYTES);
	at[5] = (uint8_t)(answer->rcode >> 4);
	store_u16(at + 7, question->dnssec_ok ? 0x8000 : 0);
	store_u16(at + 9, (unsigned)(len - 11 + text_len));
	at += 11;
	if (question->cookie_len > 0) {
		at = start_option(at, WIRE_OPTION_COOKIE, question->cookie_len);
		memcpy(at, question->cookie, question->cookie_len);
		at += question->cookie_len;
	}
	if (question->keepalive) {
		at = start_option(at, WIRE_OPTION_KEEPALIVE, 2);
		store_u16(at, ANSWER_KEEPALIVE_MS / 100);
		at += 2;
	}
	if (answer->ede != WIRE_EDE_NONE) {
		at = start_option(at, WIRE_OPTION_EDE, 2 + text_len);
		store_u16(at, (unsigned)answer->ede);
		if (text_len > 0)
			memcpy(at + 2, answer->ede_text, text_len);
	}
}

/*
 * Everything but the question and OPT. Gives how many records went into the answer section, and
 * in @ret_n_authorities into the authority section.
 */
static unsigned put_body(struct writer *w, const struct question *question,
			 const struct answer *answer, unsigned *ret_n_authorities)
{
	const struct reply *chain = answer->chain;
	struct proofs
		proofs; /* few answers have some, and the others go on as if there were none */
	size_t owner = WIRE_HEADER;
	unsigned n = 0;

	proofs.more = proofs.signed_soa = false;
	*ret_n_authorities = 0;
	if (chain != NULL) {
		if (chain->flags & REPLY_PROVED)
			start_proofs(&proofs, question, answer);
		owner = put_links(w, answer, &proofs, &n);
	}
	put_addresses(w, answer, owner, &n);
	if (answer->any)
		put_any(w, answer, &n);
	if (proofs.more && !answer->edited) {
		put_proofs(w, &proofs, PROOF_AUTHORITY - 1, owner, &n);
		put_proofs(w, &proofs, PROOF_AUTHORITY, owner, ret_n_authorities);
	}
	if (answer->soa && !proofs.signed_soa) {
		put_soa(w, answer, owner);
		++*ret_n_authorities;
	}
	return n;
}

static void write_header(const struct question *question, const struct answer *answer,
			 uint8_t *bytes, bool truncated)
{
	unsigned flags = WIRE_QR | WIRE_RA | (answer->rcode & WIRE_RCODE);

	flags |= question->flags & (WIRE_OPCODE | WIRE_RD | WIRE_CD);
	if (truncated)
		flags |= WIRE_TC;
	else if (answer->authentic)
		flags |= WIRE_AD;
	memset(bytes, 0, WIRE_HEADER);
	store_u16(bytes, question->id);
	store_u16(bytes + 2, flags);
	store_u16(bytes + 4, question->echo_len > 0);
	store_u16(bytes + 10, question->edns);
}

size_t answer_udp_limit(const struct question *question)
{
	if (!question->edns || question->udp_size < LIMIT_UDP_PLAIN_BYTES)
		return LIMIT_UDP_PLAIN_BYTES;
	if (question->udp_size > LIMIT_UDP_ANSWER_BYTES)
		return LIMIT_UDP_ANSWER_BYTES;
	return question->udp_size;
}

size_t answer_write(const struct question *question, const struct answer *answer, uint8_t *bytes,
		    size_t limit)
{
	struct writer w = { .bytes = bytes, .size = limit };
	unsigned n_answers, n_authorities;

	assert(limit >= LIMIT_UDP_PLAIN_BYTES);
	if (question->edns)
		w.size -= opt_len(question, answer);
	reserve(&w, WIRE_HEADER);
	put_bytes(&w, question->echo, question->echo_len);

	size_t body = w.used;

	n_answers = put_body(&w, question, answer, &n_authorities);

	bool truncated = w.full;

	if (truncated) {
		w.used = body;
		w.full = false;
	}
	write_header(question, answer, bytes, truncated);
	if (!truncated) {
		store_u16(bytes + 6, n_answers);
		store_u16(bytes + 8, n_authorities);
	}
	w.size = limit;
	if (question->edns)
		put_opt(&w, question, answer);
	return w.used;
}
