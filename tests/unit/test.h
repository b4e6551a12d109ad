/* SPDX-License-Identifier: MIT */
#pragma once

/* cmocka, with the headers that it wants before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
