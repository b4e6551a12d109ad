/* SPDX-License-Identifier: MIT */
#include "policy/host.h"

#include <ctype.h>
#include <errno.h>
#include <idn2.h>
#include <libpsl.h>
#include <string.h>
#include "base/own.h"
#include "policy/policy.h"

enum { HOST_TEXT_MAX = 400 }; /* so that a message that quotes it fits */

static void free_idn(char **text)
{
	idn2_free(*text);
}

static bool is_ascii(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text > 0x7f)
			return false;
	return true;
}

/*
 * Whether the last label of @text makes it an address to those who parse URLs (WHATWG URL, "ends
 * in a number"): all digits, or hexadecimal behind 0x. Such names, 127.1 or 0x7f000001 among
 * them, reach what they do not seem to.
 */
static bool ends_in_number(const char *text)
{
	const char *dot = strrchr(text, '.');
	const char *last = dot != NULL ? dot + 1 : text;

	if (*last == '\0')
		return false;
	if (last[0] == '0' && (last[1] == 'x' || last[1] == 'X'))
		return last[2 + strspn(last + 2, "0123456789abcdefABCDEF")] == '\0';
	return last[strspn(last, "0123456789")] == '\0';
}

/* Letters, digits, hyphens, underscores and dots: what a host's name is made of. */
static bool is_host_text(const char *text)
{
	for (; *text != '\0'; text++)
		if (!isalnum((unsigned char)*text) && strchr("-_.", *text) == NULL)
			return false;
	return true;
}

/* Turn U-labels into A-labels (UTS 46, nontransitional). Owns: idn2_free() @ret_text. */
static int to_ascii(const char *text, char **ret_text, struct err *err)
{
	int r = idn2_to_ascii_8z(text, ret_text, IDN2_NONTRANSITIONAL | IDN2_NFC_INPUT);

	if (r != IDN2_OK)
		return err_set(err, -EINVAL, "`%s` is no valid international name: %s", text,
			       idn2_strerror(r));
	return 0;
}

/* Parse @text, which has no `*`. */
static int parse_name(const char *text, struct name *ret_name, struct err *err)
{
	OWN(free_idn) char *converted = NULL;
	size_t len;

	if (!is_ascii(text)) {
		if (to_ascii(text, &converted, err) < 0)
			return err->code;
		text = converted;
	}
	if (!is_host_text(text))
		return err_set(err, -EINVAL,
			       "`%s` is no name: a host has letters, digits, `-`, `_` and dots",
			       text);
	len = strlen(text);
	if (len > 1 && text[len - 1] == '.')
		len--;

	char bare[NAME_TEXT_SIZE];

	if (len == 0 || len > NAME_WIRE_MAX)
		return err_set(err, -EINVAL, "`%s` is no name: it has 1 to 253 bytes", text);
	memcpy(bare, text, len);
	bare[len] = '\0';
	if (ends_in_number(bare))
		return err_set(err, -EINVAL,
			       "`%s` is neither a name nor an address: a name does not end in a "
			       "number, and an address is written in full",
			       text);
	/* One final dot is gone by now. */
	if (bare[len - 1] == '.' || name_parse(bare, ret_name) < 0)
		return err_set(err, -EINVAL,
			       "`%s` is no name: its labels have 1 to 63 bytes, in all 253", text);
	return 0;
}

/* Say what @text, which holds what no host does, seems to be. */
static int refuse_shape(const char *text, struct err *err)
{
	if (strstr(text, "://") != NULL)
		return err_set(err, -EINVAL, "`%s` is a URL; write its host alone", text);
	if (text[0] == '[')
		return err_set(err, -EINVAL,
			       "`%s`: an IPv6 address stands without brackets, "
			       "and its port in `port =`",
			       text);
	if (strchr(text, ',') != NULL)
		return err_set(err, -EINVAL, "`%s`: hosts are separated by blanks", text);
	if (strchr(text, '/') != NULL)
		return err_set(err, -EINVAL, "`%s` is no network: it is ADDRESS/PREFIX", text);
	return err_set(err, -EINVAL,
		       "`%s` is neither a name nor an address; a port is written in "
		       "`port =`",
		       text);
}

static int parse_wildcard(const char *text, struct host_parsed *parsed, struct err *err)
{
	parsed->kind = HOST_WILDCARD;
	if (strcmp(text, "*") == 0)
		return name_parse(".", &parsed->name);
	if (strncmp(text, "*.", 2) != 0 || strchr(text + 1, '*') != NULL)
		return err_set(err, -EINVAL,
			       "`%s`: `*` stands only as the whole first label, as in "
			       "`*.example.com`",
			       text);
	return parse_name(text + 2, &parsed->name, err);
}

int host_parse(const char *text, struct host_parsed *ret_parsed, struct err *err)
{
	struct host_parsed parsed = { .kind = HOST_LITERAL };
	int r = network_parse(text, &parsed.network);

	if (strlen(text) > HOST_TEXT_MAX)
		return err_set(err, -EINVAL, "a host of %zu bytes is too long", strlen(text));
	if (r == -ERANGE)
		return err_set(err, -EINVAL, "`%s` has bits set behind its prefix", text);
	if (r < 0) {
		if (strpbrk(text, "/:[],") != NULL)
			return refuse_shape(text, err);
		parsed.kind = HOST_NAME;
		r = strchr(text, '*') != NULL ? parse_wildcard(text, &parsed, err)
					      : parse_name(text, &parsed.name, err);
	}
	if (r == 0)
		*ret_parsed = parsed;
	return r;
}

int policy_name_parse(const char *text, struct name *ret_name, struct err *err)
{
	OWN(free_idn) char *converted = NULL;

	if (!is_ascii(text)) {
		if (to_ascii(text, &converted, err) < 0)
			return err->code;
		text = converted;
	}
	if (name_parse(text, ret_name) < 0)
		return err_set(err, -EINVAL, "`%s` is no name", text);
	return 0;
}

bool host_name(const struct host *host, struct name *ret_name)
{
	if (host->kind == HOST_LITERAL)
		return false;
	ret_name->len = host->len;
	ret_name->labels = host->labels;
	memcpy(ret_name->wire, host->wire, host->len);
	return true;
}

bool host_is_public_suffix(const struct name *name)
{
	const psl_ctx_t *psl = psl_builtin();
	char text[NAME_TEXT_SIZE];

	if (name->labels == 0)
		return true;
	name_print(name, text);
	/* Without a list, every wildcard is as wide as it can be. */
	return psl == NULL || psl_is_public_suffix2(psl, text, PSL_TYPE_ANY);
}

/* How many labels of @text begin at byte @from or behind it, and the one that it lies in. */
static unsigned labels_from(const char *text, size_t from)
{
	unsigned labels = 1;

	for (size_t i = 0; text[i] != '\0'; i++)
		if (text[i] == '\\')
			i++; /* a dot behind it is part of a label */
		else if (text[i] == '.' && i >= from)
			labels++;
	return labels;
}

unsigned host_domain_labels(const struct name *name)
{
	enum { LABELS_MAX = 8 }; /* more than any public suffix has */
	const psl_ctx_t *psl = psl_builtin();
	unsigned skip = name->labels > LABELS_MAX ? name->labels - LABELS_MAX : 0;
	char text[NAME_TEXT_SIZE];
	struct name tail;
	const uint8_t *wire;
	const char *domain;
	size_t len;

	/* Without a list, all below a top-level domain counts as one. */
	if (psl == NULL)
		return name->labels > 0;
	wire = name_suffix(name, skip, &len);
	tail.len = (uint8_t)len;
	tail.labels = (uint8_t)(name->labels - skip);
	memcpy(tail.wire, wire, len);
	name_print(&tail, text);
	domain = psl_registrable_domain(psl, text);
	return domain != NULL ? labels_from(text, (size_t)(domain - text)) : 0;
}
