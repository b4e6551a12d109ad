/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * File descriptors that strangers can make us open, at most: each connection
 * of a client takes one, and each query to an upstream. What the process
 * needs itself (the log, the packet filter) must never lack one because of
 * them: a gateway that cannot restore its ruleset stands open.
 */
struct descriptors {
	unsigned clients;   /* TCP connections of clients */
	unsigned upstreams; /* sockets to upstream servers */
};

/*
 * Share out what the process may open (RLIMIT_NOFILE), of which @n_listeners are listening sockets
 * and LIMIT_DESCRIPTORS_KEPT are kept back.
 */
struct descriptors descriptors_share(unsigned n_listeners);
