/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* URLs and endpoints as people write them. */

/* Cut a URL in @text down to its host and port; give the port of its scheme, 0 if it is no URL. */
uint16_t cli_cut_url(char *text);

/* Cut the port off @text, `HOST:PORT`; give it, 0 if there is none, -EINVAL if it is no port. */
int cli_cut_port(char *text);
