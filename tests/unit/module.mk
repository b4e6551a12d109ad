# SPDX-License-Identifier: MIT
# One program for each subject, with cmocka. A test of a folder links that folder and those below.
EXTRA_DIST += %D%/test.h
UNIT =
if HAVE_CMOCKA
UNIT += \
	%D%/address_test \
	%D%/audit_files_test \
	%D%/audit_reader_test \
	%D%/audit_test \
	%D%/base_test \
	%D%/bell_test \
	%D%/budget_test \
	%D%/budget_traffic_test \
	%D%/cache_test \
	%D%/connection_test \
	%D%/cookie_test \
	%D%/lease_parts_test \
	%D%/lease_test \
	%D%/lease_trouble_test \
	%D%/life_test \
	%D%/loop_test \
	%D%/message_test \
	%D%/name_test \
	%D%/policy_agents_test \
	%D%/policy_files_test \
	%D%/policy_judge_test \
	%D%/policy_lists_test \
	%D%/policy_oracle_test \
	%D%/policy_test \
	%D%/socket_test \
	%D%/tls_test \
	%D%/upstream_test
endif
check_PROGRAMS += $(UNIT)
TESTS += $(UNIT)

%C%_address_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_address_test_LDADD = libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
%C%_audit_files_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) $(CRYPTO_CFLAGS)
%C%_audit_files_test_SOURCES = %D%/audit_files_test.c %D%/audit_log.c %D%/audit_log.h
%C%_audit_files_test_LDADD = libaudit.a libbase.a $(JANSSON_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
%C%_audit_reader_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_audit_reader_test_SOURCES = %D%/audit_log.c %D%/audit_log.h %D%/audit_reader_test.c
%C%_audit_reader_test_LDADD = libaudit.a libbase.a $(JANSSON_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
%C%_audit_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_audit_test_SOURCES = %D%/audit_log.c %D%/audit_log.h %D%/audit_test.c
%C%_audit_test_LDADD = libaudit.a libbase.a $(JANSSON_LIBS) $(CRYPTO_LIBS) $(CMOCKA_LIBS)
%C%_base_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_base_test_LDADD = libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
%C%_bell_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_bell_test_LDADD = libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
%C%_budget_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_budget_test_LDADD = libresolver.a libpolicy.a libbase.a $(POLICY_LIBS) $(CMOCKA_LIBS)
%C%_budget_traffic_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_budget_traffic_test_LDADD = libresolver.a libpolicy.a libbase.a $(POLICY_LIBS) \
	$(CMOCKA_LIBS)
%C%_cache_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_cache_test_LDADD = libresolver.a libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
%C%_connection_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_connection_test_LDADD = libresolver.a libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
%C%_cookie_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_cookie_test_LDADD = libresolver.a libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
LEASE_WORLD = %D%/fake_policy.c %D%/fake_policy.h %D%/lease_world.c %D%/lease_world.h \
	tests/replay/scripted.c tests/replay/scripted.h
%C%_lease_parts_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_lease_parts_test_SOURCES = %D%/lease_parts_test.c %D%/fake_policy.c %D%/fake_policy.h
%C%_lease_parts_test_LDADD = liblease.a libbase.a $(CMOCKA_LIBS)
%C%_lease_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_lease_test_SOURCES = %D%/lease_test.c $(LEASE_WORLD)
%C%_lease_test_LDADD = liblease.a libbase.a $(CMOCKA_LIBS)
%C%_lease_trouble_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_lease_trouble_test_SOURCES = %D%/lease_trouble_test.c $(LEASE_WORLD)
%C%_lease_trouble_test_LDADD = liblease.a libbase.a $(CMOCKA_LIBS)
%C%_life_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_life_test_LDADD = libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
%C%_loop_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_loop_test_LDADD = libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
%C%_message_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) $(LDNS_CFLAGS)
%C%_message_test_LDADD = libresolver.a libpolicy.a libbase.a $(POLICY_LIBS) $(LDNS_LIBS) \
	$(CMOCKA_LIBS)
%C%_name_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_name_test_LDADD = libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
%C%_policy_agents_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_policy_agents_test_LDADD = libpolicy.a libbase.a $(POLICY_LIBS) $(CMOCKA_LIBS)
%C%_policy_files_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_policy_files_test_LDADD = libpolicy.a libbase.a $(POLICY_LIBS) $(CMOCKA_LIBS)
%C%_policy_judge_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_policy_judge_test_LDADD = libpolicy.a libbase.a $(POLICY_LIBS) $(CMOCKA_LIBS)
%C%_policy_lists_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_policy_lists_test_LDADD = libpolicy.a libbase.a $(POLICY_LIBS) $(CMOCKA_LIBS)
%C%_policy_oracle_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_policy_oracle_test_LDADD = libpolicy.a libbase.a $(POLICY_LIBS) $(CMOCKA_LIBS)
%C%_policy_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_policy_test_LDADD = libpolicy.a libbase.a $(POLICY_LIBS) $(CMOCKA_LIBS)
%C%_socket_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_socket_test_LDADD = libbase.a $(UV_LIBS) $(CMOCKA_LIBS)
%C%_tls_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) $(SSL_CFLAGS)
%C%_tls_test_LDADD = libtls.a libbase.a $(UV_LIBS) $(SSL_LIBS) $(CMOCKA_LIBS)
%C%_upstream_test_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS)
%C%_upstream_test_LDADD = libresolver.a libpolicy.a libbase.a $(POLICY_LIBS) $(CMOCKA_LIBS)
