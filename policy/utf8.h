/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/*
 * What is wrong with the @len bytes at @text as a line of a policy file, in words; NULL if
 * nothing is. Control characters (tabs apart), bytes that are no UTF-8 and characters that turn
 * the direction of the text, so that a line shows other than it reads, are wrong.
 */
const char *utf8_fault(const char *text, size_t len);
