/* SPDX-License-Identifier: MIT */
#include "audit/record.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The texts of a record, in the order in which they are packed. */
enum text { ACTION, WHO, TYPE, TRANSPORT, VERDICT, REASON, GRANT, RCODE, DETAIL, N_TEXTS };

struct packed {
	uint32_t size;                /* of all of it */
	uint16_t text_bytes[N_TEXTS]; /* with the NUL; 0: NULL */
	uint16_t n_addresses;
	uint16_t n_origins;   /* as many, or 0: NULL */
	uint16_t name_bytes;  /* of the struct name that are in use; 0: NULL */
	struct address agent; /* family 0: NULL */
	bool timed;
	struct record_stamp stamp;
	uint64_t generation, duration_us;
	uint8_t bytes[]; /* the origins, the addresses, the name, the texts */
};

/* A line has room for every text, address and name at their longest, each byte escaped. */
#define LINE_MAX_BYTES                                                       \
	((size_t)6 * N_TEXTS * LIMIT_AUDIT_TEXT_BYTES +                      \
	 (size_t)LIMIT_ANSWER_ADDRESSES * (ADDRESS_TEXT_SIZE + 2 + 5 + 11) + \
	 (size_t)2 * NAME_TEXT_SIZE + 512)
static_assert(LINE_MAX_BYTES <= LIMIT_AUDIT_LINE_BYTES, "a line may be longer than its limit");
static_assert(sizeof(struct packed) % alignof(struct origin) == 0,
	      "packed origins are not aligned");
static_assert(alignof(struct address) == 1, "packed addresses are not aligned");
static_assert(LIMIT_AUDIT_TEXT_BYTES < UINT16_MAX, "a text's length does not fit");
static_assert(LIMIT_ANSWER_ADDRESSES < UINT16_MAX, "the number of addresses does not fit");

struct record_stamp record_stamp_now(uint64_t seq)
{
	struct timespec wall, mono;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	return (struct record_stamp){
		.seq = seq,
		.time_ms = (int64_t)wall.tv_sec * 1000 + wall.tv_nsec / 1000000,
		.mono_us = (uint64_t)mono.tv_sec * 1000000 + (uint64_t)mono.tv_nsec / 1000,
	};
}

static void list_texts(const struct audit_record *record, const char *ret_texts[N_TEXTS])
{
	ret_texts[ACTION] = record->action;
	ret_texts[WHO] = record->who;
	ret_texts[TYPE] = record->type;
	ret_texts[TRANSPORT] = record->transport;
	ret_texts[VERDICT] = record->verdict;
	ret_texts[REASON] = record->reason;
	ret_texts[GRANT] = record->grant;
	ret_texts[RCODE] = record->rcode;
	ret_texts[DETAIL] = record->detail;
}

static uint16_t name_bytes(const struct name *name)
{
	return name != NULL ? (uint16_t)(offsetof(struct name, wire) + name->len) : 0;
}

static unsigned count_addresses(const struct audit_record *record)
{
	return record->n_addresses < LIMIT_ANSWER_ADDRESSES ? record->n_addresses
							    : LIMIT_ANSWER_ADDRESSES;
}

/* Copy @len bytes to @at; give what is behind them. */
static uint8_t *append(uint8_t *at, const void *bytes, size_t len)
{
	if (len > 0)
		memcpy(at, bytes, len);
	return at + len;
}

size_t record_pack(const struct audit_record *record, const struct record_stamp *stamp, void *room,
		   size_t size)
{
	struct packed head = {
		.n_addresses = (uint16_t)count_addresses(record),
		.name_bytes = name_bytes(record->name),
		.timed = record->timed,
		.stamp = *stamp,
		.generation = record->generation,
		.duration_us = record->duration_us,
	};
	size_t total = sizeof(head) + head.n_addresses * sizeof(struct address) + head.name_bytes;

	if (record->origins != NULL)
		head.n_origins = head.n_addresses;
	total += head.n_origins * sizeof(struct origin);

	struct packed *packed = room;
	const char *texts[N_TEXTS];
	uint8_t *at;

	assert(record->action != NULL);
	list_texts(record, texts);
	for (unsigned i = 0; i < N_TEXTS; i++) {
		if (texts[i] != NULL)
			head.text_bytes[i] =
				(uint16_t)(strnlen(texts[i], LIMIT_AUDIT_TEXT_BYTES - 1) + 1);
		total += head.text_bytes[i];
	}
	total = (total + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
	if (total > size)
		return 0;
	if (record->agent != NULL)
		head.agent = *record->agent;
	head.size = (uint32_t)total;
	*packed = head;
	at = append(packed->bytes, record->origins, head.n_origins * sizeof(struct origin));
	at = append(at, record->addresses, head.n_addresses * sizeof(struct address));
	at = append(at, record->name, head.name_bytes);
	for (unsigned i = 0; i < N_TEXTS; i++)
		if (head.text_bytes[i] > 0) {
			at = append(at, texts[i], head.text_bytes[i] - 1u);
			*at++ = '\0';
		}
	return total;
}

size_t record_unpack(const void *packed, struct record_stamp *ret_stamp,
		     struct audit_record *ret_record, struct name *ret_name)
{
	const struct packed *head = packed;
	const uint8_t *addresses = head->bytes + head->n_origins * sizeof(struct origin);
	const uint8_t *at = addresses + head->n_addresses * sizeof(struct address);
	const char *texts[N_TEXTS] = { NULL };

	if (head->name_bytes > 0)
		memcpy(ret_name, at, head->name_bytes);
	at += head->name_bytes;
	for (unsigned i = 0; i < N_TEXTS; i++) {
		if (head->text_bytes[i] > 0)
			texts[i] = (const char *)at;
		at += head->text_bytes[i];
	}
	*ret_stamp = head->stamp;
	*ret_record = (struct audit_record){
		.action = texts[ACTION],
		.generation = head->generation,
		.agent = head->agent.family != 0 ? &head->agent : NULL,
		.who = texts[WHO],
		.name = head->name_bytes > 0 ? ret_name : NULL,
		.type = texts[TYPE],
		.transport = texts[TRANSPORT],
		.verdict = texts[VERDICT],
		.reason = texts[REASON],
		.grant = texts[GRANT],
		.rcode = texts[RCODE],
		.addresses = (const struct address *)addresses,
		.n_addresses = head->n_addresses,
		.origins = head->n_origins > 0 ? (const void *)head->bytes : NULL,
		.detail = texts[DETAIL],
		.duration_us = head->duration_us,
		.timed = head->timed,
	};
	return head->size;
}

/*
 * The line. It is written by hand, since it is written for each query: each
 * put function writes at @at and gives what is behind.
 */

static char *put(char *at, const char *text)
{
	return mempcpy(at, text, strlen(text));
}

/* Write @value in at least @width digits. */
static char *put_number(char *at, uint64_t value, unsigned width)
{
	char digits[20];
	unsigned n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	for (; width > n; width--)
		*at++ = '0';
	while (n > 0)
		*at++ = digits[--n];
	return at;
}

static char *put_escaped(char *at, uint8_t byte)
{
	static const char hex[] = "0123456789abcdef";

	if (byte == '"' || byte == '\\') {
		*at++ = '\\';
		*at++ = (char)byte;
		return at;
	}
	at = put(at, "\\u00");
	*at++ = hex[byte >> 4];
	*at++ = hex[byte & 15];
	return at;
}

/* Write @text as a JSON string. A byte over 0x7e is escaped as if it were Latin-1. */
static char *put_string(char *at, const char *text)
{
	size_t len = strnlen(text, LIMIT_AUDIT_TEXT_BYTES);

	*at++ = '"';
	for (size_t i = 0; i < len; i++) {
		uint8_t byte = (uint8_t)text[i];

		if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\')
			at = put_escaped(at, byte);
		else
			*at++ = (char)byte;
	}
	*at++ = '"';
	return at;
}

static char *put_text(char *at, const char *key, const char *text)
{
	if (text == NULL)
		return at;
	at = put(at, key);
	return put_string(at, text);
}

static char *put_address(char *at, const char *key, const struct address *address)
{
	char text[ADDRESS_TEXT_SIZE];

	if (address == NULL)
		return at;
	address_print(address, text);
	return put_text(at, key, text);
}

static char *put_addresses(char *at, const struct audit_record *record)
{
	unsigned n = count_addresses(record);

	if (n == 0)
		return at;
	at = put(at, ",\"addresses\":[");
	for (unsigned i = 0; i < n; i++)
		at = put_address(at, i > 0 ? "," : "", &record->addresses[i]);
	return put(at, "]");
}

/* Where the addresses are, in their order; what is known of none is left out. */
static char *put_origins(char *at, const struct audit_record *record)
{
	unsigned n = record->origins != NULL ? count_addresses(record) : 0;
	bool countries = false, asns = false;

	for (unsigned i = 0; i < n; i++) {
		countries |= record->origins[i].country[0] != '\0';
		asns |= record->origins[i].asn != 0;
	}
	for (unsigned i = 0; i < n && countries; i++)
		at = put_text(at, i > 0 ? "," : ",\"countries\":[", record->origins[i].country);
	if (countries)
		*at++ = ']';
	for (unsigned i = 0; i < n && asns; i++)
		at = put_number(put(at, i > 0 ? "," : ",\"asns\":["), record->origins[i].asn, 1);
	if (asns)
		*at++ = ']';
	return at;
}

static char *put_name(char *at, const struct name *name)
{
	char text[NAME_TEXT_SIZE];

	if (name == NULL)
		return at;
	name_print(name, text);
	return put_text(at, ",\"name\":", text);
}

static char *put_time(char *at, int64_t time_ms)
{
	time_t time_s = (time_t)(time_ms / 1000);
	struct tm tm;

	gmtime_r(&time_s, &tm);
	at = put_number(at, (uint64_t)tm.tm_year + 1900, 4);
	*at++ = '-';
	at = put_number(at, (uint64_t)tm.tm_mon + 1, 2);
	*at++ = '-';
	at = put_number(at, (uint64_t)tm.tm_mday, 2);
	*at++ = 'T';
	at = put_number(at, (uint64_t)tm.tm_hour, 2);
	*at++ = ':';
	at = put_number(at, (uint64_t)tm.tm_min, 2);
	*at++ = ':';
	at = put_number(at, (uint64_t)tm.tm_sec, 2);
	*at++ = '.';
	at = put_number(at, (uint64_t)(time_ms % 1000), 3);
	*at++ = 'Z';
	return at;
}

/* The times that have four digits for their year. */
static const int64_t last_time_ms = 253402300799999;

void audit_time_print(int64_t time_ms, char text[AUDIT_TIME_SIZE])
{
	assert(time_ms >= 0 && time_ms <= last_time_ms);
	*put_time(text, time_ms) = '\0';
}

size_t record_format(const struct audit_record *record, const struct record_stamp *stamp,
		     const char *prev, char line[LIMIT_AUDIT_LINE_BYTES])
{
	char *at = put(line, "{\"seq\":");

	at = put_number(at, stamp->seq, 1);
	at = put(at, ",\"time\":\"");
	at = put_time(at, stamp->time_ms);
	at = put(at, "\",\"mono_us\":");
	at = put_number(at, stamp->mono_us, 1);
	at = put(at, ",\"generation\":");
	at = put_number(at, record->generation, 1);
	at = put_text(at, ",\"action\":", record->action);
	at = put_address(at, ",\"agent\":", record->agent);
	at = put_text(at, ",\"who\":", record->who);
	at = put_name(at, record->name);
	at = put_text(at, ",\"type\":", record->type);
	at = put_text(at, ",\"transport\":", record->transport);
	at = put_text(at, ",\"verdict\":", record->verdict);
	at = put_text(at, ",\"reason\":", record->reason);
	at = put_text(at, ",\"grant\":", record->grant);
	at = put_text(at, ",\"rcode\":", record->rcode);
	at = put_addresses(at, record);
	at = put_origins(at, record);
	if (record->timed) {
		at = put(at, ",\"duration_us\":");
		at = put_number(at, record->duration_us, 1);
	}
	at = put_text(at, ",\"detail\":", record->detail);
	at = put(at, ",\"prev\":\"");
	at = put(at, prev);
	at = put(at, "\"}\n");
	assert(at - line <= LIMIT_AUDIT_LINE_BYTES);
	return (size_t)(at - line);
}
