/* SPDX-License-Identifier: MIT */
/* Reading what clients and upstreams send, and writing answers: each byte that may be wrong. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "resolver/answer.h"
#include "resolver/message.h"
#include "resolver/question.h"
#include "resolver/vet.h"
#include "resolver/wire.h"
#include <ldns/ldns.h>

/* A packet that is written byte by byte. */
struct packet {
	uint8_t bytes[70000];
	size_t len;
};

static void put(struct packet *p, const void *bytes, size_t len)
{
	assert_true(p->len + len <= sizeof(p->bytes));
	memcpy(p->bytes + p->len, bytes, len);
	p->len += len;
}

static void put_u16(struct packet *p, unsigned value)
{
	put(p, (const uint8_t[]){ (uint8_t)(value >> 8), (uint8_t)value }, 2);
}

static void put_u32(struct packet *p, uint32_t value)
{
	put_u16(p, value >> 16);
	put_u16(p, value & 0xffff);
}

static void put_header(struct packet *p, unsigned flags, unsigned qd, unsigned an, unsigned ns,
		       unsigned ar)
{
	p->len = 0;
	put_u16(p, 0x1234);
	put_u16(p, flags);
	put_u16(p, qd);
	put_u16(p, an);
	put_u16(p, ns);
	put_u16(p, ar);
}

static const uint8_t ok_name[] = "\2oK\7example\3com";

static void put_question(struct packet *p, unsigned type, unsigned class)
{
	put(p, ok_name, sizeof(ok_name));
	put_u16(p, type);
	put_u16(p, class);
}

static void put_opt(struct packet *p, unsigned size, unsigned version, unsigned flags,
		    const void *options, size_t len)
{
	put(p, "", 1);
	put_u16(p, WIRE_OPT);
	put_u16(p, size);
	put_u16(p, version);
	put_u16(p, flags);
	put_u16(p, (unsigned)len);
	put(p, options, len);
}

static void put_record(struct packet *p, unsigned owner, unsigned type, uint32_t ttl,
		       const void *data, size_t len)
{
	put_u16(p, 0xc000 | owner);
	put_u16(p, type);
	put_u16(p, WIRE_IN);
	put_u32(p, ttl);
	put_u16(p, (unsigned)len);
	put(p, data, len);
}

static struct question question;
static bool over_tcp;

static enum question_fault read_question(const struct packet *p)
{
	/* A copy of just the size, so that a read past the end is seen. */
	uint8_t *exact = malloc(p->len + !p->len);
	enum question_fault fault;

	memcpy(exact, p->bytes, p->len);
	fault = question_read(exact, p->len, over_tcp, &question);
	free(exact);
	return fault;
}

static void questions_that_are_fine(void **state)
{
	static struct packet p;
	static const uint8_t options[] = { 0, 3, 0, 0, 0xff, 0xff, 0, 1, 7, 0, 10,
					   0, 8, 1, 2, 3,    4,    5, 6, 7, 8 };

	(void)state;
	put_header(&p, WIRE_RD, 1, 0, 0, 0);
	put_question(&p, WIRE_A, WIRE_IN);
	assert_int_equal(read_question(&p), QUESTION_FINE);
	assert_int_equal(question.id, 0x1234);
	assert_int_equal(question.type, WIRE_A);
	assert_false(question.edns);
	assert_int_equal(question.udp_size, 512);
	assert_int_equal(question.echo_len, sizeof(ok_name) + 4);
	assert_memory_equal(question.echo, ok_name, sizeof(ok_name));
	assert_memory_equal(question.name.wire, "\2ok\7example\3com", sizeof(ok_name));

	/* With OPT: unknown options are passed over. The TC and Z bits say nothing. */
	put_header(&p, WIRE_RD | WIRE_TC | 0x40, 1, 0, 0, 1);
	put_question(&p, 65280, WIRE_IN);
	put_opt(&p, 1400, 0, 0x8000, options, sizeof(options));
	assert_int_equal(read_question(&p), QUESTION_FINE);
	assert_true(question.edns && question.dnssec_ok);
	assert_int_equal(question.udp_size, 1400);
	assert_int_equal(question.type, 65280);

	/* The root. */
	put_header(&p, 0, 1, 0, 0, 0);
	put(&p, "\0\0\2\0\1", 5);
	assert_int_equal(read_question(&p), QUESTION_FINE);
	assert_int_equal(question.name.labels, 0);
}

static void questions_that_are_dropped(void **state)
{
	static struct packet p;

	(void)state;
	put_header(&p, WIRE_RD, 1, 0, 0, 0);
	put_question(&p, WIRE_A, WIRE_IN);
	for (p.len = 0; p.len < WIRE_HEADER; p.len++)
		assert_int_equal(read_question(&p), QUESTION_DROP);
	put_header(&p, WIRE_QR | WIRE_RD, 1, 0, 0, 0);
	put_question(&p, WIRE_A, WIRE_IN);
	assert_int_equal(read_question(&p), QUESTION_DROP);
}

static void questions_that_are_malformed(void **state)
{
	static struct packet p;

	(void)state;
	/* Cut short anywhere. */
	put_header(&p, WIRE_RD, 1, 0, 0, 1);
	put_question(&p, WIRE_A, WIRE_IN);
	put_opt(&p, 1232, 0, 0, "\0\12\0\10abcdefgh", 12);
	assert_int_equal(read_question(&p), QUESTION_FINE);
	for (size_t whole = p.len - 1; whole >= WIRE_HEADER; whole--) {
		p.len = whole;
		assert_int_equal(read_question(&p), QUESTION_FORMERR);
		assert_false(question.edns);
	}
	/* A byte too many. */
	put_header(&p, WIRE_RD, 1, 0, 0, 0);
	put_question(&p, WIRE_A, WIRE_IN);
	put(&p, "", 1);
	assert_int_equal(read_question(&p), QUESTION_FORMERR);
	/* No question, two questions, records where none belong. */
	put_header(&p, WIRE_RD, 0, 0, 0, 0);
	assert_int_equal(read_question(&p), QUESTION_FORMERR);
	put_header(&p, WIRE_RD, 2, 0, 0, 0);
	put_question(&p, WIRE_A, WIRE_IN);
	put_question(&p, WIRE_A, WIRE_IN);
	assert_int_equal(read_question(&p), QUESTION_FORMERR);
	put_header(&p, WIRE_RD, 1, 1, 0, 0);
	put_question(&p, WIRE_A, WIRE_IN);
	put_record(&p, 12, WIRE_A, 60, "\1\2\3\4", 4);
	assert_int_equal(read_question(&p), QUESTION_FORMERR);
	/* More than a query ever needs. */
	put_header(&p, WIRE_RD, 1, 0, 0, 1);
	put_question(&p, WIRE_A, WIRE_IN);
	put_opt(&p, 1232, 0, 0, p.bytes, 0);
	memset(p.bytes + p.len, 0, LIMIT_QUERY_BYTES);
	p.len += LIMIT_QUERY_BYTES;
	assert_int_equal(read_question(&p), QUESTION_FORMERR);
}

static void names_that_are_malformed(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} names[] = {
		{ "\300\014", 2 }, { "\300\377", 2 }, { "\100a", 2 }, { "\200a", 2 }, { "\77a", 2 },
	};
	static struct packet p;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		put_header(&p, WIRE_RD, 1, 0, 0, 0);
		put(&p, names[i].bytes, names[i].len);
		put(&p, "\0\0\1\0\1", 5);
		assert_int_equal(read_question(&p), QUESTION_FORMERR);
		assert_int_equal(question.echo_len, 0);
	}
	/* 127 labels of one byte are the most, and 255 bytes with the root's. */
	for (unsigned labels = 127; labels <= 130; labels++) {
		put_header(&p, WIRE_RD, 1, 0, 0, 0);
		for (unsigned i = 0; i < labels; i++)
			put(&p, "\1a", 2);
		put(&p, "\0\0\1\0\1", 5);
		assert_int_equal(read_question(&p),
				 labels == 127 ? QUESTION_FINE : QUESTION_FORMERR);
	}
}

static void opts_that_are_malformed(void **state)
{
	static struct packet p;

	(void)state;
	/* Two of them. */
	put_header(&p, WIRE_RD, 1, 0, 0, 2);
	put_question(&p, WIRE_A, WIRE_IN);
	put_opt(&p, 1232, 0, 0, "", 0);
	put_opt(&p, 1232, 0, 0, "", 0);
	assert_int_equal(read_question(&p), QUESTION_FORMERR);
	/* An owner that is not the root. */
	put_header(&p, WIRE_RD, 1, 0, 0, 1);
	put_question(&p, WIRE_A, WIRE_IN);
	put(&p, "\1a", 2);
	put_opt(&p, 1232, 0, 0, "", 0);
	assert_int_equal(read_question(&p), QUESTION_FORMERR);
	/* An option that overruns its record, and half an option. */
	put_header(&p, WIRE_RD, 1, 0, 0, 1);
	put_question(&p, WIRE_A, WIRE_IN);
	put_opt(&p, 1232, 0, 0, "\0\3\0\5abcd", 8);
	assert_int_equal(read_question(&p), QUESTION_FORMERR);
	put_header(&p, WIRE_RD, 1, 0, 0, 1);
	put_question(&p, WIRE_A, WIRE_IN);
	put_opt(&p, 1232, 0, 0, "\0\3\0", 3);
	assert_int_equal(read_question(&p), QUESTION_FORMERR);
	/* A cookie of a length that none has (RFC 7873, 5.2.2). */
	for (unsigned len = 0; len <= 41; len++) {
		uint8_t option[4 + 41] = { 0, 10, 0, (uint8_t)len };
		bool fine = len == 8 || (len >= 16 && len <= 40);

		put_header(&p, WIRE_RD, 1, 0, 0, 1);
		put_question(&p, WIRE_A, WIRE_IN);
		put_opt(&p, 1232, 0, 0, option, 4 + len);
		assert_int_equal(read_question(&p), fine ? QUESTION_FINE : QUESTION_FORMERR);
	}
}

static void questions_of_another_kind(void **state)
{
	static struct packet p;

	(void)state;
	for (unsigned opcode = 1; opcode < 16; opcode++) {
		put_header(&p, opcode << 11, 1, 0, 0, 0);
		put_question(&p, WIRE_A, WIRE_IN);
		assert_int_equal(read_question(&p), QUESTION_NOTIMP);
	}
	put_header(&p, WIRE_RD, 1, 0, 0, 0);
	put_question(&p, 16, 3);
	assert_int_equal(read_question(&p), QUESTION_CLASS);
	/* A later version of EDNS, in whatever class; its malformed options come first. */
	put_header(&p, WIRE_RD, 1, 0, 0, 1);
	put_question(&p, WIRE_A, 255);
	put_opt(&p, 1232, 1, 0, "\0\144\0\0", 4);
	assert_int_equal(read_question(&p), QUESTION_BADVERS);
	assert_true(question.edns);
}

/*
 * Answers. ldns is the judge of what was written.
 */

static ldns_pkt *read_answer(const uint8_t *bytes, size_t len)
{
	ldns_pkt *pkt = NULL;

	assert_int_equal(ldns_wire2pkt(&pkt, bytes, len), LDNS_STATUS_OK);
	return pkt;
}

static void ask(unsigned type, bool edns, unsigned size)
{
	static struct packet p;

	put_header(&p, WIRE_RD | WIRE_CD, 1, 0, 0, edns);
	put_question(&p, type, WIRE_IN);
	if (edns)
		put_opt(&p, size, 0, 0x8000, "", 0);
	assert_int_equal(read_question(&p), QUESTION_FINE);
}

static void an_answer_of_every_part(void **state)
{
	static const struct address addresses[] = { { 4, { 93, 184, 216, 34 } },
						    { 4, { 93, 184, 216, 35 } } };
	struct name links[2];
	uint8_t bytes[LIMIT_UDP_ANSWER_BYTES];
	struct reply *reply;
	ldns_pkt *pkt;

	(void)state;
	ask(WIRE_A, true, 4096);
	assert_int_equal(name_parse("edge.cdn.example", &links[0]), 0);
	assert_int_equal(name_parse("a\\.b.example", &links[1]), 0);
	reply = reply_new(WIRE_NOERROR, 60, links, 2, addresses, 2);
	const struct answer answer = { .chain = reply,
				       .addresses = addresses,
				       .n_addresses = 2,
				       .ttl_s = 7,
				       .ede = WIRE_EDE_NONE };
	size_t len = answer_write(&question, &answer, bytes, answer_udp_limit(&question));

	pkt = read_answer(bytes, len);
	assert_int_equal(ldns_pkt_id(pkt), 0x1234);
	assert_true(ldns_pkt_qr(pkt) && ldns_pkt_ra(pkt) && ldns_pkt_rd(pkt) && ldns_pkt_cd(pkt));
	assert_false(ldns_pkt_aa(pkt) || ldns_pkt_ad(pkt) || ldns_pkt_tc(pkt));
	assert_memory_equal(bytes + WIRE_HEADER, ok_name, sizeof(ok_name));
	assert_true(ldns_pkt_edns(pkt) && ldns_pkt_edns_do(pkt));
	assert_int_equal(ldns_pkt_edns_udp_size(pkt), LIMIT_UDP_ANSWER_BYTES);
	assert_int_equal(ldns_pkt_ancount(pkt), 4);
	assert_int_equal(ldns_pkt_nscount(pkt), 0);
	static const char *const want[] = {
		"oK.example.com.\t7\tIN\tCNAME\tedge.cdn.example.\n",
		"edge.cdn.example.\t7\tIN\tCNAME\ta\\.b.example.\n",
		"a\\.b.example.\t7\tIN\tA\t93.184.216.34\n",
		"a\\.b.example.\t7\tIN\tA\t93.184.216.35\n",
	};
	for (size_t i = 0; i < 4; i++) {
		char *text = ldns_rr2str(ldns_rr_list_rr(ldns_pkt_answer(pkt), i));

		assert_string_equal(text, want[i]);
		free(text);
	}
	ldns_pkt_free(pkt);
	free(reply);
}

static void a_denial_of_every_part(void **state)
{
	uint8_t bytes[LIMIT_UDP_ANSWER_BYTES];
	const struct answer answer = { .rcode = WIRE_NXDOMAIN,
				       .ttl_s = 30,
				       .soa = true,
				       .ede = WIRE_EDE_BLOCKED,
				       .ede_text = "not-listed: why" };
	ldns_pkt *pkt;

	(void)state;
	ask(WIRE_A, true, 1232);
	pkt = read_answer(bytes, answer_write(&question, &answer, bytes, sizeof(bytes)));
	assert_int_equal(ldns_pkt_get_rcode(pkt), LDNS_RCODE_NXDOMAIN);
	char *text = ldns_rr2str(ldns_rr_list_rr(ldns_pkt_authority(pkt), 0));

	assert_string_equal(text, "oK.example.com.\t30\tIN\tSOA\tbailiwick.invalid. "
				  "nobody.invalid. 1 3600 600 86400 30\n");
	free(text);
	const ldns_rdf *options = ldns_pkt_edns_data(pkt);

	assert_memory_equal(ldns_rdf_data(options), "\0\17\0\21\0\17not-listed: why", 21);
	assert_int_equal(ldns_rdf_size(options), 21);
	ldns_pkt_free(pkt);

	/* Without OPT in the query there is none in the answer. */
	ask(WIRE_A, false, 0);
	pkt = read_answer(bytes, answer_write(&question, &answer, bytes, sizeof(bytes)));
	assert_false(ldns_pkt_edns(pkt));
	assert_int_equal(ldns_pkt_arcount(pkt), 0);
	ldns_pkt_free(pkt);
}

static void extended_rcodes(void **state)
{
	uint8_t bytes[LIMIT_UDP_ANSWER_BYTES];
	const struct answer answer = { .rcode = WIRE_BADVERS, .ede = WIRE_EDE_NONE };
	ldns_pkt *pkt;

	(void)state;
	ask(WIRE_A, true, 1232);
	pkt = read_answer(bytes, answer_write(&question, &answer, bytes, sizeof(bytes)));
	assert_int_equal(ldns_pkt_edns_extended_rcode(pkt), 1);
	assert_int_equal(ldns_pkt_get_rcode(pkt), 0);
	assert_int_equal(ldns_pkt_edns_version(pkt), 0);
	ldns_pkt_free(pkt);
}

/* No size of answer and limit may break a record, or the limit. */
static void truncation_at_every_size(void **state)
{
	static struct address addresses[LIMIT_ANSWER_ADDRESSES];
	static uint8_t bytes[LIMIT_MESSAGE_BYTES];

	(void)state;
	for (unsigned i = 0; i < LIMIT_ANSWER_ADDRESSES; i++)
		addresses[i] = (struct address){ 4, { 93, 184, 216, (uint8_t)i } };
	struct reply *reply = reply_new(WIRE_NOERROR, 60, NULL, 0, addresses, 0);

	for (unsigned edns = 0; edns <= 1; edns++)
		for (unsigned n = 1; n <= 80; n++)
			for (size_t limit = 512; limit <= 1232; limit += 60) {
				const struct answer answer = { .chain = reply,
							       .addresses = addresses,
							       .n_addresses = n,
							       .ede = WIRE_EDE_NONE };
				size_t whole = WIRE_HEADER + sizeof(ok_name) + 4 + 16 * (size_t)n +
					       (edns ? 11 : 0);

				ask(WIRE_A, edns, 1232);
				size_t len = answer_write(&question, &answer, bytes, limit);
				ldns_pkt *pkt = read_answer(bytes, len);

				assert_true(len <= limit);
				assert_int_equal(ldns_pkt_tc(pkt), whole > limit);
				assert_int_equal(ldns_pkt_ancount(pkt), whole > limit ? 0 : n);
				assert_int_equal(ldns_pkt_edns(pkt), edns);
				ldns_pkt_free(pkt);
			}
	free(reply);
}

static void what_a_client_can_take(void **state)
{
	(void)state;
	ask(WIRE_A, false, 0);
	assert_int_equal(answer_udp_limit(&question), 512);
	ask(WIRE_A, true, 0);
	assert_int_equal(answer_udp_limit(&question), 512);
	ask(WIRE_A, true, 511);
	assert_int_equal(answer_udp_limit(&question), 512);
	ask(WIRE_A, true, 1000);
	assert_int_equal(answer_udp_limit(&question), 1000);
	ask(WIRE_A, true, 65535);
	assert_int_equal(answer_udp_limit(&question), 1232);
}

/* The text of an error goes first when there is no room, and never in a loop. */
static void long_texts(void **state)
{
	static char text[4000];
	uint8_t bytes[LIMIT_UDP_ANSWER_BYTES];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	const struct answer answer = { .rcode = WIRE_NXDOMAIN,
				       .ttl_s = 30,
				       .soa = true,
				       .ede = WIRE_EDE_BLOCKED,
				       .ede_text = text };

	ask(WIRE_A, true, 512);
	size_t len = answer_write(&question, &answer, bytes, 512);
	ldns_pkt *pkt = read_answer(bytes, len);

	assert_int_equal(len, 512);
	assert_false(ldns_pkt_tc(pkt));
	assert_int_equal(ldns_pkt_nscount(pkt), 1);
	ldns_pkt_free(pkt);
}

/*
 * What upstreams send.
 */

static int read_message(const struct packet *p, struct message *message)
{
	uint8_t *exact = malloc(p->len + !p->len);
	int r;

	memcpy(exact, p->bytes, p->len);
	r = message_read(exact, p->len, true, message);
	free(exact);
	return r;
}

static void messages_that_are_cut(void **state)
{
	static struct packet p;
	struct message message;

	(void)state;
	put_header(&p, WIRE_QR | WIRE_RA, 1, 2, 1, 1);
	put_question(&p, WIRE_A, WIRE_IN);
	put_record(&p, 12, WIRE_CNAME, 60, "\4edge\300\017", 7);
	put_record(&p, 44, WIRE_A, 70, "\1\2\3\4", 4);
	put_record(&p, 15, WIRE_SOA, 900,
		   "\300\014\300\014\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5", 24);
	put_opt(&p, 1232, 0, 0, "", 0);
	assert_int_equal(read_message(&p, &message), 0);
	assert_int_equal(message.n_records, 2);
	assert_int_equal(message.negative_ttl_s, 5);
	assert_true(name_equal(&message.records[0].target, &message.records[1].owner));
	message_done(&message);
	for (size_t whole = p.len - 1; whole > 0; whole--) {
		p.len = whole;
		assert_int_equal(read_message(&p, &message), -EBADMSG);
	}
}

static void records_of_a_wrong_size(void **state)
{
	static struct packet p;
	struct message message;

	(void)state;
	put_header(&p, WIRE_QR | WIRE_RA, 1, 6, 0, 0);
	put_question(&p, WIRE_A, WIRE_IN);
	put_record(&p, 12, WIRE_A, 60, "", 0);
	put_record(&p, 12, WIRE_A, 60, "\1\2\3", 3);
	put_record(&p, 12, WIRE_A, 60, "\1\2\3\4\5\6\7\10", 8);
	put_record(&p, 12, WIRE_AAAA, 60, "\1\2\3\4", 4);
	put_record(&p, 12, 16, 60, "\3abc", 4);
	put_record(&p, 12, WIRE_A, 0x80000001, "\1\2\3\4", 4);
	assert_int_equal(read_message(&p, &message), 0);
	assert_int_equal(message.n_records, 1);
	assert_int_equal(message.records[0].ttl_s, 0);
	message_done(&message);
}

static void pointers_that_do_not_lead_back(void **state)
{
	static struct packet p;
	struct message message;

	(void)state;
	/* To itself, forward, into the header, and a name that grows by its pointer. */
	static const uint16_t targets[] = { 0x20, 0x21, 0x3fff, 0x0b };

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		put_header(&p, WIRE_QR, 1, 1, 0, 0);
		put_question(&p, WIRE_A, WIRE_IN);
		assert_int_equal(p.len, 0x20);
		put_record(&p, targets[i], WIRE_A, 60, "\1\2\3\4", 4);
		assert_int_equal(read_message(&p, &message), -EBADMSG);
	}
	/* A chain of pointers, each to the one before: the most hops, and one more. */
	for (unsigned hops = LIMIT_POINTER_HOPS; hops <= LIMIT_POINTER_HOPS + 1; hops++) {
		unsigned at = 12;

		put_header(&p, WIRE_QR, 1, hops, 0, 0);
		put_question(&p, WIRE_A, WIRE_IN);
		for (unsigned i = 0; i < hops; i++) {
			unsigned here = (unsigned)p.len;

			put_record(&p, at, WIRE_A, 60, "\1\2\3\4", 4);
			at = here;
		}
		assert_int_equal(read_message(&p, &message),
				 hops == LIMIT_POINTER_HOPS ? 0 : -EBADMSG);
		message_done(&message);
	}
}

static void messages_that_are_large(void **state)
{
	static struct packet p;
	struct message message;

	(void)state;
	for (unsigned n = LIMIT_MESSAGE_RECORDS; n <= LIMIT_MESSAGE_RECORDS + 1; n++) {
		put_header(&p, WIRE_QR, 1, n, 0, 0);
		put_question(&p, WIRE_A, WIRE_IN);
		for (unsigned i = 0; i < n; i++)
			put_record(&p, 12, WIRE_A, 60, "\1\2\3\4", 4);
		assert_int_equal(read_message(&p, &message),
				 n == LIMIT_MESSAGE_RECORDS ? 0 : -EBADMSG);
		message_done(&message);
	}
	/* A truncated one is not read at all: it is asked for again. */
	put_header(&p, WIRE_QR | WIRE_TC, 1, 5, 0, 0);
	put_question(&p, WIRE_A, WIRE_IN);
	assert_int_equal(read_message(&p, &message), 0);
	assert_true(message.truncated);
	message_done(&message);
}

static void answers_to_other_queries(void **state)
{
	static struct packet query, p;
	size_t end;

	(void)state;
	put_header(&query, WIRE_RD, 1, 0, 0, 1);
	put_question(&query, WIRE_A, WIRE_IN);
	end = query.len;
	p = query;
	p.bytes[2] |= 0x80;
	assert_int_equal(message_compare(p.bytes, p.len, query.bytes, end), MESSAGE_ANSWER);
	for (size_t i = 0; i < end; i++) {
		/* Bits that may differ: AA, TC, RD; the whole second flag byte; the counts behind. */
		uint8_t free_bits = i == 2 ? 0x07 : i == 3 || (i >= 6 && i < 12) ? 0xff : 0;

		for (unsigned bit = 0; bit < 8; bit++) {
			bool letter = i > WIRE_HEADER && i < end - 4 && bit == 5 &&
				      ((p.bytes[i] | 0x20) >= 'a' && (p.bytes[i] | 0x20) <= 'z');
			enum message_match want = free_bits >> bit & 1 ? MESSAGE_ANSWER
						  : letter             ? MESSAGE_CASE
								       : MESSAGE_OTHER;

			p.bytes[i] ^= (uint8_t)(1u << bit);
			assert_int_equal(message_compare(p.bytes, p.len, query.bytes, end), want);
			p.bytes[i] ^= (uint8_t)(1u << bit);
		}
	}
	for (size_t len = 0; len < end; len++)
		assert_int_equal(message_compare(p.bytes, len, query.bytes, end), MESSAGE_OTHER);
}

/* A DNAME that makes a name too long is YXDOMAIN (RFC 6672, 2.2). */
static void a_dname_that_grows(void **state)
{
	static struct packet p;
	struct message message;
	struct reply *reply;
	struct name name;

	(void)state;
	put_header(&p, WIRE_QR, 1, 1, 0, 0);
	put_question(&p, WIRE_A, WIRE_IN);
	uint8_t target[3 * 64 + 62 + 1] = { 63, [64] = 63, [128] = 63, [192] = 60 };

	put_record(&p, 15, WIRE_DNAME, 60, target, 3 * 64 + 61 + 1);
	assert_int_equal(read_message(&p, &message), 0);
	assert_int_equal(message.n_records, 1);
	assert_int_equal(
		name_from_wire((const uint8_t *)"\2ok\7example\3com", sizeof(ok_name), &name), 0);
	assert_int_equal(vet_chain(&message, &name, WIRE_A, 0, 60, &reply), 0);
	assert_int_equal(reply->rcode, WIRE_YXDOMAIN);
	assert_int_equal(reply->n_links + reply->n_addresses, 0);
	free(reply);
	message_done(&message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(questions_that_are_fine),
		cmocka_unit_test(questions_that_are_dropped),
		cmocka_unit_test(questions_that_are_malformed),
		cmocka_unit_test(names_that_are_malformed),
		cmocka_unit_test(opts_that_are_malformed),
		cmocka_unit_test(questions_of_another_kind),
		cmocka_unit_test(an_answer_of_every_part),
		cmocka_unit_test(a_denial_of_every_part),
		cmocka_unit_test(extended_rcodes),
		cmocka_unit_test(truncation_at_every_size),
		cmocka_unit_test(what_a_client_can_take),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(messages_that_are_cut),
		cmocka_unit_test(records_of_a_wrong_size),
		cmocka_unit_test(pointers_that_do_not_lead_back),
		cmocka_unit_test(messages_that_are_large),
		cmocka_unit_test(answers_to_other_queries),
		cmocka_unit_test(a_dname_that_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
