/* SPDX-License-Identifier: MIT */
#include "resolver/question.h"

#include <string.h>
#include "base/cursor.h"
#include "resolver/wire.h"

static bool cookie_length_is_possible(uint16_t len)
{
	return len == 8 || (len >= 16 && len <= 40);
}

/* Walk the options of an OPT record. None is needed; all must add up. */
static bool options_add_up(struct cursor options)
{
	while (cursor_left(&options) > 0) {
		uint16_t code = cursor_u16(&options);
		uint16_t len = cursor_u16(&options);

		if (code == WIRE_OPTION_COOKIE && !cookie_length_is_possible(len))
			return false;
		cursor_take(&options, len);
	}
	return !options.broken;
}

/* Read one record of the additional section; the OPT record is the only one that says anything. */
static enum question_fault read_additional(struct cursor *c, struct question *question)
{
	struct name owner;

	if (name_read(c, &owner) < 0)
		return QUESTION_FORMERR;
	uint16_t type = cursor_u16(c);
	uint16_t class = cursor_u16(c);
	uint32_t ttl = cursor_u32(c);
	struct cursor data = cursor_part(c, cursor_u16(c));

	if (c->broken)
		return QUESTION_FORMERR;
	if (type != WIRE_OPT)
		return QUESTION_FINE;
	if (question->edns || owner.labels > 0 || !options_add_up(data))
		return QUESTION_FORMERR;

	question->edns = true;
	question->dnssec_ok = ttl & 0x8000;
	question->udp_size = class;
	return ttl >> 16 & 0xff ? QUESTION_BADVERS : QUESTION_FINE;
}

static enum question_fault read_all_additional(struct cursor *c, unsigned n,
					       struct question *question)
{
	enum question_fault worst = QUESTION_FINE;

	while (n-- > 0) {
		enum question_fault fault = read_additional(c, question);

		if (fault == QUESTION_FORMERR) {
			question->edns = false;
			return fault;
		}
		if (fault != QUESTION_FINE)
			worst = fault;
	}
	return cursor_left(c) == 0 ? worst : QUESTION_FORMERR;
}

enum question_fault question_read(const uint8_t *bytes, size_t len, struct question *ret_question)
{
	struct cursor c = cursor_over(bytes, len);
	struct question *question = ret_question;

	question->id = cursor_u16(&c);
	question->flags = cursor_u16(&c);
	uint16_t n_questions = cursor_u16(&c);
	uint16_t n_answers = cursor_u16(&c);
	uint16_t n_authorities = cursor_u16(&c);
	uint16_t n_additional = cursor_u16(&c);

	question->echo_len = 0;
	question->edns = question->dnssec_ok = false;
	question->udp_size = LIMIT_UDP_PLAIN_BYTES;
	if (c.broken || question->flags & WIRE_QR)
		return QUESTION_DROP;
	if (question->flags & WIRE_OPCODE)
		return QUESTION_NOTIMP;
	if (n_questions != 1 || n_answers > 0 || n_authorities > 0 || len > LIMIT_QUERY_BYTES)
		return QUESTION_FORMERR;

	const uint8_t *start = c.at;

	if (name_read(&c, &question->name) < 0)
		return QUESTION_FORMERR;
	question->type = cursor_u16(&c);
	question->class = cursor_u16(&c);
	if (c.broken)
		return QUESTION_FORMERR;
	question->echo_len = (uint16_t)(c.at - start);
	memcpy(question->echo, start, question->echo_len);

	enum question_fault fault = read_all_additional(&c, n_additional, question);

	if (fault != QUESTION_FINE)
		return fault;
	return question->class == WIRE_IN ? QUESTION_FINE : QUESTION_REFUSED;
}
