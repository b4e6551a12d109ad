# SPDX-License-Identifier: MIT
# The program as people run it. Each script prints TAP, and needs no privileges unless it says so.
SYSTEM = %D%/doh_list.sh %D%/explain.sh %D%/log.sh
dist_check_SCRIPTS += $(SYSTEM)
TESTS += $(SYSTEM)

# These need a kernel that gives them namespaces: contrib/check runs them by run, not `make check`.
EXTRA_DIST += \
	%D%/agents_test.py \
	%D%/audit_test.py \
	%D%/chain_test.py \
	%D%/conformance_test.py \
	%D%/conftest.py \
	%D%/dns_test.py \
	%D%/dnssec_test.py \
	%D%/escape_test.py \
	%D%/flood_test.py \
	%D%/gateway_test.py \
	%D%/geo_test.py \
	%D%/leak_test.py \
	%D%/leases_test.py \
	%D%/mmdb.pl \
	%D%/lists_test.py \
	%D%/netns.py \
	%D%/policy_test.py \
	%D%/run \
	%D%/servers.py \
	%D%/threads_test.py \
	%D%/tunnel_test.py \
	%D%/upstream_test.py \
	%D%/wire.py
