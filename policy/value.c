/* SPDX-License-Identifier: MIT */
#include "policy/value.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/limits.h"
#include "policy/geo.h"
#include "policy/host.h"
#include "policy/hours.h"
#include "policy/list.h"
#include "policy/value_word.h"

static void parse_text(struct value *v)
{
	size_t len = 0;
	char *text, *at;

	for (const struct read_piece *p = v->piece; p != NULL; p = p->next)
		len += strlen(p->text) + 1;
	text = at = load_keep(v->load, len);
	if (text == NULL)
		return;
	for (const struct read_piece *p = v->piece; p != NULL; p = p->next)
		at = stpcpy(stpcpy(at, at > text ? " " : ""), p->text);
	*(const char **)v->field = text;
}

static void parse_path(struct value *v)
{
	parse_text(v);

	const char *path = *(const char **)v->field;

	if (path != NULL && path[0] != '/')
		load_fault(v->load, value_here(v), "the value of `%s` is no absolute path",
			   v->row->key);
}

static void parse_files(struct value *v)
{
	(void)v;
}

/* The path of the file @word as the policy file @file names it: relative to that one. */
static const char *path_beside(struct load *load, const char *file, const char *word)
{
	const char *slash = strrchr(file, '/');
	size_t folder_len = slash != NULL && word[0] != '/' ? (size_t)(slash + 1 - file) : 0;
	size_t size = folder_len + strlen(word) + 1;
	char *path = load_keep(load, size);

	if (path != NULL)
		snprintf(path, size, "%.*s%s", (int)folder_len, file, word);
	return path;
}

static void parse_lists(struct value *v)
{
	struct value_list *list = v->field;
	struct list_file *files;
	const char *word;

	if (!value_make_room(v, list, sizeof(*files)))
		return;
	files = list->items;
	while ((word = value_next_word(v)) != NULL) {
		struct list_file *file = &files[list->n];

		file->word = word;
		file->path = path_beside(v->load, v->file, word);
		file->place = value_here(v);
		list->n += file->path != NULL;
	}
}

static void parse_word(struct value *v)
{
	const char *word = value_only_word(v);
	const char *at = v->row->words;

	if (word == NULL)
		return;
	for (uint64_t i = 0; *at != '\0'; i++) {
		size_t len = strcspn(at, " ");

		if (strlen(word) == len && memcmp(word, at, len) == 0) {
			*(uint64_t *)v->field = i;
			return;
		}
		at += len + (at[len] == ' ');
	}
	load_fault(v->load, value_here(v), "`%s` is none of: %s", word, v->row->words);
}

struct unit {
	const char *name;
	uint64_t times, over; /* in terms of the base unit */
};

static const struct unit no_units[] = { { "", 1, 1 }, { NULL, 0, 0 } };
static const struct unit duration_units[] = {
	{ "ms", 1, 1000 }, { "s", 1, 1 },     { "m", 60, 1 },
	{ "h", 3600, 1 },  { "d", 86400, 1 }, { NULL, 0, 0 }
};
static const struct unit size_units[] = { { "B", 1, 1 },
					  { "KiB", 1u << 10, 1 },
					  { "MiB", 1u << 20, 1 },
					  { "GiB", 1u << 30, 1 },
					  { NULL, 0, 0 } };

/* A number in @units; 0 needs none. What it stands for is told in @example if it is not right. */
static void parse_number(struct value *v, const struct unit *units, const char *example)
{
	const char *word = value_only_word(v);
	unsigned long long number;
	char *end;

	if (word == NULL)
		return;
	errno = 0;
	number = strtoull(word, &end, 10);
	while (units->name != NULL && strcmp(end, units->name) != 0 &&
	       !(number == 0 && *end == '\0'))
		units++;
	if (strspn(word, "0123456789") == 0 || errno != 0 || units->name == NULL) {
		load_fault(v->load, value_here(v), "`%s` is no %s, such as %s", word,
			   value_type_words(v->row->type), example);
		return;
	}
	if (number % units->over != 0 || number > UINT64_MAX / units->times ||
	    number * units->times / units->over < v->row->min ||
	    number * units->times / units->over > v->row->max) {
		load_fault(v->load, value_here(v),
			   "`%s` is out of range: `%s` goes from %llu to %llu%s", word, v->row->key,
			   (unsigned long long)v->row->min, (unsigned long long)v->row->max,
			   v->row->type == VALUE_DURATION ? " whole seconds"
			   : v->row->type == VALUE_SIZE   ? " bytes"
							  : "");
		return;
	}
	*(uint64_t *)v->field = number * units->times / units->over;
}

static void parse_count(struct value *v)
{
	parse_number(v, no_units, "1000");
}

static void parse_duration(struct value *v)
{
	parse_number(v, duration_units, "30s, 10m, 12h or 30d");
}

static void parse_size(struct value *v)
{
	parse_number(v, size_units, "64KiB or 100MiB");
}

static void parse_rate(struct value *v)
{
	const char *word = value_only_word(v);

	if (word != NULL && policy_rate_parse(word, v->field) < 0)
		load_fault(v->load, value_here(v),
			   "`%s` is no rate: it is NUMBER/s or NUMBER/m, of 1 to 1000000, such as "
			   "600/m",
			   word);
}

static void parse_date(struct value *v)
{
	const char *word = value_only_word(v);
	struct tm tm = { .tm_isdst = 0 };
	struct tm again;
	char text[16];
	time_t time;

	if (word == NULL)
		return;
	if (strptime(word, "%Y-%m-%d", &tm) != NULL) {
		time = timegm(&tm);
		/* What is not that day's only spelling, such as the 30th of February, is none. */
		if (gmtime_r(&time, &again) != NULL &&
		    strftime(text, sizeof(text), "%Y-%m-%d", &again) == 10 &&
		    strcmp(text, word) == 0) {
			*(int64_t *)v->field = time;
			return;
		}
	}
	load_fault(v->load, value_here(v), "`%s` is no date, such as 2027-02-28", word);
}

static bool pack_host(struct load *load, const struct host_parsed *parsed, struct host *host)
{
	char *wire;

	host->kind = parsed->kind;
	host->network = parsed->network;
	if (parsed->kind == HOST_LITERAL)
		return true;
	wire = load_scratch_text(load, (const char *)parsed->name.wire, parsed->name.len);
	host->wire = (const uint8_t *)wire;
	host->len = parsed->name.len;
	host->labels = parsed->name.labels;
	return wire != NULL;
}

static void parse_hosts(struct value *v)
{
	struct value_list *list = v->field;
	struct host *hosts = load_scratch(v->load, value_count_words(v) * sizeof(*hosts));
	struct host_parsed parsed;
	const char *word;
	struct err err;

	list->items = hosts;
	list->n = 0;
	if (hosts == NULL)
		return;
	while ((word = value_next_word(v)) != NULL) {
		struct host *host = &hosts[list->n];

		if (host_parse(word, &parsed, &err) < 0) {
			load_fault(v->load, value_here(v), "%s", err.text);
			continue;
		}
		host->line = v->line;
		host->text = word;
		list->n += pack_host(v->load, &parsed, host);
	}
}

/* Parse a port's number from @text up to one of @ends; -1 if there is none. */
static long parse_port_number(const char *text, const char *ends, char **ret_end)
{
	unsigned long number = strtoul(text, ret_end, 10);

	if (strspn(text, "0123456789") == 0 || *ret_end - text > 5 || number == 0 ||
	    number > UINT16_MAX || strchr(ends, **ret_end) == NULL)
		return -1;
	return (long)number;
}

/* Parse one of `port =`: NUMBER or FROM-TO, and /tcp or /udp. */
static bool parse_port(struct value *v, const char *word, struct policy_port *ret_port)
{
	char *end;
	long from = parse_port_number(word, "-/", &end);
	long to = from >= 0 && *end == '-' ? parse_port_number(end + 1, "/", &end) : from;
	const char *kind = from >= 0 && to >= 0 && *end == '/' ? end + 1 : "tcp";

	if (from < 0 || to < from) {
		load_fault(v->load, value_here(v),
			   "`%s` is no port: it is NUMBER or FROM-TO, of 1 to 65535", word);
		return false;
	}
	if (strcmp(kind, "tcp") != 0 && strcmp(kind, "udp") != 0) {
		load_fault(v->load, value_here(v), "`%s`: a port is /tcp or /udp", word);
		return false;
	}
	if ((from <= 53 && to >= 53) || (from <= 853 && to >= 853)) {
		load_fault(v->load, value_here(v),
			   "`%s`: port %d is never opened, since DNS is answered here alone", word,
			   from <= 53 && to >= 53 ? 53 : 853);
		return false;
	}
	*ret_port = (struct policy_port){ (uint16_t)from, (uint16_t)to,
					  strcmp(kind, "udp") == 0 ? IPPROTO_UDP : IPPROTO_TCP };
	return true;
}

static int compare_ports(const void *a, const void *b)
{
	const struct policy_port *x = a, *y = b;

	if (x->protocol != y->protocol)
		return x->protocol < y->protocol ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Join ports that overlap or touch; give how many there are one by one. */
static unsigned join_ports(struct value_list *list)
{
	struct policy_port *ports = list->items;
	unsigned n = 0, total = 0;

	if (list->n > 1)
		qsort(ports, list->n, sizeof(*ports), compare_ports);
	for (unsigned i = 0; i < list->n; i++) {
		struct policy_port *last = n > 0 ? &ports[n - 1] : NULL;

		if (last != NULL && last->protocol == ports[i].protocol &&
		    ports[i].from <= last->to + 1)
			last->to = ports[i].to > last->to ? ports[i].to : last->to;
		else
			ports[n++] = ports[i];
	}
	list->n = n;
	for (unsigned i = 0; i < n; i++)
		total += ports[i].to - ports[i].from + 1u;
	return total;
}

static void parse_ports(struct value *v)
{
	struct value_list *list = v->field;
	const char *word;

	if (!value_make_room(v, list, sizeof(struct policy_port)))
		return;
	while ((word = value_next_word(v)) != NULL)
		list->n += parse_port(v, word, (struct policy_port *)list->items + list->n);
	if (join_ports(list) > LIMIT_GRANT_PORTS)
		load_fault(v->load, value_here(v),
			   "a grant opens at most %d ports, ranges counted out", LIMIT_GRANT_PORTS);
}

static void parse_types(struct value *v)
{
	struct value_list *list = v->field;
	uint16_t *types;
	const char *word;

	if (!value_make_room(v, list, sizeof(*types)))
		return;
	types = list->items;
	while ((word = value_next_word(v)) != NULL) {
		int type = policy_type_parse(word);

		if (type < 0)
			load_fault(v->load, value_here(v), "`%s` is no record type", word);
		else if (type != 1 && type != 28)
			load_fault(v->load, value_here(v), "`%s`: only A and AAAA can be answered",
				   word);
		else
			types[list->n++] = (uint16_t)type;
	}
	value_drop_doubles(v, list, sizeof(*types));
}

/* Parse a list of countries, or of autonomous systems. */
static void parse_origins(struct value *v)
{
	bool countries = v->row->type == VALUE_COUNTRIES;
	struct value_list *list = v->field;
	struct origin *origins;
	const char *word;

	if (!value_make_room(v, list, sizeof(*origins)))
		return;
	origins = list->items;
	while ((word = value_next_word(v)) != NULL)
		if ((countries ? geo_country_parse(word, origins[list->n].country)
			       : geo_asn_parse(word, &origins[list->n].asn)) == 0)
			list->n++;
		else
			load_fault(v->load, value_here(v),
				   countries ? "`%s` is no country's code, such as DE (ISO 3166-1)"
					     : "`%s` is no autonomous system, such as AS15169",
				   word);
	value_drop_doubles(v, list, sizeof(*origins));
}

static void parse_hours(struct value *v)
{
	bool *week = load_scratch(v->load, HOURS_WEEK_MIN * sizeof(*week));
	struct value_list *list = v->field;
	unsigned days = 0, from, to;
	bool any = false;
	const char *word;

	if (week == NULL)
		return;
	while ((word = value_next_word(v)) != NULL) {
		if (hours_parse_days(word, &days))
			continue;
		if (!hours_parse_times(word, &from, &to))
			load_fault(v->load, value_here(v),
				   "`%s` is neither days, such as Mon-Fri or Sat, nor hours, such "
				   "as 08:00-18:00 or 22:00-06:00",
				   word);
		else if (days == 0)
			load_fault(v->load, value_here(v),
				   "`%s` stands without days before it, as in Mon-Sun %s", word,
				   word);
		else
			hours_mark(week, days, from, to);
		days = 0;
		any = true;
	}
	if (days != 0 || !any)
		load_fault(v->load, value_here(v),
			   "`hours` ends with days without hours behind them, as in "
			   "Sat 00:00-24:00");
	list->items = hours_collect(v->load, week, &list->n);
}

static void parse_labels(struct value *v)
{
	struct value_list *list = v->field;
	struct value_label *labels;
	const char *word;

	if (!value_make_room(v, list, sizeof(*labels)))
		return;
	labels = list->items;
	while ((word = value_next_word(v)) != NULL)
		labels[list->n++] =
			(struct value_label){ load_keep_text(v->load, word), value_here(v) };
}

static const struct {
	const char *words;
	void (*parse)(struct value *v);
} types[] = {
	[VALUE_TEXT] = { "text", parse_text },
	[VALUE_PATH] = { "path", parse_path },
	[VALUE_FILES] = { "list of files", parse_files },
	[VALUE_LISTS] = { "list of files", parse_lists },
	[VALUE_WORD] = { "word", parse_word },
	[VALUE_COUNT] = { "number", parse_count },
	[VALUE_DURATION] = { "duration", parse_duration },
	[VALUE_SIZE] = { "size", parse_size },
	[VALUE_RATE] = { "rate", parse_rate },
	[VALUE_DATE] = { "date", parse_date },
	[VALUE_HOSTS] = { "list of hosts", parse_hosts },
	[VALUE_PORTS] = { "list of ports", parse_ports },
	[VALUE_TYPES] = { "list of record types", parse_types },
	[VALUE_COUNTRIES] = { "list of countries", parse_origins },
	[VALUE_ASNS] = { "list of autonomous systems", parse_origins },
	[VALUE_ADDRESSES] = { "list of addresses", value_parse_addresses },
	[VALUE_NETWORKS] = { "list of networks", value_parse_networks },
	[VALUE_ENDPOINTS] = { "list of endpoints", value_parse_endpoints },
	[VALUE_UPSTREAMS] = { "auto, or list of servers", value_parse_upstreams },
	[VALUE_TABLE] = { "family and table", value_parse_table },
	[VALUE_INTERFACES] = { "list of interfaces", value_parse_interfaces },
	[VALUE_PUSHES] = { "list of sets", value_parse_pushes },
	[VALUE_HOURS] = { "list of days and hours", parse_hours },
	[VALUE_LABELS] = { "list of labels", parse_labels },
};
static_assert(sizeof(types) / sizeof(types[0]) == N_VALUE_TYPES, "a type has no row");

const char *value_type_words(enum value_type type)
{
	return types[type].words;
}

void value_parse(struct load *load, const struct schema_key *row, struct read_entry *entry,
		 struct draft *draft)
{
	struct value v = {
		.load = load,
		.row = row,
		.file = entry->place.file,
		.line = entry->place.line,
		.piece = entry->pieces,
		.field = (char *)draft + row->field,
	};

	if (entry->pieces == NULL ||
	    (entry->pieces->next == NULL && *entry->pieces->text == '\0')) {
		load_fault(load, entry->place, "`%s` has no value", row->key);
		return;
	}
	v.rest = v.piece->text;
	types[row->type].parse(&v);
}

void value_default(struct load *load, const struct schema_key *row, struct draft *draft)
{
	struct read_piece piece = { .line = 0 };
	struct read_entry entry = { .key = row->key, .place = { "built in", 0 }, .pieces = &piece };

	if (row->value == NULL)
		return;
	piece.text = load_scratch_text(load, row->value, strlen(row->value));
	if (piece.text != NULL)
		value_parse(load, row, &entry, draft);
}
