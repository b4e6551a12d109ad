/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/address.h"

/* Who has an address on a link of ours: by rtnetlink. */

enum { NEIGHBOUR_ETHER_LEN = 6 };

struct neighbour {
	uint32_t link; /* the number of our interface */
	uint8_t ether[NEIGHBOUR_ETHER_LEN];
};

/*
 * Find on which link @address is, and its link-layer address there, with the rtnetlink socket
 * @route.
 *
 * Gives  true and @ret_neighbour; false if it is not on a link, the link has no such addresses, or
 *        the kernel does not know it now.
 */
bool neighbour_find(int route, const struct address *address, struct neighbour *ret_neighbour);
