/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/address.h"
#include "base/name.h"

static void special_addresses(void **state)
{
	static const char *const special[] = { "127.0.0.1", "10.1.2.3", "::1", "::ffff:8.8.8.8",
					       "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1" };
	static const char *const ordinary[] = { "93.184.216.34", "2606:4700::1111",
						"64:ff9b::808:808", "2002:808:808::" };
	struct address address;

	(void)state;
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++) {
		assert_int_equal(address_parse(special[i], &address), 0);
		assert_non_null(address_special(&address));
	}
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++) {
		assert_int_equal(address_parse(ordinary[i], &address), 0);
		assert_null(address_special(&address));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(special_addresses) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
