/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>
#include "audit/audit.h"

/*
 * Showing a log to people. Its bytes are a stranger's, also where they are
 * well-formed JSON: only printable ASCII reaches the terminal.
 */

/* Print @text on @out, each byte that is no printable ASCII as \xNN. */
void cli_print_text(FILE *out, const char *text);

/* Print @entry on @out as one line: what most records have in columns, the rest behind. */
void cli_print_entry(FILE *out, const struct audit_entry *entry);
