/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Why something that a person asked for did not work: a policy file, a
 * ruleset, a sandbox. The caller owns it, on its stack; nothing is freed.
 * The data plane does not use it: there, a negative errno says enough.
 */
struct err {
	int code; /* negative errno */
	char text[488];
};

/* Fill @err with @code and the sentence @fmt; give @code, so that it reads as a throw. */
int err_set(struct err *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), cold));

/* Put what was being attempted, @fmt, in front of the text of @err; give its code. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3), cold));
