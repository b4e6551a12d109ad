/* SPDX-License-Identifier: MIT */
#pragma once

#include "policy/hosts.h"

/* Put the special-use zones into @hosts. Fails -ENOMEM. */
int special_add_all(struct hosts *hosts) __attribute__((warn_unused_result));
