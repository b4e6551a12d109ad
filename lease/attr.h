/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <libmnl/libmnl.h>

/* The first attribute of @type in the message @header, behind @skip bytes of its own; or NULL. */
static inline const struct nlattr *attr_find(const struct nlmsghdr *header, size_t skip,
					     uint16_t type)
{
	const struct nlattr *attr = mnl_nlmsg_get_payload_offset(header, skip);
	const char *end = mnl_nlmsg_get_payload_tail(header);

	while (mnl_attr_ok(attr, (int)(end - (const char *)attr))) {
		if (mnl_attr_get_type(attr) == type)
			return attr;
		attr = mnl_attr_next(attr);
	}
	return NULL;
}
