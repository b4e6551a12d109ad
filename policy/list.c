/* SPDX-License-Identifier: MIT */
#include "policy/list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include "base/address.h"
#include "base/own.h"
#include "policy/host.h"
#include "policy/list_line.h"
#include "policy/utf8.h"

void list_take(struct list *list, const struct name *name, bool wildcard)
{
	struct load *load = list->load;

	list->n_names++;
	if (load->n_list_names == LIMIT_LIST_NAMES) {
		load_fault(load, list_here(list), "the lists hold more than %d names",
			   LIMIT_LIST_NAMES);
		list->hopeless = true;
		return;
	}
	load->n_list_names++;
	list->take(list->user, name, wildcard, list->line);
}

bool list_parse_quickly(const char *text, size_t len, struct name *ret_name)
{
	uint8_t *wire = ret_name->wire;
	size_t label = 0; /* where the length of the label under way goes */
	unsigned labels = 1;

	if (len == 0 || len > NAME_WIRE_MAX - 2)
		return false;
	for (size_t i = 0; i < len; i++) {
		uint8_t byte = name_lower((uint8_t)text[i]);

		if (byte == '.') {
			if (i == label || i - label > NAME_LABEL_MAX)
				return false;
			wire[label] = (uint8_t)(i - label);
			label = i + 1;
			labels++;
		} else if ((byte < 'a' || byte > 'z') && (byte < '0' || byte > '9') &&
			   byte != '-' && byte != '_') {
			return false;
		}
		wire[i + 1] = byte;
	}
	/* What ends in a number is a matter for host_parse(). */
	if (len == label || len - label > NAME_LABEL_MAX ||
	    (text[label] >= '0' && text[label] <= '9'))
		return false;
	wire[label] = (uint8_t)(len - label);
	wire[len + 1] = 0;
	ret_name->len = (uint8_t)(len + 2);
	ret_name->labels = (uint8_t)labels;
	return true;
}

/* Take @word, a name or a wildcard, as `host =` would. */
static void take_host(struct list *list, const char *word)
{
	bool wildcard = word[0] == '*' && word[1] == '.';
	const char *bare = wildcard ? word + 2 : word;
	size_t len = strlen(bare);
	struct host_parsed parsed;
	struct name name;
	struct err err;

	if (len > 0 && bare[len - 1] == '.')
		len--;
	if (list_parse_quickly(bare, len, &name))
		list_take(list, &name, wildcard);
	else if (host_parse(word, &parsed, &err) < 0)
		load_fault(list->load, list_here(list), "%s", err.text);
	else if (parsed.kind == HOST_LITERAL)
		load_fault(list->load, list_here(list),
			   "`%s` is no name; an address is denied unless a grant lists it", word);
	else
		list_take(list, &parsed.name, parsed.kind == HOST_WILDCARD);
}

static bool parse_address(const char *text, struct address *ret_address)
{
	char bare[ADDRESS_TEXT_SIZE];
	size_t len = strcspn(text, "%"); /* before the name of an interface, as in fe80::1%lo0 */

	if (len >= sizeof(bare))
		return false;
	memcpy(bare, text, len);
	bare[len] = '\0';
	return address_parse(bare, ret_address) == 0;
}

bool list_is_nowhere(const char *text)
{
	static const uint8_t zeros[16] = { 0 };
	struct address address;

	if (!parse_address(text, &address))
		return false;
	if (address.family == 4)
		return address.bytes[0] == 127 || memcmp(address.bytes, zeros, 4) == 0;
	return memcmp(address.bytes, zeros, 15) == 0 && address.bytes[15] <= 1;
}

/* The names that a hosts file gives to the machine itself and its networks: no list means them. */
static bool is_own_name(const char *name)
{
	static const char *const own[] = {
		"localhost",     "localhost.localdomain",
		"localhost4",    "localhost4.localdomain4",
		"localhost6",    "localhost6.localdomain6",
		"local",         "broadcasthost",
		"ip6-localhost", "ip6-loopback",
		"ip6-localnet",  "ip6-mcastprefix",
		"ip6-allnodes",  "ip6-allrouters",
		"ip6-allhosts",  "0.0.0.0",
	};

	if (strchr("lLbBiI0", name[0]) == NULL)
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcasecmp(own[i], name) == 0)
			return true;
	return false;
}

/* Cut a comment off the end of @line: no name and no address holds one of its signs. */
static void cut_comment(char *line)
{
	line[strcspn(line, "#;")] = '\0';
}

static void names_line(struct list *list, char *line)
{
	char *rest = line;
	const char *word, *more;
	struct address address;

	cut_comment(line);
	word = strtok_r(rest, " \t", &rest);
	more = word != NULL ? strtok_r(rest, " \t", &rest) : NULL;
	if (word == NULL)
		return;
	if (more == NULL)
		take_host(list, word);
	else if (parse_address(word, &address))
		load_fault(list->load, list_here(list),
			   "this is a line of a hosts file; line %u has a name alone, and a list "
			   "has one form",
			   list->form_line);
	else
		load_fault(list->load, list_here(list), "a line of a list of names holds one name");
}

static void hosts_line(struct list *list, char *line)
{
	char *rest = line;
	const char *first, *word;
	struct address address;
	unsigned n = 0;

	cut_comment(line);
	first = strtok_r(rest, " \t", &rest);
	if (first == NULL)
		return;
	if (!parse_address(first, &address)) {
		load_fault(list->load, list_here(list),
			   "a line of a hosts file, which this list is since line %u, begins with "
			   "an address",
			   list->form_line);
		return;
	}
	for (; (word = strtok_r(rest, " \t", &rest)) != NULL; n++)
		if (is_own_name(word))
			continue;
		else if (list_is_nowhere(first))
			take_host(list, word);
		else
			load_fault(list->load, list_here(list),
				   "`%.64s` has an address that leads somewhere; a hosts file "
				   "denies by 0.0.0.0, 127.0.0.1, :: or ::1",
				   word);
	if (n == 0)
		load_fault(list->load, list_here(list), "no name stands behind the address");
}

/* What the list is, by @line, its first that says something. */
static enum list_form find_form(const char *line, bool indented)
{
	char first[128] = "", second[128] = "";
	struct address address;
	int n = sscanf(line, "%127s %127s", first, second);

	if (first[0] == '$' || strcmp(first, "@") == 0)
		return LIST_ZONE;
	if (n < 2 || strchr("#;", second[0]) != NULL)
		return LIST_NAMES;
	if (parse_address(first, &address))
		return LIST_HOSTS;
	return zone_is_field(indented ? first : second) ? LIST_ZONE : LIST_NAMES;
}

/* Whether @line shows that the file is for browsers; if so, there is no end to its faults. */
static bool is_filter(const struct list *list, const char *line)
{
	return list->form == LIST_UNKNOWN &&
	       (strncasecmp(line, "[adblock", 8) == 0 || strncmp(line, "||", 2) == 0 ||
		strncmp(line, "@@", 2) == 0);
}

static void take_line(struct list *list)
{
	char *line = list->text + strspn(list->text, " \t");
	bool inside = list->form == LIST_ZONE && list->zone.depth > 0;

	if (!inside && (*line == '\0' || strchr("#;", *line) != NULL))
		return;
	if (list->form != LIST_ZONE && *line == '!')
		return;
	if (is_filter(list, line)) {
		load_fault(
			list->load, list_here(list),
			"the file holds filter rules of a browser; a list is plain names, a hosts "
			"file or an RPZ zone");
		list->hopeless = true;
		return;
	}
	if (list->form == LIST_UNKNOWN) {
		list->form = find_form(line, line > list->text);
		list->form_line = list->line;
	}
	if (list->form == LIST_ZONE)
		zone_line(list);
	else if (list->form == LIST_HOSTS)
		hosts_line(list, line);
	else
		names_line(list, line);
}

/* What makes the first line of @list no text that could be read; a mark of UTF-8 is dropped. */
static const char *check_begin(struct list *list)
{
	if (list->len >= 3 && memcmp(list->text, "\xef\xbb\xbf", 3) == 0) {
		list->len -= 3;
		memmove(list->text, list->text + 3, list->len);
	}
	if (list->len >= 2 &&
	    (memcmp(list->text, "\xff\xfe", 2) == 0 || memcmp(list->text, "\xfe\xff", 2) == 0))
		return "UTF-16";
	if (list->len >= 2 && memcmp(list->text, "\x1f\x8b", 2) == 0)
		return "compressed";
	return NULL;
}

/* The line in @list->text is whole. */
static void end_line(struct list *list)
{
	const char *what = NULL;

	list->line++;
	if (list->len > 0 && list->text[list->len - 1] == '\r')
		list->len--;
	list->overlong |= list->len > LIMIT_POLICY_LINE;
	if (list->line == 1)
		what = check_begin(list);
	if (what != NULL) {
		load_fault(list->load, list_here(list), "the file is %s; a list is UTF-8 text",
			   what);
		list->hopeless = true;
	} else if (list->overlong) {
		load_fault(list->load, list_here(list), "the line is longer than %d bytes",
			   LIMIT_POLICY_LINE);
	} else {
		what = utf8_fault(list->text, list->len);
		list->text[list->len] = '\0';
		if (what != NULL)
			load_fault(list->load, list_here(list), "the line holds %s", what);
		else
			take_line(list);
	}
	list->len = 0;
	list->overlong = false;
}

/* Read the @len bytes at @bytes, which stand behind those before. */
static void feed(struct list *list, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	while (bytes < end && !list->hopeless) {
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t piece = (size_t)((newline != NULL ? newline : end) - bytes);
		size_t room = sizeof(list->text) - 1 - list->len;

		list->overlong |= piece > room;
		room = piece < room ? piece : room;
		memcpy(list->text + list->len, bytes, room);
		list->len += room;
		bytes += piece;
		if (newline == NULL)
			break;
		end_line(list);
		bytes++;
	}
}

/* All has been read. */
static void end(struct list *list)
{
	bool cut = list->len > 0;

	if (list->hopeless)
		return;
	if (cut)
		end_line(list);
	if (list->form == LIST_ZONE)
		zone_end(list);
	if (list->n_names == 0 && list->load->faults->n_errors == list->n_errors)
		load_fault(list->load, (struct policy_place){ list->file, 0 },
			   "the list holds no name; one that is empty, or was cut, denies nothing");
	else if (cut)
		load_warn(list->load, list_here(list),
			  "the last line has no end; is the file whole?");
}

static struct list *begin(struct load *load, const char *path, list_name_fn *take, void *user)
{
	struct list *list = calloc(1, sizeof(*list));

	if (list == NULL) {
		load->no_memory = true;
		return NULL;
	}
	list->load = load;
	list->n_errors = load->faults->n_errors;
	list->file = path;
	list->take = take;
	list->user = user;
	list->zone.origin = list->zone.apex = (struct name){ .len = 1 };
	return list;
}

/* Read all of @fd, which begins as @st says. Fails -errno, -ESTALE: it changed meanwhile. */
static int read_fd(struct list *list, int fd, const struct stat *st)
{
	enum { PIECE = 65536 };
	OWN(own_free) char *piece = malloc(PIECE);
	struct stat now;
	off_t total = 0;
	ssize_t n = 1;

	if (piece == NULL)
		return -ENOMEM;
	while (n > 0) {
		n = read(fd, piece, PIECE);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n < 0)
			return -errno;
		else if ((total += n) > LIMIT_LIST_BYTES)
			return -EFBIG;
		else
			feed(list, piece, (size_t)n);
	}
	if (fstat(fd, &now) < 0)
		return -errno;
	return total == st->st_size && now.st_size == st->st_size &&
			       now.st_mtim.tv_sec == st->st_mtim.tv_sec &&
			       now.st_mtim.tv_nsec == st->st_mtim.tv_nsec
		       ? 0
		       : -ESTALE;
}

/* Read the file of @list. Fails -errno; -EINVAL: it is no regular file; as read_fd(). */
static int read_list(struct list *list)
{
	/* A FIFO that nobody writes is not waited for. */
	OWN(own_close) int fd = open(list->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size > LIMIT_LIST_BYTES)
		return -EFBIG;
	return read_fd(list, fd, &st);
}

void list_read(struct load *load, const struct list_file *file, list_name_fn *take, void *user)
{
	OWN(own_free) struct list *list = NULL;
	int r;

	if (load->is_text) {
		load_fault(load, file->place, "a text that is no file names no list");
		return;
	}
	list = begin(load, file->path, take, user);
	if (list == NULL)
		return;
	r = read_list(list);
	if (r == 0)
		end(list);
	else if (r == -EFBIG)
		load_fault(load, file->place, "a list has more than %d MiB: `%s`",
			   LIMIT_LIST_BYTES >> 20, file->word);
	else if (r == -EINVAL)
		load_fault(load, file->place, "a list is no regular file: `%s`", file->word);
	else if (r == -ESTALE)
		load_fault(load, file->place, "a list changed while it was read: `%s`", file->word);
	else
		load_fault(load, file->place, "a list could not be read: %s: `%s`", strerror(-r),
			   file->word);
}

void list_read_text(struct load *load, const char *path, const char *text, size_t len, size_t step,
		    list_name_fn *take, void *user)
{
	OWN(own_free) struct list *list = begin(load, path, take, user);

	for (size_t at = 0; list != NULL && at < len; at += step)
		feed(list, text + at, step < len - at ? step : len - at);
	if (list != NULL)
		end(list);
}
