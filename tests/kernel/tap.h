/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* What the programs of this folder share: TAP, and a network of their own. */

/* Say whether @fmt, a sentence about what should be, holds: @passed. Gives @passed. */
bool tap_ok(bool passed, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Say how many tests there were; give the exit status. */
int tap_end(void);

/*
 * Go into a user, network and mount namespace of our own, as root there, with `lo` up and an empty
 * /run. Ends the program with a skip if that is not possible; with BAILIWICK_MUST_RUN set, with a
 * failure.
 */
void tap_unshare(void);

/* Run the shell command @fmt, its output to standard error; give its exit status. */
int tap_sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The output of the shell command @command, which the caller frees; NULL if it did not run. */
char *tap_read(const char *command);

/* True if the output of the shell command @command has @text in it. */
bool tap_says(const char *command, const char *text);
