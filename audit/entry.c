/* SPDX-License-Identifier: MIT */
/* A line, read back. The file may have been written by anyone. */
#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "audit/audit.h"
#include "audit/chain.h"
#include "base/limits.h"

static_assert(sizeof(((struct audit_entry *)0)->prev) == CHAIN_HASH_SIZE, "a hash must fit");

/*
 * A reader of members whose error sticks, so that a line is read straight
 * through and asked about once.
 */
struct members {
	json_t *object;
	bool broken;
};

enum need { OPTIONAL, REQUIRED };

static const char *take_text(struct members *members, const char *key, enum need need)
{
	json_t *value = json_object_get(members->object, key);

	if (value == NULL ? need == REQUIRED : !json_is_string(value))
		members->broken = true;
	return json_string_value(value);
}

static uint64_t take_number(struct members *members, const char *key, enum need need)
{
	json_t *value = json_object_get(members->object, key);

	if (value == NULL ? need == REQUIRED
			  : !json_is_integer(value) || json_integer_value(value) < 0) {
		members->broken = true;
		return 0;
	}
	return (uint64_t)json_integer_value(value);
}

/* Take a time in the one form in which audit_time_print() writes it. */
static int64_t take_time(struct members *members, const char *key)
{
	const char *text = take_text(members, key, REQUIRED);
	const char *rest = NULL;
	char again[AUDIT_TIME_SIZE];
	struct tm tm = { 0 };
	int64_t time_ms;

	if (text != NULL && strlen(text) == AUDIT_TIME_SIZE - 1)
		rest = strptime(text, "%Y-%m-%dT%H:%M:%S.", &tm);
	if (rest != NULL && tm.tm_year >= 70 && tm.tm_year < 8100) {
		time_ms = (int64_t)timegm(&tm) * 1000 + strtol(rest, NULL, 10) % 1000;
		if (time_ms >= 0) {
			audit_time_print(time_ms, again);
			if (strcmp(text, again) == 0)
				return time_ms;
		}
	}
	members->broken = true;
	return 0;
}

static const struct address *take_agent(struct members *members, struct address *room)
{
	const char *text = take_text(members, "agent", OPTIONAL);

	if (text == NULL)
		return NULL;
	if (address_parse(text, room) < 0)
		members->broken = true;
	return room;
}

static const struct name *take_name(struct members *members, struct name *room)
{
	const char *text = take_text(members, "name", OPTIONAL);

	if (text == NULL)
		return NULL;
	if (name_parse(text, room) < 0)
		members->broken = true;
	return room;
}

/* Take the addresses into memory of the entry's; how many there are. */
static unsigned take_addresses(struct members *members, struct address **ret_addresses)
{
	json_t *array = json_object_get(members->object, "addresses");
	size_t n = json_array_size(array);
	const char *text;

	if (array == NULL)
		return 0;
	if (!json_is_array(array) || n > LIMIT_ANSWER_ADDRESSES) {
		members->broken = true;
		return 0;
	}
	*ret_addresses = calloc(n + 1, sizeof(**ret_addresses));
	if (*ret_addresses == NULL) {
		members->broken = true;
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		text = json_string_value(json_array_get(array, i));
		if (text == NULL || address_parse(text, &(*ret_addresses)[i]) < 0)
			members->broken = true;
	}
	return (unsigned)n;
}

/* Take where the addresses are into memory of the entry's. */
static const struct origin *take_origins(struct members *members, unsigned n,
					 struct origin **ret_origins)
{
	json_t *countries = json_object_get(members->object, "countries");
	json_t *asns = json_object_get(members->object, "asns");

	if (countries == NULL && asns == NULL)
		return NULL;
	if ((countries != NULL && json_array_size(countries) != n) ||
	    (asns != NULL && json_array_size(asns) != n) ||
	    (*ret_origins = calloc(n + 1, sizeof(**ret_origins))) == NULL) {
		members->broken = true;
		return NULL;
	}
	for (size_t i = 0; i < n; i++) {
		const char *country = json_string_value(json_array_get(countries, i));
		json_t *asn = json_array_get(asns, i);
		struct origin *origin = &(*ret_origins)[i];

		if (country != NULL && strlen(country) < sizeof(origin->country))
			memcpy(origin->country, country, strlen(country));
		else if (countries != NULL)
			members->broken = true;
		if (json_is_integer(asn) && json_integer_value(asn) >= 0 &&
		    json_integer_value(asn) <= UINT32_MAX)
			origin->asn = (uint32_t)json_integer_value(asn);
		else if (asns != NULL)
			members->broken = true;
	}
	return *ret_origins;
}

static void take_record(struct members *members, struct audit_entry *entry)
{
	struct audit_record *record = &entry->record;

	record->generation = take_number(members, "generation", REQUIRED);
	record->action = take_text(members, "action", REQUIRED);
	record->agent = take_agent(members, &entry->agent);
	record->who = take_text(members, "who", OPTIONAL);
	record->name = take_name(members, &entry->name);
	record->type = take_text(members, "type", OPTIONAL);
	record->transport = take_text(members, "transport", OPTIONAL);
	record->verdict = take_text(members, "verdict", OPTIONAL);
	record->reason = take_text(members, "reason", OPTIONAL);
	record->grant = take_text(members, "grant", OPTIONAL);
	record->rcode = take_text(members, "rcode", OPTIONAL);
	record->n_addresses = take_addresses(members, &entry->addresses);
	record->addresses = entry->addresses;
	record->origins = take_origins(members, record->n_addresses, &entry->origins);
	record->detail = take_text(members, "detail", OPTIONAL);
	record->timed = json_object_get(members->object, "duration_us") != NULL;
	record->duration_us = take_number(members, "duration_us", OPTIONAL);
}

static bool is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

int audit_entry_parse(const char *text, size_t len, struct audit_entry *ret_entry)
{
	struct members members = { NULL, false };
	const char *prev;

	*ret_entry = (struct audit_entry){ .seq = 0 };
	if (len > LIMIT_AUDIT_LINE_BYTES || !is_printable(text, len))
		return -EBADMSG;
	members.object = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(members.object)) {
		json_decref(members.object);
		return -EBADMSG;
	}
	ret_entry->json = members.object;
	ret_entry->seq = take_number(&members, "seq", REQUIRED);
	ret_entry->time_ms = take_time(&members, "time");
	ret_entry->mono_us = take_number(&members, "mono_us", REQUIRED);
	take_record(&members, ret_entry);
	prev = take_text(&members, "prev", REQUIRED);
	if (!members.broken && ret_entry->seq > 0 && chain_is_hash(prev)) {
		memcpy(ret_entry->prev, prev, sizeof(ret_entry->prev));
		return 0;
	}
	audit_entry_done(ret_entry);
	return -EBADMSG;
}

void audit_entry_done(struct audit_entry *entry)
{
	json_decref(entry->json);
	free(entry->addresses);
	free(entry->origins);
	*entry = (struct audit_entry){ .seq = 0 };
}
