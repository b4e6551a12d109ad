/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include "lease/neighbour.h"
#include "lease/netlink.h"

/*
 * Keys as nf_tables has them: the fields of a concatenation one after the
 * other in network order, each padded with zeros to a multiple of 4 bytes.
 */
struct key {
	uint8_t bytes[40];
	uint32_t len;
};

/*
 * The key of @write in @set. For NETLINK_FORM_ETHER, @neighbour is the agent's link, and its address
 * there. An agent whose family differs from the set's stands in it as an IPv4-mapped address, or
 * as 0.0.0.0: that shows the lease and opens nothing.
 */
struct key key_make(const struct netlink_set *set, const struct netlink_write *write,
		    const struct neighbour *neighbour);

/*
 * What keys of a set with nft's key type @type are made of, if leases fit into it.
 *
 * Gives  0, @ret_form and in @ret_version the family of the addresses, 4 or 6.
 * Fails  -EINVAL: they are made of something else.
 */
int key_type_form(uint32_t type, enum netlink_form *ret_form, uint8_t *ret_version)
	__attribute__((warn_unused_result));
