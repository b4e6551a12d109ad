/* SPDX-License-Identifier: MIT */
#include "cli/url.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *scheme;
	uint16_t port;
} schemes[] = {
	{ "https", 443 }, { "http", 80 },  { "wss", 443 }, { "ws", 80 },
	{ "ssh", 22 },    { "git", 9418 }, { "ftp", 21 },
};

/* The well-known port of the scheme that the @len bytes at @text name; 0 if there is none. */
static uint16_t scheme_port(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strlen(schemes[i].scheme) == len &&
		    strncasecmp(schemes[i].scheme, text, len) == 0)
			return schemes[i].port;
	return 0;
}

uint16_t cli_cut_url(char *text)
{
	char *authority = strstr(text, "://");
	uint16_t port = 0;
	char *at;

	if (authority == NULL)
		return 0;
	port = scheme_port(text, (size_t)(authority - text));
	authority += strlen("://");
	/* Programs take a backslash for a slash (WHATWG URL). */
	authority[strcspn(authority, "/?#\\")] = '\0';
	at = strrchr(authority, '@');
	if (at != NULL)
		authority = at + 1;
	memmove(text, authority, strlen(authority) + 1);
	return port;
}

int cli_cut_port(char *text)
{
	char *colon = strrchr(text, ':');
	unsigned long port;
	char *end;

	if (colon == NULL)
		return 0;
	port = strtoul(colon + 1, &end, 10);
	if (colon[1] < '0' || colon[1] > '9' || *end != '\0' || port == 0 || port > UINT16_MAX)
		return -EINVAL;
	*colon = '\0';
	return (int)port;
}
