/* SPDX-License-Identifier: MIT */
#pragma once

#include "policy/hosts.h"

/* Put the built-in list of DoH names into @hosts. Fails -ENOMEM. */
int doh_add_all(struct hosts *hosts) __attribute__((warn_unused_result));
