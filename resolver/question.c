/* SPDX-License-Identifier: MIT */
#include "resolver/question.h"

#include <string.h>
#include "base/cursor.h"
#include "resolver/wire.h"

/* How many records a message says it has. */
struct counts {
	uint16_t questions, answers, authorities, additional;
};

/* Step over a name that may be compressed. Gives true if it is the root, written as such. */
static bool skip_name(struct cursor *c)
{
	uint8_t len = cursor_u8(c);

	if (len == 0)
		return !c->broken;
	while (len > 0 && len <= NAME_LABEL_MAX) {
		cursor_take(c, len);
		len = cursor_u8(c);
	}
	if (len >= 0xc0)
		cursor_u8(c);
	else if (len > NAME_LABEL_MAX)
		c->broken = true;
	return false;
}

static bool cookie_length_is_possible(uint16_t len)
{
	return len == COOKIE_CLIENT || (len >= 16 && len <= COOKIE_BYTES_MAX);
}

/*
 * Read the options of an OPT record; those that mean nothing to us must add up, too. Of two
 * cookies the first counts (RFC 7873, 5.2).
 */
static bool read_options(struct cursor options, bool tcp, struct question *question)
{
	while (cursor_left(&options) > 0) {
		uint16_t code = cursor_u16(&options);
		uint16_t len = cursor_u16(&options);
		const uint8_t *data = cursor_take(&options, len);

		if (data == NULL)
			return false;
		if (code == WIRE_OPTION_COOKIE) {
			if (!cookie_length_is_possible(len))
				return false;
			if (question->cookie_len == 0)
				memcpy(question->cookie, data, len);
			if (question->cookie_len == 0)
				question->cookie_len = (uint8_t)len;
		} else if (code == WIRE_OPTION_KEEPALIVE && tcp) {
			if (len > 0)
				return false;
			question->keepalive = true;
		}
	}
	return true;
}

/* Read one record of the additional section; the OPT record is the only one that says anything. */
static enum question_fault read_additional(struct cursor *c, bool tcp, struct question *question)
{
	bool root = skip_name(c);
	uint16_t type = cursor_u16(c);
	uint16_t class = cursor_u16(c);
	uint32_t ttl = cursor_u32(c);
	struct cursor data = cursor_part(c, cursor_u16(c));

	if (c->broken)
		return QUESTION_FORMERR;
	if (type != WIRE_OPT)
		return QUESTION_FINE;
	if (question->edns)
		return QUESTION_FORMERR;
	question->edns = true;
	question->dnssec_ok = ttl & 0x8000;
	question->udp_size = class;
	if (!root)
		return QUESTION_FORMERR;
	/* What the options of another version look like is not known. */
	if (ttl >> 16 & 0xff)
		return QUESTION_BADVERS;
	return read_options(data, tcp, question) ? QUESTION_FINE : QUESTION_FORMERR;
}

/* Read @n records and nothing behind them. */
static enum question_fault read_all_additional(struct cursor *c, unsigned n, bool tcp,
					       struct question *question)
{
	enum question_fault worst = QUESTION_FINE;

	while (n-- > 0) {
		enum question_fault fault = read_additional(c, tcp, question);

		if (fault == QUESTION_FORMERR)
			return fault;
		if (fault != QUESTION_FINE)
			worst = fault;
	}
	return cursor_left(c) == 0 ? worst : QUESTION_FORMERR;
}

static void skip_records(struct cursor *c, unsigned n)
{
	while (n-- > 0 && !c->broken) {
		skip_name(c);
		cursor_take(c, 8);
		cursor_take(c, cursor_u16(c));
	}
}

/*
 * Read a message of unusual shape: it is refused, but the OPT record that is in it is answered
 * with one, so that the client does not think that there is no EDNS here (RFC 6891, 7).
 */
static enum question_fault read_odd(struct cursor *c, const struct counts *counts, bool tcp,
				    struct question *question)
{
	bool transfer = counts->questions == 1 && counts->answers == 0 && counts->authorities == 1;
	uint16_t type = 0;

	for (unsigned n = counts->questions; n > 0 && !c->broken; n--) {
		skip_name(c);
		type = cursor_u16(c);
		cursor_u16(c);
	}
	skip_records(c, (unsigned)counts->answers + counts->authorities);
	enum question_fault fault = read_all_additional(c, counts->additional, tcp, question);

	if (question->flags & WIRE_OPCODE)
		return QUESTION_NOTIMP;
	if (fault != QUESTION_FINE)
		return fault;
	if (transfer && type == WIRE_IXFR)
		return QUESTION_TRANSFER;
	if (counts->questions + counts->answers + counts->authorities == 0 &&
	    question->cookie_len > 0)
		return QUESTION_COOKIE;
	return QUESTION_FORMERR;
}

/* Whether @type is one that can be asked for; ANY is. */
static enum question_fault judge_type(uint16_t type)
{
	switch (type) {
	case 0:
	case WIRE_OPT:
	case WIRE_TSIG:
	case WIRE_NXNAME:
		return QUESTION_META;
	case WIRE_TKEY:
	case WIRE_MAILA:
	case WIRE_MAILB:
		return QUESTION_OBSOLETE;
	case WIRE_AXFR:
	case WIRE_IXFR:
		return QUESTION_TRANSFER;
	default:
		return QUESTION_FINE;
	}
}

/* Read the rest of a message of the usual shape: one question, and additional records. */
static enum question_fault read_query(struct cursor *c, unsigned n_additional, bool tcp,
				      struct question *question)
{
	const uint8_t *start = c->at;

	if (name_read(c, &question->name) < 0)
		return QUESTION_FORMERR;
	question->type = cursor_u16(c);
	question->class = cursor_u16(c);
	if (c->broken)
		return QUESTION_FORMERR;
	question->echo_len = (uint16_t)(c->at - start);
	memcpy(question->echo, start, question->echo_len);

	enum question_fault fault = read_all_additional(c, n_additional, tcp, question);

	if (fault != QUESTION_FINE)
		return fault;
	return question->class == WIRE_IN ? judge_type(question->type) : QUESTION_CLASS;
}

enum question_fault question_read(const uint8_t *bytes, size_t len, bool tcp,
				  struct question *ret_question)
{
	struct cursor c = cursor_over(bytes, len);
	struct question *question = ret_question;
	struct counts counts;
	enum question_fault fault;

	question->id = cursor_u16(&c);
	question->flags = cursor_u16(&c);
	counts.questions = cursor_u16(&c);
	counts.answers = cursor_u16(&c);
	counts.authorities = cursor_u16(&c);
	counts.additional = cursor_u16(&c);

	question->echo_len = 0;
	question->edns = question->dnssec_ok = question->keepalive = false;
	question->cookie_len = 0;
	question->cookie_is_bad = false;
	question->udp_size = LIMIT_UDP_PLAIN_BYTES;
	if (c.broken || question->flags & WIRE_QR)
		return QUESTION_DROP;
	if (len > LIMIT_QUERY_BYTES)
		return question->flags & WIRE_OPCODE ? QUESTION_NOTIMP : QUESTION_FORMERR;
	if (counts.questions != 1 || counts.answers > 0 || counts.authorities > 0 ||
	    question->flags & WIRE_OPCODE)
		fault = read_odd(&c, &counts, tcp, question);
	else
		fault = read_query(&c, counts.additional, tcp, question);
	if (fault == QUESTION_FORMERR || fault == QUESTION_NOTIMP) {
		question->keepalive = false;
		question->cookie_len = 0;
		question->cookie_is_bad = false;
	}
	return fault;
}
