/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include "base/address.h"
#include "policy/hosts.h"

/* Put the built-in list of DoH names into @hosts. Fails -ENOMEM. */
int doh_add_all(struct hosts *hosts) __attribute__((warn_unused_result));

/*
 * True if @address is a public resolver's own: one that serves DNS over HTTPS by its address, and
 * nothing else. Addresses that a CDN shares among its customers are not among them.
 */
bool doh_has_address(const struct address *address);
