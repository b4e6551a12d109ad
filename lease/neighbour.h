/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/address.h"

/* Who has an address on a link of ours: by rtnetlink. */

enum { NEIGHBOUR_ETHER_LEN = 6 };

/*
 * Find the link-layer address of @address on its link, with the rtnetlink socket @route.
 *
 * Gives  true and @ret_ether; false if it is not on a link, the link has no such addresses, or
 *        the kernel does not know it now.
 */
bool neighbour_find(int route, const struct address *address,
		    uint8_t ret_ether[NEIGHBOUR_ETHER_LEN]);
