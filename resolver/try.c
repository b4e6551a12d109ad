/* SPDX-License-Identifier: MIT */
#include "resolver/try.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "resolver/message.h"
#include "resolver/reply.h"

enum {
	SPARE_MS = 600000, /* for how long a server is spared what it did not understand */
	OPT_BYTES = 11,    /* an OPT record without options */
	PAD_TO = 128,      /* the size of a query over TLS is a multiple of it (RFC 8467, 4.1) */
	WIRE_OPTION_PADDING = 12, /* RFC 7830, 3 */
};
static_assert(WIRE_HEADER + NAME_WIRE_MAX + 4 + OPT_BYTES + 4 <= TRY_QUERY_MAX &&
		      TRY_QUERY_MAX % PAD_TO == 0,
	      "the longest query fits, padded");

static uint64_t now_of(const struct try *try)
{
	return loop_now_ms(try->server->servers->loop);
}

/*
 * What came.
 */

/* The server did not understand the OPT record, or says so of all that it does not understand. */
static bool is_about_edns(uint16_t rcode)
{
	return rcode == WIRE_FORMERR || rcode == WIRE_NOTIMP;
}

/*
 * Some servers refuse what they do not understand with a bare header. Without the question it may
 * be forged by who only guesses the port and id, so that it ends nothing but this wait.
 */
static bool is_bare_refusal(const struct try *try, const uint8_t *bytes, size_t len)
{
	static const uint8_t no_counts[8];

	return len == WIRE_HEADER && memcmp(bytes, try->query + 2, 2) == 0 &&
	       (bytes[2] & 0xf8) == 0x80 && is_about_edns(bytes[3] & WIRE_RCODE) &&
	       memcmp(bytes + 4, no_counts, sizeof(no_counts)) == 0;
}

/* A referral, and from one who does not ask others for us: it is no resolver for this name. */
static bool is_lame(const uint8_t *bytes)
{
	static const uint8_t none[2];

	return (bytes[2] & 0x06) == 0 && bytes[3] == WIRE_NOERROR &&
	       memcmp(bytes + 6, none, 2) == 0;
}

/* Pass on what answers @try, unless it is of no use whoever asks. */
static void take_answer(struct try *try, const uint8_t *bytes, size_t len)
{
	struct server *server = try->server;
	uint16_t rcode = bytes[3] & WIRE_RCODE;

	if (is_about_edns(rcode))
		server->no_edns_until_ms = now_of(try) + SPARE_MS;
	if (rcode == WIRE_REFUSED || is_lame(bytes)) {
		server_failed(server, now_of(try), TRY_FAILED);
		try->heard(try, NULL, TRY_FAILED);
		return;
	}
	server_heard(server);
	try->heard(try, bytes, (long)len);
}

static void on_datagram(struct loop_udp *udp, const uint8_t *bytes, long len)
{
	struct try *try = list_owner(udp, struct try, udp);

	if (len < 0) {
		loop_udp_close(udp);
		server_failed(try->server, try->sent_ms, (int)len);
		try->heard(try, NULL, len);
		return;
	}
	if (is_bare_refusal(try, bytes, (size_t)len)) {
		try->server->no_edns_until_ms = now_of(try) + SPARE_MS;
		try->heard(try, NULL, TRY_FAILED);
		return;
	}
	switch (message_compare(bytes, (size_t)len, try->query + 2, try->question_end)) {
	case MESSAGE_OTHER:
		if (++try->n_wrong == LIMIT_WRONG_ANSWERS)
			try->heard(try, NULL, TRY_FORGED);
		return;
	case MESSAGE_CASE:
		try->server->one_case_until_ms = now_of(try) + SPARE_MS;
		try->heard(try, NULL, TRY_FAILED);
		return;
	case MESSAGE_ANSWER:
		take_answer(try, bytes, (size_t)len);
		return;
	}
}

static void on_stream(struct stream_ask *ask, const uint8_t *bytes, long len)
{
	struct try *try = list_owner(ask, struct try, ask);

	if (len >= 0) {
		take_answer(try, bytes, (size_t)len);
		return;
	}
	server_failed(try->server, try->sent_ms, (int)len);
	try->heard(try, NULL, len);
}

/*
 * What is sent.
 */

/* Write the OPT record at @at, for a query of @len bytes before it. Gives where it ends. */
static uint8_t *write_opt(const struct try *try, uint8_t *at, size_t len, bool dnssec_ok)
{
	size_t pad = 0;

	memcpy(at,
	       (const uint8_t[]){ 0, 0, WIRE_OPT, LIMIT_UDP_ANSWER_BYTES >> 8,
				  LIMIT_UDP_ANSWER_BYTES & 0xff, 0, 0, 0, 0, 0, 0 },
	       OPT_BYTES);
	if (dnssec_ok)
		at[7] = 0x80;
	at += OPT_BYTES;
	if (!try->server->tls)
		return at;
	pad = (PAD_TO - (len + OPT_BYTES + 4) % PAD_TO) % PAD_TO;
	at[-1] = (uint8_t)(4 + pad);
	memcpy(at, (const uint8_t[]){ 0, WIRE_OPTION_PADDING, 0, (uint8_t)pad }, 4);
	memset(at + 4, 0, pad);
	return at + 4 + pad;
}

/*
 * Write the query: nothing in it is a client's but the name, the type, and whether it wants
 * signatures or unchecked data. A trusted server is asked for AD (RFC 6840, 5.7).
 */
static void write_query(struct try *try, const struct name *name, uint32_t type)
{
	uint8_t random[2 + NAME_WIRE_MAX / 8 + 1];
	bool one_case = try->stream || now_of(try) < try->server->one_case_until_ms;
	uint8_t *at = try->query + 2;

	arc4random_buf(random, sizeof(random));
	memcpy(at, random, 2);
	memcpy(at + 2, (const uint8_t[]){ 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0 }, 10);
	if (server_is_trusted(try->server))
		at[3] |= WIRE_AD;
	if (type & ASK_CD)
		at[3] |= WIRE_CD;
	at += WIRE_HEADER;
	for (unsigned i = 0; i < name->len; i++) {
		bool letter = name->wire[i] >= 'a' && name->wire[i] <= 'z';
		bool raise = random[2 + i / 8] >> i % 8 & 1;

		*at++ = letter && raise && !one_case ? (uint8_t)(name->wire[i] & ~0x20u)
						     : name->wire[i];
	}
	memcpy(at, (const uint8_t[]){ (uint8_t)(type >> 8), (uint8_t)type, 0, WIRE_IN }, 4);
	at += 4;
	try->question_end = (uint16_t)(at - try->query - 2);
	if (now_of(try) >= try->server->no_edns_until_ms) {
		try->query[2 + WIRE_HEADER - 1] = 1;
		at = write_opt(try, at, try->question_end, type & ASK_DO);
	}
	try->len = (uint16_t)(at - try->query - 2);
	try->query[0] = (uint8_t)(try->len >> 8);
	try->query[1] = (uint8_t)try->len;
}

static int send_datagram(struct try *try)
{
	struct servers *servers = try->server->servers;
	int r = servers_take_socket(servers);

	if (r < 0)
		return r;
	r = loop_udp_open(servers->loop, &try->udp, &try->server->endpoint, on_datagram);
	if (r == 0)
		r = loop_udp_send(&try->udp, try->query + 2, try->len);
	if (r == 0)
		return 0;
	loop_udp_close(&try->udp);
	servers_give_socket(servers);
	return r;
}

int try_open(struct try *try, struct server *server, const struct name *name, uint32_t type,
	     bool stream, void (*heard)(struct try *try, const uint8_t *bytes, long len))
{
	int r;

	*try = (struct try){ .server = server, .stream = stream || server->tls, .heard = heard };
	try->sent_ms = now_of(try);
	write_query(try, name, type);
	if (try->stream) {
		try->ask.query = try->query;
		try->ask.len = try->len;
		try->ask.question_end = try->question_end;
		r = stream_ask(server, &try->ask, on_stream);
	} else {
		r = send_datagram(try);
	}
	if (r == 0) {
		server_use(server);
		return 0;
	}
	/* What failed on our side says nothing about the server. */
	if (r != -EBUSY && r != -ENOMEM && r != -EMFILE && r != -ENFILE)
		server_failed(server, try->sent_ms, r);
	try->server = NULL;
	return r;
}

void try_close(struct try *try)
{
	struct server *server = try->server;

	if (server == NULL)
		return;
	try->server = NULL;
	if (try->stream) {
		stream_forget(&try->ask);
	} else {
		loop_udp_close(&try->udp);
		servers_give_socket(server->servers);
	}
	server_release(server);
}
