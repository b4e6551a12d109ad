/* SPDX-License-Identifier: MIT */
/* DNS types by name (IANA, "Resource Record (RR) TYPEs"; RFC 3597 for those without). */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "policy/policy.h"

static const struct {
	uint16_t type;
	const char *name;
} types[] = {
	{ 1, "A" },           { 2, "NS" },      { 5, "CNAME" },       { 6, "SOA" },
	{ 10, "NULL" },       { 12, "PTR" },    { 13, "HINFO" },      { 15, "MX" },
	{ 16, "TXT" },        { 17, "RP" },     { 18, "AFSDB" },      { 24, "SIG" },
	{ 25, "KEY" },        { 28, "AAAA" },   { 29, "LOC" },        { 33, "SRV" },
	{ 35, "NAPTR" },      { 36, "KX" },     { 37, "CERT" },       { 39, "DNAME" },
	{ 41, "OPT" },        { 42, "APL" },    { 43, "DS" },         { 44, "SSHFP" },
	{ 45, "IPSECKEY" },   { 46, "RRSIG" },  { 47, "NSEC" },       { 48, "DNSKEY" },
	{ 49, "DHCID" },      { 50, "NSEC3" },  { 51, "NSEC3PARAM" }, { 52, "TLSA" },
	{ 53, "SMIMEA" },     { 55, "HIP" },    { 59, "CDS" },        { 60, "CDNSKEY" },
	{ 61, "OPENPGPKEY" }, { 62, "CSYNC" },  { 63, "ZONEMD" },     { 64, "SVCB" },
	{ 65, "HTTPS" },      { 99, "SPF" },    { 108, "EUI48" },     { 109, "EUI64" },
	{ 128, "NXNAME" },    { 249, "TKEY" },  { 250, "TSIG" },      { 251, "IXFR" },
	{ 252, "AXFR" },      { 255, "ANY" },   { 256, "URI" },       { 257, "CAA" },
	{ 261, "RESINFO" },   { 32769, "DLV" },
};

enum { N_TYPES = sizeof(types) / sizeof(types[0]) };

int policy_type_parse(const char *text)
{
	unsigned long number;
	char *end;

	for (size_t i = 0; i < N_TYPES; i++)
		if (strcasecmp(types[i].name, text) == 0)
			return types[i].type;
	if (strncasecmp(text, "TYPE", 4) != 0 || strspn(text + 4, "0123456789") == 0)
		return -EINVAL;
	number = strtoul(text + 4, &end, 10);
	return *end == '\0' && number <= UINT16_MAX ? (int)number : -EINVAL;
}

void policy_type_print(uint16_t type, char text[16])
{
	for (size_t i = 0; i < N_TYPES; i++)
		if (types[i].type == type) {
			memcpy(text, types[i].name, strlen(types[i].name) + 1);
			return;
		}
	snprintf(text, 16, "TYPE%u", type);
}
