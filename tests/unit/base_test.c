/* SPDX-License-Identifier: MIT */
/* The small tools of base/: err, own, cursor, heap, list, hash. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cursor.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/own.h"
#include "tests/unit/test.h"

static void errors_read_as_throws(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(err_set(&err, -EINVAL, "no key `%s`", "hots"), -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	assert_string_equal(err.text, "no key `hots`");
	assert_int_equal(err_wrap(&err, "%s:%d", "policy.ini", 7), -EINVAL);
	assert_string_equal(err.text, "policy.ini:7: no key `hots`");
	assert_int_equal(err.code, -EINVAL);
}

static void long_errors_are_cut(void **state)
{
	char longer[2 * sizeof(((struct err *)0)->text)];
	struct {
		struct err err;
		char behind[8];
	} room = { .behind = "intact" };

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	err_set(&room.err, -EIO, "%s", longer);
	assert_int_equal(strlen(room.err.text), sizeof(room.err.text) - 1);
	err_wrap(&room.err, "here");
	assert_int_equal(strlen(room.err.text), sizeof(room.err.text) - 1);
	assert_memory_equal(room.err.text, "here: xx", 8);
	err_wrap(&room.err, "%s", longer);
	assert_int_equal(strlen(room.err.text), sizeof(room.err.text) - 1);
	assert_string_equal(room.behind, "intact");
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int open_and_drop(void)
{
	OWN(own_close) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && is_open(fd));
	errno = ERANGE;
	return fd;
}

static int open_and_steal(void)
{
	OWN(own_close) int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	return steal_fd(fd);
}

static char *copy_and_steal(const char *text)
{
	OWN(own_free) char *copy = strdup(text);
	char *stolen = steal_ptr(copy);

	assert_null(copy);
	return stolen;
}

static void owners_close_unless_robbed(void **state)
{
	int fd = open_and_drop();

	(void)state;
	assert_int_equal(errno, ERANGE);
	assert_false(is_open(fd));
	fd = open_and_steal();
	assert_true(is_open(fd));
	close(fd);
	OWN(own_free) char *copy = copy_and_steal("kept");

	assert_string_equal(copy, "kept");
}

/* Each kind of read, at each length from none to enough, gives its number or zero, and breaks. */
static void cursors_at_every_length(void **state)
{
	static const uint8_t bytes[] = { 0xf1, 0xf2, 0xf3, 0xf4, 0xf5 };

	(void)state;
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		struct cursor c8 = cursor_over(bytes, len), c16 = c8, c32 = c8, part = c8,
			      take = c8;

		assert_int_equal(cursor_left(&c8), len);
		assert_int_equal(cursor_u8(&c8), len >= 1 ? 0xf1 : 0);
		assert_int_equal(c8.broken, len < 1);
		assert_int_equal(cursor_u16(&c16), len >= 2 ? 0xf1f2 : 0);
		assert_int_equal(c16.broken, len < 2);
		assert_int_equal(cursor_u32(&c32), len >= 4 ? 0xf1f2f3f4 : 0);
		assert_int_equal(c32.broken, len < 4);
		assert_ptr_equal(cursor_take(&take, 3), len >= 3 ? bytes : NULL);
		assert_int_equal(cursor_left(&take), len >= 3 ? len - 3 : 0);

		struct cursor inner = cursor_part(&part, 3);

		assert_int_equal(inner.broken, len < 3);
		assert_int_equal(cursor_left(&inner), len >= 3 ? 3 : 0);
		assert_int_equal(part.broken, len < 3);
	}
}

static void broken_cursors_stay_broken(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct cursor c = cursor_over(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(cursor_u32(&c), 0);
	assert_true(c.broken);
	assert_ptr_equal(c.at, bytes); /* nothing moved */
	assert_int_equal(cursor_left(&c), 0);
	assert_int_equal(cursor_u8(&c), 0);
	assert_int_equal(cursor_u16(&c), 0);
	assert_null(cursor_take(&c, 0));
	struct cursor part = cursor_part(&c, 0);

	assert_true(part.broken);
}

static void parts_end_before_their_whole(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4 };
	struct cursor c = cursor_over(bytes, sizeof(bytes));
	struct cursor part = cursor_part(&c, 2);

	(void)state;
	assert_int_equal(cursor_u16(&part), 0x0102);
	assert_int_equal(cursor_u8(&part), 0);
	assert_true(part.broken);
	assert_int_equal(cursor_u16(&c), 0x0304);
	assert_false(c.broken);
	assert_null(cursor_take(&c, SIZE_MAX));
}

/* A heap against a plain array that is searched: the smallest key is the same after each step. */
static void heap_keeps_the_smallest_first(void **state)
{
	enum { NODES = 200, STEPS = 20000 };
	struct heap_node nodes[NODES] = { { .place = 0 } };
	struct heap heap = { .nodes = NULL };
	unsigned seed = 20;
	size_t n = 0;

	(void)state;
	for (unsigned step = 0; step < STEPS; step++) {
		struct heap_node *node = &nodes[(unsigned)rand_r(&seed) % NODES];
		uint64_t key = (uint64_t)rand_r(&seed) % 1000;
		uint64_t least = UINT64_MAX;

		if (!heap_holds(node)) {
			assert_int_equal(heap_add(&heap, node, key), 0);
			n++;
		} else if (key % 2 == 0) {
			heap_move(&heap, node, key);
		} else {
			heap_drop(&heap, node);
			heap_drop(&heap, node); /* twice is harmless */
			n--;
		}
		assert_int_equal(heap.n, n);
		for (unsigned i = 0; i < NODES; i++)
			if (heap_holds(&nodes[i]) && nodes[i].key < least)
				least = nodes[i].key;
		assert_int_equal(heap_first(&heap) != NULL, n > 0);
		if (n > 0)
			assert_int_equal(heap_first(&heap)->key, least);
	}
	for (uint64_t last = 0; n > 0; n--) {
		struct heap_node *first = heap_first(&heap);

		assert_true(first->key >= last);
		last = first->key;
		heap_drop(&heap, first);
	}
	assert_null(heap_first(&heap));
	heap_done(&heap);
}

struct item {
	int number;
	struct list node;
};

static int take_number(struct list *list)
{
	struct list *node = list_take(list);

	return node != NULL ? list_owner(node, struct item, node)->number : -1;
}

static void lists_keep_their_order(void **state)
{
	struct item items[4] = {
		{ .number = 0 }, { .number = 1 }, { .number = 2 }, { .number = 3 }
	};
	struct list list, other;

	(void)state;
	list_init(&list);
	list_init(&other);
	assert_true(list_empty(&list));
	assert_null(list_take(&list));
	for (unsigned i = 0; i < LENGTH(items); i++) {
		list_init(&items[i].node);
		assert_true(list_empty(&items[i].node));
		list_add(i < 2 ? &list : &other, &items[i].node);
	}
	list_move_all(&list, &other);
	assert_true(list_empty(&other));
	list_drop(&items[1].node);
	list_drop(&items[1].node); /* twice is harmless */
	assert_true(list_empty(&items[1].node));
	assert_int_equal(take_number(&list), 0);
	assert_int_equal(take_number(&list), 2);
	assert_int_equal(take_number(&list), 3);
	assert_int_equal(take_number(&list), -1);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Keys that differ in little (a bit, a length, a trailing zero) have different hashes. */
static void hashes_of_like_keys_differ(void **state)
{
	enum { LENS = 40 };
	static uint64_t hashes[LENS * (1 + 2 * LENS * 8)];
	uint8_t key[LENS] = { 0 };
	size_t n = 0;

	(void)state;
	for (size_t len = 0; len < LENS; len++) {
		hashes[n++] = hash_bytes(1, key, len);
		for (size_t bit = 0; bit < len * 8; bit++) {
			key[bit / 8] = (uint8_t)(1 << bit % 8);
			hashes[n++] = hash_bytes(1, key, len);
			hashes[n++] = hash_bytes(2, key, len);
			key[bit / 8] = 0;
		}
	}
	qsort(hashes, n, sizeof(hashes[0]), compare);
	for (size_t i = 1; i < n; i++)
		assert_int_not_equal(hashes[i - 1], hashes[i]);
}

/* Addresses of one network, which an upstream may choose, spread over the buckets of a table. */
static void hashes_spread(void **state)
{
	enum { BUCKETS = 256, KEYS = BUCKETS * 64 };
	unsigned filled[BUCKETS] = { 0 };
	uint64_t seed = hash_seed();

	(void)state;
	for (uint32_t key = 0; key < KEYS; key++)
		filled[hash_bytes(seed, &key, sizeof(key)) % BUCKETS]++;
	for (unsigned i = 0; i < BUCKETS; i++)
		assert_in_range(filled[i], 16, 160); /* 64 on average; six standard deviations */
	assert_int_not_equal(seed, hash_seed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_read_as_throws),
		cmocka_unit_test(long_errors_are_cut),
		cmocka_unit_test(owners_close_unless_robbed),
		cmocka_unit_test(cursors_at_every_length),
		cmocka_unit_test(broken_cursors_stay_broken),
		cmocka_unit_test(parts_end_before_their_whole),
		cmocka_unit_test(heap_keeps_the_smallest_first),
		cmocka_unit_test(lists_keep_their_order),
		cmocka_unit_test(hashes_of_like_keys_differ),
		cmocka_unit_test(hashes_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
