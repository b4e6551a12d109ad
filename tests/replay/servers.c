/* SPDX-License-Identifier: MIT */
/* Commands about the upstream servers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/name.h"
#include "resolver/probe.h"
#include "resolver/wire.h"
#include "tests/replay/script.h"
#include <ldns/ldns.h> /* last: it has a bool of its own where stdbool.h did not come first */

/* The name and type that @sent asks for. */
static void read_sent(const struct script *s, const struct scripted_sent *sent,
		      struct name *ret_name, uint16_t *ret_type)
{
	struct cursor c = cursor_over(sent->bytes + WIRE_HEADER, sent->len - WIRE_HEADER);

	if (name_read(&c, ret_name) < 0)
		stop_script(s, "what was sent upstream is no query");
	*ret_type = cursor_u16(&c);
}

static bool is_probe(const struct script *s, const struct scripted_sent *sent)
{
	struct name name;
	uint16_t type;

	read_sent(s, sent, &name, &type);
	return name.len == PROBE_NAME_LEN && name.wire[0] == 32;
}

/* What was sent next, of probes or of others. */
static struct scripted_sent *take_sent(struct script *s, bool probe)
{
	struct scripted_sent *sent;

	for (unsigned i = 0; (sent = scripted_peek(s->world->loop, i)) != NULL; i++)
		if (!sent->taken && is_probe(s, sent) == probe) {
			sent->taken = true;
			s->previous = s->current;
			s->current = sent;
			s->stream = sent->stream != NULL ? sent->stream : s->stream;
			return sent;
		}
	return NULL;
}

static const char *transport_of(const struct scripted_sent *sent)
{
	if (sent->stream == NULL)
		return "udp";
	return sent->stream->verified ? "tls" : "tcp";
}

void do_upstream(struct script *s)
{
	struct scripted_sent *sent = take_sent(s, false);
	char got[NAME_TEXT_SIZE + 64] = "none", endpoint[ENDPOINT_TEXT_SIZE] = "";
	char want[NAME_TEXT_SIZE + 64];

	if (sent != NULL) {
		char name[NAME_TEXT_SIZE], type[16];
		struct name asked;
		uint16_t number;

		read_sent(s, sent, &asked, &number);
		name_print(&asked, name);
		policy_type_print(number, type);
		endpoint_print(&sent->peer, endpoint);
		snprintf(got, sizeof(got), "%s %s %s", transport_of(sent), name, type);
	}
	if (s->n_words >= 4)
		snprintf(want, sizeof(want), "%s %s %s", s->words[1], s->words[2], s->words[3]);
	else
		snprintf(want, sizeof(want), "%s", word_at(s, 1));
	check(s, strcmp(got, want) == 0, "upstream is asked: %s (got %s)", want, got);
	if (s->n_words >= 5)
		check(s, strcmp(endpoint, s->words[4]) == 0, "at %s (got %s)", s->words[4],
		      endpoint);
}

void do_probe(struct script *s)
{
	char got[ENDPOINT_TEXT_SIZE + 8] = "none", endpoint[ENDPOINT_TEXT_SIZE];
	char want[ENDPOINT_TEXT_SIZE + 8];
	struct scripted_sent *sent;
	struct name name;
	uint16_t type;

	if (strcmp(word_at(s, 1), "comes") == 0) {
		read_sent(s, s->current, &name, &type);
		check(s, upstreams_recognize(s->world->resolver.upstreams, &name),
		      "the probe is recognized");
		return;
	}
	sent = take_sent(s, true);
	if (sent != NULL) {
		endpoint_print(&sent->peer, endpoint);
		snprintf(got, sizeof(got), "%s %s", transport_of(sent), endpoint);
	}
	snprintf(want, sizeof(want), s->n_words > 2 ? "%s %s" : "%s", word_at(s, 1),
		 s->n_words > 2 ? s->words[2] : "");
	check(s, strcmp(got, want) == 0, "probed: %s (got %s)", want, got);
}

void do_connects(struct script *s)
{
	struct scripted_stream *stream = scripted_take_stream(s->world->loop);
	char got[ENDPOINT_TEXT_SIZE + 8] = "none", endpoint[ENDPOINT_TEXT_SIZE];
	char want[ENDPOINT_TEXT_SIZE + 8];

	if (stream != NULL) {
		s->stream = stream;
		endpoint_print(&stream->peer, endpoint);
		snprintf(got, sizeof(got), "%s %s", stream->tls != NULL ? "tls" : "tcp", endpoint);
	}
	snprintf(want, sizeof(want), s->n_words > 2 ? "%s %s" : "%s", word_at(s, 1),
		 s->n_words > 2 ? s->words[2] : "");
	check(s, strcmp(got, want) == 0, "connects: %s (got %s)", want, got);
}

/* The TLS connection that is meant. */
static struct tls *tls_of(const struct script *s)
{
	if (s->stream == NULL || s->stream->tls == NULL)
		stop_script(s, "there is no TLS connection");
	return s->stream->tls;
}

void do_opened(struct script *s)
{
	struct tls *tls = tls_of(s);

	s->stream->verified = true;
	tls->opened(tls);
	scripted_turn(s->world->loop);
}

void do_untrusted(struct script *s)
{
	struct tls *tls = tls_of(s);

	tls->heard(tls, NULL, -EKEYREJECTED);
	scripted_turn(s->world->loop);
}

void do_deaf(struct script *s)
{
	if (s->stream == NULL)
		stop_script(s, "there is no connection");
	s->stream->failure = errno_of(s, word_at(s, 1));
}

void do_said(struct script *s)
{
	char want[512] = "";
	size_t used = 0, said = strlen(s->world->said);

	for (unsigned i = 1; i < s->n_words; i++)
		used += (size_t)snprintf(want + used, sizeof(want) - used, "%s%s", i > 1 ? " " : "",
					 s->words[i]);
	check(s, said >= used && strcmp(s->world->said + said - used, want) == 0,
	      "people are told: %s (got %s)", want, s->world->said);
	s->world->said[0] = '\0';
}

void do_edns(struct script *s)
{
	bool want = strcmp(word_at(s, 1), "yes") == 0;

	check(s, (s->current->bytes[WIRE_HEADER - 1] == 1) == want, "what was sent has %s OPT",
	      want ? "an" : "no");
}

void do_length(struct script *s)
{
	size_t want = strtoul(word_at(s, 1), NULL, 10);

	check(s, s->current->len == want, "what was sent has %zu bytes (got %zu)", want,
	      s->current->len);
}

void do_wrong(struct script *s)
{
	static const uint8_t junk[] = "no answer to anything";

	for (unsigned long n = strtoul(word_at(s, 1), NULL, 10); n > 0; n--)
		if (s->current->udp != NULL)
			s->current->udp->heard(s->current->udp, junk, sizeof(junk));
	scripted_turn(s->world->loop);
}

/* Spoil @wire, an answer to the current query, as @s says. Gives its new length. */
static size_t spoil(const struct script *s, uint8_t *wire, size_t len)
{
	if (has_word(s, "wrong-id"))
		wire[0] ^= 0x55;
	if (has_word(s, "wrong-case"))
		for (size_t i = WIRE_HEADER; wire[i] != 0; i++)
			wire[i] = name_lower(wire[i]) != wire[i] ? name_lower(wire[i])
				  : wire[i] >= 'a'               ? (uint8_t)(wire[i] & ~0x20u)
								 : wire[i];
	if (has_word(s, "wrong-name"))
		wire[WIRE_HEADER + 1] = 'q';
	if (has_word(s, "wrong-type")) {
		size_t i = WIRE_HEADER;

		while (wire[i] != 0)
			i += 1u + wire[i];
		wire[i + 2] ^= 0x40;
	}
	if (has_word(s, "query"))
		wire[2] &= 0x7f;
	if (has_word(s, "opcode"))
		wire[2] |= 0x10;
	if (has_word(s, "two-questions"))
		wire[5] = 2;
	if (has_word(s, "no-ra"))
		wire[3] &= 0x7f;
	if (has_word(s, "junk"))
		len = len > 20 ? len - 5 : len;
	if (has_word(s, "bare")) {
		memset(wire + 4, 0, 8);
		len = WIRE_HEADER;
	}
	return len;
}

/* Give the @len bytes at @wire to whoever sent the current query, on a stream in two pieces. */
static void deliver(struct script *s, const uint8_t *wire, size_t len, bool half)
{
	struct loop_udp *udp = s->current->udp;
	struct scripted_stream *stream = s->current->stream;
	const uint8_t head[3] = { (uint8_t)(len >> 8), (uint8_t)len, wire[0] };

	if (udp != NULL)
		udp->heard(udp, wire, (long)len);
	if (stream != NULL)
		scripted_hear(stream, head, 3);
	if (stream != NULL && !half)
		scripted_hear(stream, wire + 1, (long)len - 1);
	scripted_turn(s->world->loop);
}

void do_reply(struct script *s)
{
	ldns_pkt *pkt = NULL;
	uint8_t *wire = NULL;
	size_t len = 0;
	char command[sizeof(s->text)];
	char *words[MAX_WORDS];
	unsigned n_words = s->n_words;

	if (s->current == NULL ||
	    ldns_wire2pkt(&pkt, s->current->bytes, s->current->len) != LDNS_STATUS_OK)
		stop_script(s, "there is no query to reply to");
	/* The line's words are needed after the records' lines were read over it. */
	memcpy(command, s->text, sizeof(command));
	for (unsigned i = 0; i < n_words; i++)
		words[i] = command + (s->words[i] - s->text);
	ldns_pkt_set_qr(pkt, true);
	ldns_pkt_set_ra(pkt, true);
	ldns_pkt_set_rcode(pkt, (uint8_t)rcode_of(word_at(s, 1)));
	ldns_pkt_set_tc(pkt, has_word(s, "tc"));
	while (next_record(s)) {
		bool authority = strstr(s->text, " SOA ") != NULL;
		ldns_rr *rr = NULL;

		if (ldns_rr_new_frm_str(&rr, s->text + 1 + strspn(s->text + 1, " "), 0, NULL,
					NULL) != LDNS_STATUS_OK)
			stop_script(s, "not a record");
		ldns_pkt_push_rr(pkt, authority ? LDNS_SECTION_AUTHORITY : LDNS_SECTION_ANSWER, rr);
	}
	if (ldns_pkt2wire(&wire, pkt, &len) != LDNS_STATUS_OK)
		stop_script(s, "not a reply");
	/* ldns keeps the case of names; the question must be what was sent to the bit. */
	for (size_t i = WIRE_HEADER; s->current->bytes[i] != 0; i++)
		wire[i] = s->current->bytes[i];

	struct script spoiled = *s;

	memcpy(spoiled.words, words, sizeof(words));
	spoiled.n_words = n_words;
	len = spoil(&spoiled, wire, len);
	deliver(s, wire, len, has_word(&spoiled, "half"));
	if (has_word(&spoiled, "twice"))
		deliver(s, wire, len, false);
	free(wire);
	ldns_pkt_free(pkt);
}

void do_pattern(struct script *s)
{
	bool want = strcmp(word_at(s, 1), "yes") == 0, got = false;

	for (size_t i = WIRE_HEADER; s->current->bytes[i] != 0; i++)
		got |= s->current->bytes[i] != name_lower(s->current->bytes[i]);
	check(s, got == want, "what was sent has %s pattern", want ? "a" : "no");
}

void do_previous(struct script *s)
{
	struct scripted_sent *current = s->current;

	if (s->previous == NULL)
		stop_script(s, "nothing was sent before");
	s->current = s->previous;
	s->previous = current;
}

static void break_socket(struct script *s, int status)
{
	if (s->current != NULL && s->current->udp != NULL)
		s->current->udp->heard(s->current->udp, NULL, status);
	else if (s->stream != NULL)
		scripted_hear(s->stream, NULL, status);
	scripted_turn(s->world->loop);
}

void do_broken(struct script *s)
{
	break_socket(s, errno_of(s, word_at(s, 1)));
}

void do_closed(struct script *s)
{
	break_socket(s, 0);
}

void do_unreachable(struct script *s)
{
	scripted_fail(s->world->loop, errno_of(s, word_at(s, 1)));
}

void do_reachable(struct script *s)
{
	scripted_fail(s->world->loop, 0);
}
