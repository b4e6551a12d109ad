/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The chain: the hash of each line stands in the next one, and the last in
 * the head.
 */

enum {
	CHAIN_HASH_SIZE = 65,  /* 64 hexadecimal digits and a NUL */
	CHAIN_HEAD_BYTES = 86, /* 20 digits, a blank, the hash, a newline */
};

/* What the next line hangs on. */
struct chain_link {
	uint64_t seq; /* 0: before the first */
	char hash[CHAIN_HASH_SIZE];
};

/* The link that the first line of a new log hangs on: 64 zeros. */
struct chain_link chain_start(void);

struct chain_hasher;

/* Make a hasher; NULL if there is no memory. */
struct chain_hasher *chain_hasher_new(void);

/* Free @hasher; NULL is allowed. */
void chain_hasher_free(struct chain_hasher *hasher);

/* Write the SHA-256 of the @len bytes at @line, which has no newline, into @ret_hash. */
void chain_hash(struct chain_hasher *hasher, const char *line, size_t len,
		char ret_hash[CHAIN_HASH_SIZE]);

/* Write @link into @text as a head. */
void chain_head_print(const struct chain_link *link, char text[CHAIN_HEAD_BYTES + 1]);

/* Read the head of @len bytes at @text. Fails -EBADMSG: it is none. */
int chain_head_parse(const char *text, size_t len, struct chain_link *ret_link)
	__attribute__((warn_unused_result));

/* True if @text is the hexadecimal form of a hash, as chain_hash() writes it. */
bool chain_is_hash(const char *text);
