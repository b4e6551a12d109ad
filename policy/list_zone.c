/* SPDX-License-Identifier: MIT */
/*
 * RPZ zones (draft-vixie-dnsop-dns-rpz) as zone files (RFC 1035, 5). Names
 * are all that triggers: an owner, relative to the zone's own name, with
 * `CNAME .`, `CNAME *.` or `CNAME rpz-drop.` is denied. Triggers that judge
 * addresses or servers are faults, since they would deny what is not denied
 * here; an action that allows is a warning, since here only grants do. A name
 * with data of its own (a walled garden) is denied, and its data never told.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include "policy/list_line.h"
#include "policy/policy.h"

enum {
	TYPE_A = 1,
	TYPE_NS = 2,
	TYPE_CNAME = 5,
	TYPE_SOA = 6,
	TYPE_AAAA = 28,
	TYPE_DS = 43,
	TYPE_RRSIG = 46,
	TYPE_NSEC = 47,
	TYPE_DNSKEY = 48,
	TYPE_NSEC3 = 50,
	TYPE_NSEC3PARAM = 51,
	TYPE_ZONEMD = 63,
};

/* A word of a line. */
struct word {
	char text[NAME_TEXT_SIZE + 4];
	bool is_long; /* it does not fit */
};

/* Tell of a fault of the record under way, of which no more is read. */
#define lose(list, ...)                                                 \
	do {                                                            \
		load_fault((list)->load, list_here(list), __VA_ARGS__); \
		(list)->zone.state = ZONE_LOST;                         \
	} while (0)

/* A number, or several with units: 3600, 1h30m. */
static bool is_ttl(const char *word)
{
	return isdigit((unsigned char)word[0]) &&
	       word[strspn(word, "0123456789smhdwSMHDW")] == '\0';
}

bool zone_is_field(const char *word)
{
	return is_ttl(word) || strcasecmp(word, "IN") == 0 || policy_type_parse(word) >= 0;
}

/* Put @tail behind @name, both absolute without their roots being told apart. */
static bool append(struct name *name, const struct name *tail)
{
	if (name->len - 1 + tail->len > NAME_WIRE_MAX)
		return false;
	memcpy(name->wire + name->len - 1, tail->wire, tail->len);
	name->len = (uint8_t)(name->len - 1 + tail->len);
	name->labels = (uint8_t)(name->labels + tail->labels);
	return true;
}

static bool is_absolute(const char *text, size_t len)
{
	size_t slashes = 0;

	while (slashes + 1 < len && text[len - 2 - slashes] == '\\')
		slashes++;
	return len > 0 && text[len - 1] == '.' && slashes % 2 == 0;
}

/* Parse @text as it stands, relative or not; U-labels are turned into A-labels. */
static int parse_text(const char *text, size_t len, bool absolute, struct name *ret_name)
{
	struct err err;

	if (list_parse_quickly(text, absolute ? len - 1 : len, ret_name))
		return 0;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] > 0x7f)
			return policy_name_parse(text, ret_name, &err);
	return name_parse(text, ret_name);
}

/*
 * Parse @text, a name of a zone file, `@` and wildcards among them. Gives an absolute one.
 *
 * Fails  -EINVAL.
 */
static int parse_name(const struct zone *zone, const char *text, struct name *ret_name,
		      bool *ret_wildcard, bool *ret_absolute)
{
	struct name name = { .len = 1 };
	size_t len = strlen(text);

	*ret_absolute = is_absolute(text, len);
	*ret_wildcard = strcmp(text, "*") == 0 || strncmp(text, "*.", 2) == 0;
	if (strcmp(text, "@") == 0) {
		*ret_name = zone->origin;
		return 0;
	}
	if (*ret_wildcard) {
		text += len > 1 ? 2 : 1;
		len -= len > 1 ? 2 : 1;
	}
	if (len > 0 && parse_text(text, len, *ret_absolute, &name) < 0)
		return -EINVAL;
	if (!*ret_absolute && !append(&name, &zone->origin))
		return -EINVAL;
	*ret_name = name;
	return 0;
}

/*
 * Take the next word off *@at: up to a blank, a parenthesis or a comment, or to the end of its
 * quotes. False at the end of the line, and, with a fault, if quotes are not closed.
 */
static bool next_word(struct list *list, const char **at, struct word *ret)
{
	struct zone *zone = &list->zone;
	size_t len = 0;
	const char *text;
	bool quoted;

	for (;; ++*at) {
		*at += strspn(*at, " \t");
		if (**at == '(')
			zone->depth++;
		else if (**at == ')' && zone->depth > 0)
			zone->depth--;
		else if (**at == ')')
			lose(list, "`)` closes nothing");
		else
			break;
	}
	if (**at == '\0' || **at == ';')
		return false;
	quoted = **at == '"';
	text = *at + quoted;
	while (text[len] != '\0' && (quoted ? text[len] != '"' : !strchr(" \t();\"", text[len])))
		len += text[len] == '\\' && text[len + 1] != '\0' ? 2 : 1;
	*at = text + len + (quoted && text[len] == '"');
	if (quoted && text[len] != '"') {
		lose(list, "a quote is not closed");
		return false;
	}
	ret->is_long = len >= sizeof(ret->text);
	len = ret->is_long ? 0 : len;
	memcpy(ret->text, text, len);
	ret->text[len] = '\0';
	return true;
}

static void set_origin(struct list *list, const char *text)
{
	struct zone *zone = &list->zone;
	struct name origin;
	bool wildcard, absolute;

	if (parse_name(zone, text, &origin, &wildcard, &absolute) < 0 || wildcard) {
		load_fault(list->load, list_here(list), "`%.255s` is no origin", text);
		list->hopeless = true; /* nothing behind it would mean what it says */
		return;
	}
	zone->origin = origin;
	zone->has_origin = true;
	if (!zone->has_apex && origin.labels > 0) {
		zone->apex = origin;
		zone->has_apex = true;
	}
}

/* A line that begins with `$`. */
static void directive(struct list *list, const char *at)
{
	struct word word = { .text = "" }, value = { .text = "" };
	bool whole;

	if (!next_word(list, &at, &word))
		return;
	whole = next_word(list, &at, &value) && !value.is_long;
	if (strcasecmp(word.text, "$TTL") == 0 && whole && is_ttl(value.text))
		return;
	if (strcasecmp(word.text, "$ORIGIN") == 0 && whole)
		set_origin(list, value.text);
	else
		load_fault(list->load, list_here(list),
			   "`%.64s`: of directives, only `$ORIGIN NAME` and `$TTL SECONDS` are "
			   "read",
			   word.text);
}

/* Begin a record with its owner, @text. */
static void begin_record(struct list *list, const struct word *word)
{
	struct zone *zone = &list->zone;

	zone->has_owner = true;
	zone->owner_lost =
		word->is_long || parse_name(zone, word->text, &zone->owner, &zone->owner_wildcard,
					    &zone->owner_absolute) < 0;
	if (zone->owner_lost)
		lose(list, "`%.255s` is no name", word->text);
}

/* The next field of a record whose type is not read yet. */
static void take_field(struct list *list, const struct word *word)
{
	struct zone *zone = &list->zone;

	if (is_ttl(word->text) || strcasecmp(word->text, "IN") == 0)
		return;
	zone->type = word->is_long ? -EINVAL : policy_type_parse(word->text);
	if (zone->type < 0)
		lose(list, "`%.64s` is no record type; a record is `NAME [TTL] [IN] TYPE DATA`",
		     word->text);
	else
		zone->state = ZONE_DATA;
}

static void take_word(struct list *list, const struct word *word)
{
	struct zone *zone = &list->zone;

	if (zone->state == ZONE_TYPE) {
		take_field(list, word);
	} else if (zone->state == ZONE_DATA && zone->n_data++ == 0) {
		size_t len = strlen(word->text);

		zone->data_long = word->is_long || len >= sizeof(zone->data);
		memcpy(zone->data, word->text, zone->data_long ? 0 : len);
		zone->data[zone->data_long ? 0 : len] = '\0';
	}
}

/* Warn once that an exception stands in the zone. */
static void tell_exception(struct list *list)
{
	if (!list->zone.told_exception)
		load_warn(list->load, list_here(list),
			  "an exception, such as `rpz-passthru.`, has no effect: what excepts a "
			  "name is a grant that lists it");
	list->zone.told_exception = true;
}

/* Warn once that what the zone would answer is not answered. */
static void tell_data(struct list *list)
{
	if (!list->zone.told_data)
		load_warn(
			list->load, list_here(list),
			"a name that has data of its own is denied, and the data is not answered");
	list->zone.told_data = true;
}

/* What is left of the owner without the zone's own name; false, and a fault, if nothing is. */
static bool find_trigger(struct list *list, struct name *ret_trigger)
{
	struct zone *zone = &list->zone;

	if (zone->owner_absolute && !zone->has_apex) {
		lose(list, "the name ends in a dot, and neither $ORIGIN nor a SOA record says "
			   "which zone it is in");
		return false;
	}
	if (!name_equal(&zone->owner, &zone->apex) && !name_is_below(&zone->owner, &zone->apex)) {
		lose(list, "the name is not in the zone");
		return false;
	}
	ret_trigger->len = (uint8_t)(zone->owner.len - zone->apex.len + 1);
	ret_trigger->labels = (uint8_t)(zone->owner.labels - zone->apex.labels);
	memcpy(ret_trigger->wire, zone->owner.wire, ret_trigger->len);
	ret_trigger->wire[ret_trigger->len - 1] = 0;
	return true;
}

/* Whether the last label of @trigger makes it one of another kind than a name: a fault. */
static bool is_other_trigger(struct list *list, const struct name *trigger)
{
	static const char *const kinds[] = { "rpz-ip", "rpz-client-ip", "rpz-nsip", "rpz-nsdname" };
	const uint8_t *last;
	size_t len;

	if (trigger->labels == 0)
		return false;
	last = name_suffix(trigger, trigger->labels - 1u, &len);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (last[0] != strlen(kinds[i]) || memcmp(last + 1, kinds[i], last[0]) != 0)
			continue;
		lose(list, "a trigger of the kind `%s`; only names are denied by a list", kinds[i]);
		return true;
	}
	return false;
}

/* Whether the record's CNAME to @target leaves @trigger as it is, be it in the old way, to itself. */
static bool is_exception(const struct zone *zone, const struct name *trigger)
{
	struct name target;

	if (strcasecmp(zone->data, "rpz-passthru.") == 0 ||
	    strcasecmp(zone->data, "rpz-tcp-only.") == 0)
		return true;
	return !zone->owner_wildcard && is_absolute(zone->data, strlen(zone->data)) &&
	       name_parse(zone->data, &target) == 0 && name_equal(&target, trigger);
}

/* A record of the name @trigger. */
static void take_trigger(struct list *list, const struct name *trigger)
{
	struct zone *zone = &list->zone;

	if (zone->type == TYPE_CNAME && (zone->n_data != 1 || zone->data_long)) {
		lose(list, "a CNAME has one name");
		return;
	}
	if (zone->type == TYPE_CNAME && is_exception(zone, trigger)) {
		zone->has_triggers = true;
		tell_exception(list);
		return;
	}
	if (zone->type == TYPE_CNAME) {
		if (strcmp(zone->data, ".") != 0 && strcmp(zone->data, "*.") != 0 &&
		    strcasecmp(zone->data, "rpz-drop.") != 0)
			tell_data(list);
	} else if ((zone->type != TYPE_A && zone->type != TYPE_AAAA) ||
		   !list_is_nowhere(zone->data)) {
		tell_data(list);
	}
	zone->has_triggers = true;
	list_take(list, trigger, zone->owner_wildcard);
}

/* The SOA record: its owner is the zone's own name, and, if nothing says else, the origin. */
static void take_apex(struct list *list)
{
	struct zone *zone = &list->zone;

	if (zone->has_triggers && !name_equal(&zone->owner, &zone->apex)) {
		lose(list, "this SOA says that the zone is another than that of the names before "
			   "it");
		return;
	}
	zone->apex = zone->owner;
	zone->has_apex |= zone->owner.labels > 0;
	if (!zone->has_origin && zone->has_apex) {
		zone->origin = zone->apex;
		zone->has_origin = true;
	}
}

static bool is_of_dnssec(int type)
{
	return type == TYPE_DS || (type >= TYPE_RRSIG && type <= TYPE_DNSKEY) ||
	       type == TYPE_NSEC3 || type == TYPE_NSEC3PARAM || type == TYPE_ZONEMD;
}

/* The record under way is whole. */
static void end_record(struct list *list)
{
	struct zone *zone = &list->zone;
	struct name trigger;

	if (zone->state == ZONE_TYPE || (zone->state == ZONE_DATA && zone->n_data == 0))
		lose(list, "the record has no data; it is `NAME [TTL] [IN] TYPE DATA`");
	if (zone->state == ZONE_DATA && zone->type == TYPE_SOA)
		take_apex(list);
	else if (zone->state == ZONE_DATA && !is_of_dnssec(zone->type) &&
		 find_trigger(list, &trigger) && !is_other_trigger(list, &trigger) &&
		 (trigger.labels > 0 || zone->owner_wildcard))
		take_trigger(list, &trigger);
	zone->state = ZONE_BETWEEN;
}

/* The beginning of a record: its owner, or a blank and the owner of the last. */
static const char *begin_line(struct list *list)
{
	struct zone *zone = &list->zone;
	const char *at = list->text;
	struct word word = { .text = "" };

	zone->state = ZONE_TYPE;
	zone->begun = list->line;
	zone->n_data = 0;
	if (*at == ' ' || *at == '\t') {
		if (!zone->has_owner)
			lose(list, "the record has no owner, and there is none before it");
		else if (zone->owner_lost)
			zone->state = ZONE_LOST;
	} else if (next_word(list, &at, &word)) {
		begin_record(list, &word);
	} else {
		lose(list, "a record begins with its name");
	}
	return at;
}

void zone_line(struct list *list)
{
	struct zone *zone = &list->zone;
	const char *at = list->text;
	struct word word;

	if (zone->depth == 0 && *at == '$') {
		directive(list, at);
		zone->depth = 0;
		zone->state = ZONE_BETWEEN;
		return;
	}
	if (zone->depth == 0)
		at = begin_line(list);
	while (next_word(list, &at, &word))
		take_word(list, &word);
	if (zone->depth == 0)
		end_record(list);
}

void zone_end(struct list *list)
{
	if (list->zone.depth > 0)
		load_fault(list->load, (struct policy_place){ list->file, list->zone.begun },
			   "the record is not closed by `)`; is the file whole?");
}
