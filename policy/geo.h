/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/address.h"
#include "base/err.h"

/*
 * Where an address is and whose network it is in: the border to libmaxminddb.
 * A database is mapped into memory when the policy is loaded, and read as the
 * addresses come. The file is the operator's; one that is damaged in a place
 * that is met only later knows nothing there.
 */
struct geo;

enum geo_kind { GEO_COUNTRY, GEO_ASN };

/*
 * Open the database of @kind in the file @path.
 *
 * Fails  -EINVAL and @err: it cannot be read, is none, or is of another kind; -ENOMEM.
 * Owns   the caller calls geo_close().
 */
int geo_open(const char *path, enum geo_kind kind, struct geo **ret_geo, struct err *err)
	__attribute__((warn_unused_result));

/* Close @geo; NULL is allowed. */
void geo_close(struct geo *geo);

/*
 * Put what @geo knows of @address into the member of @ret_origin that is of its kind; it stays as
 * it is if that is nothing. Never allocates.
 */
void geo_find(const struct geo *geo, const struct address *address, struct origin *ret_origin);

/* Parse @text, a country's code (ISO 3166-1 alpha-2, or XK); -EINVAL if there is none such. */
int geo_country_parse(const char *text, char ret_code[2]) __attribute__((warn_unused_result));

/* Parse @text, an autonomous system's number: `15169` or `AS15169`; -EINVAL if it is none. */
int geo_asn_parse(const char *text, uint32_t *ret_asn) __attribute__((warn_unused_result));
