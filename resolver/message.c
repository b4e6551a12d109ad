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
		if (head->data_len != wanted)
			return 0;
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
	}
	return 0;
}

/* The negative TTL is all that is taken of an SOA: its names are the upstream's bytes. */
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

static int read_rest(struct reader *r, unsigned n_authorities, unsigned n_additional)
{
	struct record_head head;
	bool edns = false;

	while (n_authorities-- > 0) {
		if (read_head(r, &head) < 0)
			return -EBADMSG;
		if (head.type == WIRE_SOA && head.class == WIRE_IN && read_soa(r, &head) < 0)
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
	if (name_read(&r->c, &asked) < 0 || cursor_take(&r->c, 4) == NULL)
		return -EBADMSG;
	if (r->message->truncated)
		return 0; /* it is asked again over TCP: what is cut is not read */
	status = read_answers(r, n_answers);
	return status < 0 ? status : read_rest(r, n_authorities, n_additional);
}

int message_read(const uint8_t *bytes, size_t len, struct message *ret_message)
{
	struct message message = { .rcode = 0 };
	struct reader reader = { bytes, cursor_over(bytes, len), &message };
	int r = read_sections(&reader);

	if (r < 0) {
		message_done(&message);
		return r;
	}
	*ret_message = message;
	return 0;
}

void message_done(struct message *message)
{
	free(message->records);
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
