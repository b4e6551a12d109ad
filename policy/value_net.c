/* SPDX-License-Identifier: MIT */
/* Values that name addresses, servers, and what the kernel calls by a name. */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "base/limits.h"
#include "policy/host.h"
#include "policy/value_word.h"

void value_parse_addresses(struct value *v)
{
	struct value_list *list = v->field;
	struct address *addresses;
	const char *word;

	if (!value_make_room(v, list, sizeof(*addresses)))
		return;
	addresses = list->items;
	while ((word = value_next_word(v)) != NULL)
		if (address_parse(word, &addresses[list->n]) == 0)
			list->n++;
		else
			load_fault(v->load, value_here(v), "`%s` is no address", word);
	value_drop_doubles(v, list, sizeof(*addresses));
}

void value_parse_networks(struct value *v)
{
	struct value_list *list = v->field;
	struct network *networks;
	const char *word;

	if (!value_make_room(v, list, sizeof(*networks)))
		return;
	networks = list->items;
	while ((word = value_next_word(v)) != NULL) {
		int r = network_parse(word, &networks[list->n]);

		if (r == 0)
			list->n++;
		else if (r == -ERANGE)
			load_fault(v->load, value_here(v), "`%s` has bits set behind its prefix",
				   word);
		else
			load_fault(v->load, value_here(v),
				   "`%s` is no network: it is ADDRESS or ADDRESS/PREFIX", word);
	}
	value_drop_doubles(v, list, sizeof(*networks));
}

static void add_endpoint(struct value *v, struct value_list *list, const char *word)
{
	struct endpoint *endpoints = list->items;

	if (endpoint_parse(word, 53, &endpoints[list->n]) == 0)
		list->n++;
	else
		load_fault(v->load, value_here(v),
			   "`%s` is no endpoint: it is ADDRESS, ADDRESS:PORT or "
			   "[IPV6-ADDRESS]:PORT",
			   word);
}

void value_parse_endpoints(struct value *v)
{
	struct value_list *list = v->field;
	const char *word;

	if (!value_make_room(v, list, sizeof(struct endpoint)))
		return;
	while ((word = value_next_word(v)) != NULL)
		add_endpoint(v, list, word);
	value_drop_doubles(v, list, sizeof(struct endpoint));
}

/* Read `ADDRESS[:PORT][#NAME]`, which stood behind `tls://`. */
static bool parse_tls(struct value *v, const char *text, struct policy_upstream *upstream)
{
	const char *hash = strchr(text, '#');
	char endpoint[ENDPOINT_TEXT_SIZE];
	size_t len = hash != NULL ? (size_t)(hash - text) : strlen(text);
	struct name name;

	upstream->tls = true;
	if (len >= sizeof(endpoint))
		return false;
	memcpy(endpoint, text, len);
	endpoint[len] = '\0';
	if (endpoint_parse(endpoint, 853, &upstream->endpoint) < 0)
		return false;
	if (hash == NULL)
		return true;
	if (name_parse(hash + 1, &name) < 0 || name.labels < 2 ||
	    hash[1 + strspn(hash + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-._")] != '\0')
		return false;
	upstream->name = load_keep_text(v->load, hash + 1);
	return true;
}

static void add_upstream(struct value *v, struct value_list *list, const char *word)
{
	struct policy_upstream *upstreams = list->items;
	struct policy_upstream upstream = { .place = value_here(v) };
	bool good = strncmp(word, "tls://", 6) == 0
			    ? parse_tls(v, word + 6, &upstream)
			    : endpoint_parse(word, 53, &upstream.endpoint) == 0;

	if (!good) {
		load_fault(
			v->load, value_here(v),
			"`%s` is no upstream: it is ADDRESS or ADDRESS:PORT, with "
			"tls://ADDRESS#NAME or tls://ADDRESS:PORT#NAME if it is asked by TLS; an "
			"IPv6 address before a port stands in brackets",
			word);
		return;
	}
	for (unsigned i = 0; i < list->n; i++)
		if (upstream.tls == upstreams[i].tls &&
		    endpoint_equal(&upstream.endpoint, &upstreams[i].endpoint)) {
			load_warn(v->load, value_here(v), "`%s` lists the same value twice",
				  v->row->key);
			return;
		}
	if (list->n == POLICY_UPSTREAMS_MAX)
		load_fault(v->load, value_here(v), "there are at most %d upstreams",
			   POLICY_UPSTREAMS_MAX);
	else
		upstreams[list->n++] = upstream;
}

void value_parse_upstreams(struct value *v)
{
	struct value_list *list = v->field;
	bool automatic = false;
	unsigned n_words = 0;
	const char *word;

	if (!value_make_room(v, list, sizeof(struct policy_upstream)))
		return;
	for (; (word = value_next_word(v)) != NULL; n_words++)
		if (strcmp(word, "auto") == 0)
			automatic = true;
		else
			add_upstream(v, list, word);
	if (automatic && n_words > 1)
		load_fault(v->load, value_here(v), "`auto` stands alone in `%s`", v->row->key);
}

/* True if @text can stand in a ruleset as the name of a table or a set. */
static bool is_nft_name(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
	static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				  "0123456789.-";

	return strspn(text, letters) > 0 && text[strspn(text, all)] == '\0' && strlen(text) < 128;
}

void value_parse_table(struct value *v)
{
	const char *family = value_next_word(v);
	const char *table = value_next_word(v);

	if (table == NULL || value_next_word(v) != NULL || strcmp(family, "inet") != 0 ||
	    !is_nft_name(table)) {
		load_fault(v->load, value_here(v),
			   "a table is `inet NAME`, its name of letters, digits, "
			   "`_`, `-` and `.`");
		return;
	}
	*(const char **)v->field = load_keep_text(v->load, table);
}

void value_parse_interfaces(struct value *v)
{
	static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_.-@";
	struct value_list *list = v->field;
	const char **interfaces;
	const char *word;

	if (!value_make_room(v, list, sizeof(*interfaces)))
		return;
	interfaces = list->items;
	while ((word = value_next_word(v)) != NULL)
		if (strlen(word) <= 15 && word[strspn(word, all)] == '\0')
			interfaces[list->n++] = load_keep_text(v->load, word);
		else
			load_fault(v->load, value_here(v), "`%s` is no interface's name", word);
}

static void parse_push(struct value *v, const struct read_piece *piece, struct value_list *list)
{
	struct policy_push *pushes = list->items;
	char *rest = piece->text;
	const char *family = strtok_r(rest, " \t", &rest);
	const char *table = strtok_r(rest, " \t", &rest);
	const char *set = strtok_r(rest, " \t", &rest);

	v->line = piece->line;
	if (set == NULL || strtok_r(rest, " \t", &rest) != NULL ||
	    (strcmp(family, "ip") != 0 && strcmp(family, "ip6") != 0 &&
	     strcmp(family, "inet") != 0) ||
	    !is_nft_name(table) || !is_nft_name(set)) {
		load_fault(v->load, value_here(v),
			   "each line of `push` is FAMILY TABLE SET, "
			   "the family ip, ip6 or inet");
		return;
	}
	pushes[list->n++] = (struct policy_push){ load_keep_text(v->load, family),
						  load_keep_text(v->load, table),
						  load_keep_text(v->load, set), value_here(v) };
}

void value_parse_pushes(struct value *v)
{
	struct value_list *list = v->field;

	if (!value_make_room(v, list, sizeof(struct policy_push)))
		return;
	for (const struct read_piece *p = v->piece; p != NULL; p = p->next)
		parse_push(v, p, list);
}
