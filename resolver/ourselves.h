/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include "base/address.h"
#include "policy/policy.h"

/*
 * True if what is sent to @server would come to where @settings say that we listen: a query would
 * wait for itself. A policy has been held against itself already, but knows neither resolv.conf
 * nor this host's addresses.
 */
bool is_ourselves(const struct policy_resolver *settings, const struct endpoint *server);
