/* SPDX-License-Identifier: MIT */
#include "resolver/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cursor.h"
#include "base/limits.h"
#include "base/own.h"
#include "resolver/wire.h"

/* Follow the pointer whose first byte is @high, to a place before @limit. */
static int follow_pointer(const uint8_t *start, struct cursor *c, uint8_t high, size_t *limit)
{
	size_t to = (size_t)(high & 0x3f) << 8 | cursor_u8(c);

	if (c->broken || to < WIRE_HEADER || to >= *limit)
		return -EBADMSG;
	c->at = start + to;
	*limit = to;
	return 0;
}

/*
 * Read a name that may be compressed off @c, which reads the message at @start.
 *
 * @c stands behind the name's first pointer afterwards, or behind its end.
 */
static int read_name(const uint8_t *start, struct cursor *c, struct name *ret_name)
{
	struct cursor at = *c; /* where the labels are now */
	size_t limit = (size_t)(c->at - start);
	unsigned used = 0, labels = 0, hops = 0;

	for (;;) {
		uint8_t len = cursor_u8(&at);

		if (len >= 0xc0) {
			if (hops++ == LIMIT_POINTER_HOPS ||
			    follow_pointer(start, &at, len, &limit) < 0)
				return -EBADMSG;
			if (hops == 1)
				cursor_take(c, 2);
			continue;
		}
		const uint8_t *label = cursor_take(&at, len);

		if (at.broken || len > NAME_LABEL_MAX || used + 1 + len > NAME_WIRE_MAX)
			return -EBADMSG;
		if (hops == 0)
			cursor_take(c, 1 + (size_t)len);
		ret_name->wire[used++] = len;
		if (len == 0)
			break;
		for (unsigned i = 0; i < len; i++)
			ret_name->wire[used++] = name_lower(label[i]);
		labels++;
	}
	ret_name->len = (uint8_t)used;
	ret_name->labels = (uint8_t)labels;
	return 0;
}

/* A reader of one message. */
struct reader {
	const uint8_t *start;
	struct cursor c;
	struct message *message;
	uint8_t *data; /* where the next proof's data goes, in message->proof_data; NULL: nowhere */
	bool partial;  /* something was passed over that a signature may speak of */
};

/* A record up to its data; @data stands at it, and the reader behind it. */
struct record_head {
	struct name owner;
	uint16_t type, class, data_len;
	uint32_t ttl_s;
	struct cursor data;
};

static int read_head(struct reader *r, struct record_head *head)
{
	if (read_name(r->start, &r->c, &head->owner) < 0)
		return -EBADMSG;
	head->type = cursor_u16(&r->c);
	head->class = cursor_u16(&r->c);
	head->ttl_s = cursor_u32(&r->c);
	head->data_len = cursor_u16(&r->c);
	head->data = cursor_part(&r->c, head->data_len);
	if (head->ttl_s > INT32_MAX && head->type != WIRE_OPT)
		head->ttl_s = 0;
	return r->c.broken ? -EBADMSG : 0;
}

/* Keep the record of @head, if it is one that is wanted. */
static int keep_answer(struct reader *r, struct record_head *head)
{
	struct message_record *record = &r->message->records[r->message->n_records];
	size_t wanted = head->type == WIRE_A ? 4 : 16;

	switch (head->type) {
	case WIRE_A:
	case WIRE_AAAA:
		if (head->data_len != wanted) {
			r->partial = true;
			return 0;
		}
		record->address = address_from_bytes(head->data.at, wanted);
		break;
	case WIRE_CNAME:
	case WIRE_DNAME:
		if (read_name(r->start, &head->data, &record->target) < 0 ||
		    cursor_left(&head->data) > 0)
			return -EBADMSG;
		break;
	default:
		return 0;
	}
	record->owner = head->owner;
	record->type = head->type;
	record->ttl_s = head->ttl_s;
	r->message->n_records++;
	return 0;
}

/*
 * Keep the record of @head as a proof, with its data behind @names names that are written out
 * and in lower case, as they are signed (RFC 4034, 6.2).
 */
static int keep_proof(struct reader *r, struct record_head *head, unsigned names, bool authority)
{
	struct message_proof *proof;
	struct cursor data = head->data;
	uint8_t *to = r->data;
	struct name name;

	if (r->data == NULL)
		return 0;
	if (r->message->n_proofs == LIMIT_PROOF_RECORDS) {
		r->partial = true;
		return 0;
	}
	while (names-- > 0) {
		if (read_name(r->start, &data, &name) < 0)
			return -EBADMSG;
		memcpy(to, name.wire, name.len);
		to += name.len;
	}
	memcpy(to, data.at, cursor_left(&data));
	to += cursor_left(&data);
	proof = &r->message->proofs[r->message->n_proofs];
	proof->owner = head->owner;
	proof->type = head->type;
	proof->authority = authority;
	proof->data = r->data;
	proof->data_len = (uint16_t)(to - r->data);
	r->data = to;
	r->message->n_proofs++;
	return 0;
}

/* An RRSIG: 18 bytes, the signer's name as it stands (RFC 4034, 3.1.7), the signature. */
static int keep_signature(struct reader *r, struct record_head *head, bool authority)
{
	struct cursor data = head->data;
	unsigned before = r->message->n_proofs;
	uint16_t covered = cursor_u16(&data);
	struct name signer;

	cursor_take(&data, 2);
	uint32_t original_ttl_s = cursor_u32(&data);

	cursor_take(&data, 10);
	if (data.broken || name_read(&data, &signer) < 0)
		return -EBADMSG;
	int status = keep_proof(r, head, 0, authority);

	if (r->message->n_proofs > before) {
		r->message->proofs[before].covered = covered;
		r->message->proofs[before].signer = signer;
		r->message->proofs[before].original_ttl_s = original_ttl_s;
	}
	return status;
}

static int read_answers(struct reader *r, unsigned n)
{
	struct record_head head;

	r->message->records = calloc(n > 0 ? n : 1, sizeof(r->message->records[0]));
	if (r->message->records == NULL)
		return -ENOMEM;
	while (n-- > 0) {
		if (read_head(r, &head) < 0)
			return -EBADMSG;
		if (head.class != WIRE_IN)
			continue;
		if (keep_answer(r, &head) < 0)
			return -EBADMSG;
		if (head.type == WIRE_RRSIG && r->data != NULL &&
		    keep_signature(r, &head, false) < 0)
			return -EBADMSG;
	}
	return 0;
}

/* The negative TTL is all that is taken of an SOA that is no proof. */
static int read_soa(struct reader *r, struct record_head *head)
{
	struct name mname, rname;

	if (read_name(r->start, &head->data, &mname) < 0 ||
	    read_name(r->start, &head->data, &rname) < 0)
		return -EBADMSG;
	cursor_take(&head->data, 16);
	uint32_t minimum = cursor_u32(&head->data);

	if (head->data.broken)
		return -EBADMSG;
	r->message->has_soa = true;
	r->message->negative_ttl_s = minimum < head->ttl_s ? minimum : head->ttl_s;
	return 0;
}

/* An NSEC or NSEC3 whose data is no longer than what its lengths say is not looked into further. */
static int keep_denial(struct reader *r, struct record_head *head)
{
	struct cursor data = head->data;
	struct name next;

	if (r->data == NULL)
		return 0;
	if (head->type == WIRE_NSEC) {
		if (name_read(&data, &next) < 0)
			return -EBADMSG;
	} else {
		cursor_take(&data, 4);
		cursor_take(&data, cursor_u8(&data)); /* the salt ... */
		cursor_take(&data, cursor_u8(&data)); /* ... and the next hash (RFC 5155, 3.2) */
	}
	return data.broken ? -EBADMSG : keep_proof(r, head, 0, true);
}

static int read_authority(struct reader *r, struct record_head *head)
{
	struct record_head whole = *head;

	if (head->class != WIRE_IN)
		return 0;
	switch (head->type) {
	case WIRE_SOA:
		if (read_soa(r, head) < 0)
			return -EBADMSG;
		if (cursor_left(&head->data) == 0)
			return keep_proof(r, &whole, 2, true);
		r->partial = true;
		return 0;
	case WIRE_NSEC:
	case WIRE_NSEC3:
		return keep_denial(r, head);
	case WIRE_RRSIG:
		return r->data != NULL ? keep_signature(r, head, true) : 0;
	default:
		return 0;
	}
}

static int read_rest(struct reader *r, unsigned n_authorities, unsigned n_additional)
{
	struct record_head head;
	bool edns = false;

	while (n_authorities-- > 0) {
		if (read_head(r, &head) < 0)
			return -EBADMSG;
		if (read_authority(r, &head) < 0)
			return -EBADMSG;
	}
	while (n_additional-- > 0) {
		if (read_head(r, &head) < 0)
			return -EBADMSG;
		if (head.type != WIRE_OPT)
			continue;
		if (edns || head.owner.labels > 0)
			return -EBADMSG;
		edns = true;
		r->message->rcode |= (uint16_t)(head.ttl_s >> 24 << 4);
	}
	return cursor_left(&r->c) == 0 ? 0 : -EBADMSG;
}

static int read_sections(struct reader *r)
{
	cursor_u16(&r->c);
	uint16_t flags = cursor_u16(&r->c);
	uint16_t n_questions = cursor_u16(&r->c);
	uint16_t n_answers = cursor_u16(&r->c);
	uint16_t n_authorities = cursor_u16(&r->c);
	uint16_t n_additional = cursor_u16(&r->c);
	struct name asked;
	int status;

	if (r->c.broken || n_questions != 1 ||
	    n_answers + n_authorities + n_additional > LIMIT_MESSAGE_RECORDS)
		return -EBADMSG;
	r->message->rcode = flags & WIRE_RCODE;
	r->message->truncated = flags & WIRE_TC;
	r->message->authentic = flags & WIRE_AD;
	if (name_read(&r->c, &asked) < 0 || cursor_take(&r->c, 4) == NULL)
		return -EBADMSG;
	if (r->message->truncated)
		return 0; /* it is asked again over TCP: what is cut is not read */
	status = read_answers(r, n_answers);
	return status < 0 ? status : read_rest(r, n_authorities, n_additional);
}

/* Make room for proofs: names that are written out are at most this much longer than they were. */
static int make_room(struct reader *r, size_t len)
{
	const size_t grown = (size_t)2 * LIMIT_PROOF_RECORDS * NAME_WIRE_MAX;

	r->message->proofs = calloc(LIMIT_PROOF_RECORDS, sizeof(r->message->proofs[0]));
	r->message->proof_data = malloc(len + grown);
	if (r->message->proofs == NULL || r->message->proof_data == NULL)
		return -ENOMEM;
	r->data = r->message->proof_data;
	return 0;
}

int message_read(const uint8_t *bytes, size_t len, bool proofs, struct message *ret_message)
{
	struct message message = { .rcode = 0 };
	struct reader reader = { .start = bytes,
				 .c = cursor_over(bytes, len),
				 .message = &message };
	int r = proofs ? make_room(&reader, len) : 0;

	if (r == 0)
		r = read_sections(&reader);
	if (r < 0) {
		message_done(&message);
		return r;
	}
	if (reader.partial) {
		message.n_proofs = 0;
		message.authentic = false;
	}
	*ret_message = message;
	return 0;
}

void message_done(struct message *message)
{
	free(message->records);
	free(message->proofs);
	free(message->proof_data);
	*message = (struct message){ .rcode = 0 };
}

enum message_match message_compare(const uint8_t *bytes, size_t len, const uint8_t *query,
				   size_t question_end)
{
	enum message_match match = MESSAGE_ANSWER;

	if (len < question_end || memcmp(bytes, query, 2) != 0)
		return MESSAGE_OTHER;
	if ((bytes[2] & 0xf8) != 0x80 || bytes[4] != 0 || bytes[5] != 1)
		return MESSAGE_OTHER;
	for (size_t i = WIRE_HEADER; i < question_end; i++) {
		if (bytes[i] == query[i])
			continue;
		/* Type and class follow the name: their bytes have no case. */
		if (i >= question_end - 4 || name_lower(bytes[i]) != name_lower(query[i]))
			return MESSAGE_OTHER;
		match = MESSAGE_CASE;
	}
	return match;
}
