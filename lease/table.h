/* SPDX-License-Identifier: MIT */
#pragma once

#include "lease/lease.h"
#include "lease/netlink.h"

/*
 * lease_table_new() of @loop, @policy, @report, @arg, @ret_table and @err, with @refresh in place of
 * the probe: so that a test has both ways on any kernel.
 */
int table_new(struct loop *loop, struct policy *policy, enum netlink_refresh refresh,
	      lease_report_fn *report, void *arg, struct lease_table **ret_table, struct err *err)
	__attribute__((warn_unused_result));
