/* SPDX-License-Identifier: MIT */
#include "base/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include "tests/unit/test.h"

static struct address parse(const char *text)
{
	struct address address;

	if (address_parse(text, &address) != 0)
		fail_msg("%s is no address", text);
	return address;
}

static void spellings_of_addresses(void **state)
{
	static const struct {
		const char *text, *printed;
	} good[] = {
		{ "0.0.0.0", "0.0.0.0" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "93.184.216.34", "93.184.216.34" },
		{ "::", "::" },
		{ "0:0:0:0:0:0:0:1", "::1" },
		{ "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
		{ "::ffff:1.2.3.4", "::ffff:1.2.3.4" },
		{ "64:ff9b::127.0.0.1", "64:ff9b::7f00:1" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};
	/* What some library takes for an address all the same. */
	static const char *const bad[] = {
		"",           "2130706433", "017700000001",  "0x7f000001",
		"0x7f.1",     "127.1",      "127.0.1",       "0177.0.0.1",
		"127.0.0.01", "127.0.0.1.", "127.0.0.1 ",    " 127.0.0.1",
		"127..0.1",   "1.2.3.256",  "1.2.3.4.5",     "0",
		"+1.2.3.4",   "-1.2.3.4",   "[::1]",         "::1%lo",
		"fe80::1%1",  ":::",        "1::2::3",       "12345::",
		"::1.2.3",    "::01.2.3.4", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
		"::g",        "localhost",  "1.2.3.4\n",     "::1/128",
		":1",         "1:",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(good); i++) {
		struct address address = parse(good[i].text);
		char text[ADDRESS_TEXT_SIZE];

		address_print(&address, text);
		assert_string_equal(text, good[i].printed);
		struct address again = parse(text);

		assert_true(address_equal(&address, &again));
	}
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct address address = { .family = 9 };

		if (address_parse(bad[i], &address) != -EINVAL)
			fail_msg("`%s` was taken", bad[i]);
		assert_int_equal(address.family, 9);
	}
}

static void families_are_apart(void **state)
{
	struct address four = parse("1.2.3.4"), mapped = parse("::ffff:1.2.3.4");
	struct address low = parse("102:304::");

	(void)state;
	assert_false(address_equal(&four, &mapped));
	assert_false(address_equal(&four, &low));
	assert_int_equal(address_len(&four), 4);
	assert_int_equal(address_len(&mapped), 16);
	assert_true(address_equal(&four, &(struct address){ 4, { 1, 2, 3, 4 } }));

	struct address bytes = address_from_bytes((const uint8_t[]){ 1, 2, 3, 4 }, 4);

	assert_true(address_equal(&four, &bytes));
}

/* The first and last address of a block, and its neighbours on both sides, if they are ordinary. */
struct border {
	const char *before, *first, *last, *after;
	const char *what;
};

static const struct border borders[] = {
	{ NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0", "this network" },
	{ "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", "private" },
	{ "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0", "shared" },
	{ "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", "loopback" },
	{ "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", "link-local" },
	{ "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", "private" },
	{ "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", "IETF" },
	{ "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", "documentation" },
	{ "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", "6to4" },
	{ "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", "private" },
	{ "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", "benchmarking" },
	{ "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", "documentation" },
	{ "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", "documentation" },
	{ "223.255.255.255", "224.0.0.0", "239.255.255.255", NULL, "multicast" },
	{ NULL, "240.0.0.0", "255.255.255.255", NULL, "reserved" },
	{ NULL, "::", "::", NULL, "unspecified" },
	{ NULL, "::1", "::1", NULL, "loopback" },
	{ NULL, "::2", "::255.255.255.255", NULL, "IPv4-compatible" },
	{ NULL, "::ffff:0.0.0.0", "::ffff:255.255.255.255", NULL, "IPv4-mapped" },
	{ NULL, "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", NULL, "NAT64" },
	{ NULL, "100::", "100::ffff:ffff:ffff:ffff", NULL, "discard" },
	{ NULL, "100:0:0:1::", "1fff:ffff::", "2000::", "not assigned" },
	{ "2000:ffff:ffff:ffff::", "2001::", "2001:0:ffff::", NULL, "Teredo" },
	{ NULL, "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::", "IETF" },
	{ "2001:db7:ffff::", "2001:db8::", "2001:db8:ffff::", "2001:db9::", "documentation" },
	{ "3ffe:ffff::", "3fff::", "3fff:fff:ffff::", "3fff:1000::", "documentation" },
	{ "3fff:ffff:ffff::", "4000::", "fbff:ffff::", NULL, "not assigned" },
	{ NULL, "5f00::", "5f00:ffff::", NULL, "not assigned" },
	{ NULL, "fc00::", "fdff:ffff:ffff::", NULL, "unique local" },
	{ NULL, "fe00::", "fe7f:ffff::", NULL, "not assigned" },
	{ NULL, "fe80::", "febf:ffff::", NULL, "link-local" },
	{ NULL, "fec0::", "feff:ffff::", NULL, "site-local" },
	{ NULL, "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "multicast" },
};

static void expect_special(const char *text, const char *what)
{
	struct address address = parse(text);
	const char *special = address_special(&address);

	if (special == NULL || strstr(special, what) == NULL)
		fail_msg("%s is %s, not %s", text, special ? special : "ordinary", what);
}

static void expect_ordinary(const char *text)
{
	struct address address = parse(text);

	if (address_special(&address) != NULL)
		fail_msg("%s is %s", text, address_special(&address));
}

static void special_blocks_end_where_they_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(borders); i++) {
		expect_special(borders[i].first, borders[i].what);
		expect_special(borders[i].last, borders[i].what);
		if (borders[i].before != NULL)
			expect_ordinary(borders[i].before);
		if (borders[i].after != NULL)
			expect_ordinary(borders[i].after);
	}
	expect_ordinary("93.184.216.34");
	expect_ordinary("2606:4700:4700::1111");
}

static void addresses_within_addresses(void **state)
{
	static const char *const loopback[] = { "64:ff9b::7f00:1", "64:ff9b::127.255.255.255",
						"2002:7f00:1::", "2002:7f00:1:ffff::1" };
	static const char *const private[] = { "64:ff9b::10.0.0.1", "2002:c0a8:101::" };

	(void)state;
	for (size_t i = 0; i < LENGTH(loopback); i++)
		expect_special(loopback[i], "loopback");
	for (size_t i = 0; i < LENGTH(private); i++)
		expect_special(private[i], "private");
	expect_ordinary("64:ff9b::8.8.8.8");
	expect_ordinary("2002:808:808::1");
	/* An ordinary address inside does not help these. */
	expect_special("::ffff:8.8.8.8", "IPv4-mapped");
	expect_special("::8.8.8.8", "IPv4-compatible");
	expect_special("64:ff9b:1::8.8.8.8", "NAT64");
	expect_special("2001:0:808:808::", "Teredo");
	/* NAT64's prefix is 96 bits: what lies beside it is nothing. */
	expect_special("64:ff9b::1:808:808", "not assigned");
}

static void networks(void **state)
{
	static const struct {
		const char *text, *printed;
		int r;
	} rows[] = {
		{ "10.0.0.0/8", "10.0.0.0/8", 0 },
		{ "0.0.0.0/0", "0.0.0.0/0", 0 },
		{ "::/0", "::/0", 0 },
		{ "1.2.3.4", "1.2.3.4", 0 },
		{ "1.2.3.4/32", "1.2.3.4", 0 },
		{ "::1/128", "::1", 0 },
		{ "2001:db8::/33", "2001:db8::/33", 0 },
		{ "10.0.0.1/8", NULL, -ERANGE },
		{ "1.2.3.5/31", NULL, -ERANGE },
		{ "2001:db8::1/127", NULL, -ERANGE },
		{ "10.0.0.0/33", NULL, -EINVAL },
		{ "::/129", NULL, -EINVAL },
		{ "10.0.0.0/", NULL, -EINVAL },
		{ "10.0.0.0/08", NULL, -EINVAL },
		{ "10.0.0.0/+8", NULL, -EINVAL },
		{ "10.0.0.0/-1", NULL, -EINVAL },
		{ "10.0.0.0/ 8", NULL, -EINVAL },
		{ "10.0.0.0/8 ", NULL, -EINVAL },
		{ "10.0.0.0/8/8", NULL, -EINVAL },
		{ "10.0.0.0/0x8", NULL, -EINVAL },
		{ "10.0.0.0/4294967304", NULL, -EINVAL },
		{ "10.0.0.0/18446744073709551624", NULL, -EINVAL },
		{ "10/8", NULL, -EINVAL },
		{ "/8", NULL, -EINVAL },
		{ "", NULL, -EINVAL },
		{ "1111111111111111111111111111111111111111111111111/8", NULL, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct network network = { .prefix = 99 };
		char text[NETWORK_TEXT_SIZE];
		int r = network_parse(rows[i].text, &network);

		if (r != rows[i].r)
			fail_msg("`%s` gives %d", rows[i].text, r);
		if (r < 0) {
			assert_int_equal(network.prefix, 99);
			continue;
		}
		network_print(&network, text);
		assert_string_equal(text, rows[i].printed);
	}
}

static bool contains(const char *network_text, const char *address_text)
{
	struct network network;
	struct address address = parse(address_text);

	assert_int_equal(network_parse(network_text, &network), 0);
	return network_contains(&network, &address);
}

static void networks_contain(void **state)
{
	(void)state;
	assert_true(contains("10.0.0.0/8", "10.255.255.255"));
	assert_false(contains("10.0.0.0/8", "11.0.0.0"));
	assert_true(contains("1.2.3.4/31", "1.2.3.5"));
	assert_false(contains("1.2.3.4/31", "1.2.3.6"));
	assert_true(contains("1.2.3.4/32", "1.2.3.4"));
	assert_false(contains("1.2.3.4/32", "1.2.3.5"));
	assert_true(contains("0.0.0.0/0", "255.255.255.255"));
	assert_false(contains("0.0.0.0/0", "::"));
	assert_false(contains("::/0", "0.0.0.0"));
	assert_true(contains("2001:db8::/33", "2001:db8:7fff::1"));
	assert_false(contains("2001:db8::/33", "2001:db8:8000::"));
	assert_true(contains("::1/128", "::1"));
	/* Only what is spelled as IPv6 lies in an IPv6 network. */
	assert_false(contains("::ffff:0:0/96", "1.2.3.4"));
	assert_false(contains("1.2.3.4/32", "::ffff:1.2.3.4"));
}

static void spellings_of_endpoints(void **state)
{
	static const struct {
		const char *text, *printed;
	} good[] = {
		{ "1.2.3.4", "1.2.3.4:53" },
		{ "1.2.3.4:1", "1.2.3.4:1" },
		{ "1.2.3.4:65535", "1.2.3.4:65535" },
		{ "::1", "[::1]:53" },
		{ "[::1]", "[::1]:53" },
		{ "[::1]:5353", "[::1]:5353" },
		{ "1::1:443", "[1::1:443]:53" }, /* an IPv6 address like any other */
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(good); i++) {
		struct endpoint endpoint, again;
		char text[ENDPOINT_TEXT_SIZE];

		assert_int_equal(endpoint_parse(good[i].text, 53, &endpoint), 0);
		endpoint_print(&endpoint, text);
		assert_string_equal(text, good[i].printed);
		assert_int_equal(endpoint_parse(text, 1, &again), 0);
		assert_true(endpoint_equal(&endpoint, &again));
	}
}

static void endpoints_that_reach_each_other(void **state)
{
	static const struct {
		const char *to, *listen;
		bool reaches;
	} cases[] = {
		{ "192.0.2.1:53", "192.0.2.1:53", true },
		{ "192.0.2.1:54", "192.0.2.1:53", false },
		{ "192.0.2.2:53", "192.0.2.1:53", false },
		{ "127.0.0.1:53", "0.0.0.0:53", true },
		{ "127.9.9.9:53", "0.0.0.0:53", true },
		{ "0.0.0.0:53", "0.0.0.0:53", true },
		{ "127.0.0.1:54", "0.0.0.0:53", false },
		{ "127.0.0.1:53", "127.0.0.2:53", false },
		{ "127.0.0.1:53", "[::]:53", false },
		{ "[::1]:53", "[::]:53", true },
		{ "[::1]:53", "0.0.0.0:53", false },
		{ "192.0.2.1:53", "0.0.0.0:53", false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct endpoint to, listen;

		assert_int_equal(endpoint_parse(cases[i].to, 53, &to), 0);
		assert_int_equal(endpoint_parse(cases[i].listen, 53, &listen), 0);
		assert_int_equal(endpoint_reaches(&to, &listen), cases[i].reaches);
	}
}

static void refused_endpoints(void **state)
{
	static const char *const bad[] = {
		"",
		":",
		":53",
		"1.2.3.4:",
		"1.2.3.4:0",
		"1.2.3.4:65536",
		"1.2.3.4:70979",
		"1.2.3.4:443x",
		"1.2.3.4:+443",
		"1.2.3.4:-1",
		"1.2.3.4: 443",
		"1.2.3.4:0x1bb",
		"1.2.3.4:443:443",
		"1.2.3.4:0443",
		"[::1]:0053",
		"1.2.3.4:4294967739",
		"1.2.3.4:18446744073709551659",
		"[1.2.3.4]:53",
		"[1.2.3.4]",
		"[::1",
		"::1]",
		"[::1]x",
		"[::1]x:53",
		"[::1]:",
		"[]",
		"[]:53",
		"[",
		"[[::1]]:53",
		"[::1]:53:53",
		"host:53",
		"127.1:53",
		"::1]:53",
		"[::1%lo]:53",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		struct endpoint endpoint = { .port = 7 };

		if (endpoint_parse(bad[i], 53, &endpoint) != -EINVAL)
			fail_msg("`%s` was taken", bad[i]);
		assert_int_equal(endpoint.port, 7);
	}
}

static void socket_addresses(void **state)
{
	struct endpoint four, six, mapped, back;
	struct sockaddr_storage sockaddr;

	(void)state;
	assert_int_equal(endpoint_parse("1.2.3.4:258", 0, &four), 0);
	assert_int_equal(endpoint_parse("[2001:db8::1]:53", 0, &six), 0);
	assert_int_equal(endpoint_parse("[::ffff:1.2.3.4]:258", 0, &mapped), 0);

	assert_int_equal(endpoint_to_sockaddr(&four, &sockaddr), sizeof(struct sockaddr_in));
	assert_int_equal(((struct sockaddr_in *)&sockaddr)->sin_port, htons(258));
	back = endpoint_from_sockaddr(&sockaddr);
	assert_true(endpoint_equal(&four, &back));

	assert_int_equal(endpoint_to_sockaddr(&six, &sockaddr), sizeof(struct sockaddr_in6));
	back = endpoint_from_sockaddr(&sockaddr);
	assert_true(endpoint_equal(&six, &back));

	/* What a dual-stack socket says of an IPv4 client is that IPv4 client. */
	endpoint_to_sockaddr(&mapped, &sockaddr);
	back = endpoint_from_sockaddr(&sockaddr);
	assert_true(endpoint_equal(&four, &back));

	sockaddr = (struct sockaddr_storage){ .ss_family = AF_UNIX };
	back = endpoint_from_sockaddr(&sockaddr);
	assert_int_equal(back.address.family, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spellings_of_addresses),
		cmocka_unit_test(families_are_apart),
		cmocka_unit_test(special_blocks_end_where_they_end),
		cmocka_unit_test(addresses_within_addresses),
		cmocka_unit_test(networks),
		cmocka_unit_test(networks_contain),
		cmocka_unit_test(spellings_of_endpoints),
		cmocka_unit_test(endpoints_that_reach_each_other),
		cmocka_unit_test(refused_endpoints),
		cmocka_unit_test(socket_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
