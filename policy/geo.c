/* SPDX-License-Identifier: MIT */
#include "policy/geo.h"

#include <errno.h>
#include <maxminddb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/own.h"

struct geo {
	MMDB_s mmdb;
	enum geo_kind kind;
};

/* What the type of a database must have in it, as its makers write it. */
static const char *const types[][4] = {
	[GEO_COUNTRY] = { "Country", "City", "Enterprise", NULL },
	[GEO_ASN] = { "ASN", "ISP", "Enterprise", NULL },
};

static bool is_of_kind(const char *type, enum geo_kind kind)
{
	for (unsigned i = 0; types[kind][i] != NULL; i++)
		if (type != NULL && strstr(type, types[kind][i]) != NULL)
			return true;
	return false;
}

/* That @path is a regular file: a FIFO would be waited for. */
static int check_file(const char *path, struct err *err)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return err_set(err, -EINVAL, "%s cannot be read: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return err_set(err, -EINVAL, "%s is no regular file", path);
	return 0;
}

int geo_open(const char *path, enum geo_kind kind, struct geo **ret_geo, struct err *err)
{
	OWN(own_free) struct geo *geo = NULL;
	int r = check_file(path, err);

	if (r < 0)
		return r;
	geo = calloc(1, sizeof(*geo));
	if (geo == NULL)
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	r = MMDB_open(path, MMDB_MODE_MMAP, &geo->mmdb);
	if (r == MMDB_FILE_OPEN_ERROR || r == MMDB_IO_ERROR)
		return err_set(err, -EINVAL, "%s cannot be read: %s", path, strerror(errno));
	if (r != MMDB_SUCCESS)
		return err_set(err, -EINVAL, "%s is no database of addresses: %s", path,
			       MMDB_strerror(r));
	geo->kind = kind;
	if (!is_of_kind(geo->mmdb.metadata.database_type, kind)) {
		r = err_set(err, -EINVAL, "%s is no database of %s", path,
			    kind == GEO_COUNTRY ? "countries: its type has none of Country, City "
						  "and Enterprise in it"
						: "autonomous systems: its type has none of ASN, "
						  "ISP and Enterprise in it");
		MMDB_close(&geo->mmdb);
		return r;
	}
	*ret_geo = steal_ptr(geo);
	return 0;
}

void geo_close(struct geo *geo)
{
	if (geo == NULL)
		return;
	MMDB_close(&geo->mmdb);
	free(geo);
}

/* The entry for @address. False: there is none, or it cannot be read. */
static bool find_entry(const struct geo *geo, const struct address *address, MMDB_entry_s *ret)
{
	const struct endpoint endpoint = { *address, 0 };
	struct sockaddr_storage sockaddr;
	MMDB_lookup_result_s found;
	int fault = MMDB_SUCCESS;

	endpoint_to_sockaddr(&endpoint, &sockaddr);
	found = MMDB_lookup_sockaddr(&geo->mmdb, (const struct sockaddr *)&sockaddr, &fault);
	*ret = found.entry;
	return fault == MMDB_SUCCESS && found.found_entry;
}

static bool is_code(const char *bytes)
{
	return bytes[0] >= 'A' && bytes[0] <= 'Z' && bytes[1] >= 'A' && bytes[1] <= 'Z';
}

void geo_find(const struct geo *geo, const struct address *address, struct origin *ret_origin)
{
	MMDB_entry_data_s data;
	MMDB_entry_s entry;

	if (!find_entry(geo, address, &entry))
		return;
	if (geo->kind == GEO_COUNTRY) {
		if (MMDB_get_value(&entry, &data, "country", "iso_code", NULL) == MMDB_SUCCESS &&
		    data.has_data && data.type == MMDB_DATA_TYPE_UTF8_STRING &&
		    data.data_size == 2 && is_code(data.utf8_string))
			memcpy(ret_origin->country, data.utf8_string, 2);
	} else if (MMDB_get_value(&entry, &data, "autonomous_system_number", NULL) ==
			   MMDB_SUCCESS &&
		   data.has_data && data.type == MMDB_DATA_TYPE_UINT32) {
		ret_origin->asn = data.uint32;
	}
}

/* ISO 3166-1 alpha-2, and XK, which databases use for Kosovo. */
static const char codes[] =
	"AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ "
	"BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM "
	"DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS "
	"GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN "
	"KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ "
	"MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM "
	"PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV "
	"SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI "
	"VN VU WF WS XK YE YT ZA ZM ZW ";

int geo_country_parse(const char *text, char ret_code[2])
{
	for (const char *at = codes; *at != '\0' && strlen(text) == 2; at += 3)
		if (memcmp(at, text, 2) == 0) {
			memcpy(ret_code, text, 2);
			return 0;
		}
	return -EINVAL;
}

int geo_asn_parse(const char *text, uint32_t *ret_asn)
{
	const char *digits = strncmp(text, "AS", 2) == 0 ? text + 2 : text;
	size_t len = strspn(digits, "0123456789");
	unsigned long long asn = strtoull(digits, NULL, 10);

	if (len == 0 || len > 10 || digits[len] != '\0' || asn == 0 || asn > UINT32_MAX)
		return -EINVAL;
	*ret_asn = (uint32_t)asn;
	return 0;
}
