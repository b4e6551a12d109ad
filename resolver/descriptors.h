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
 * Share out what the process may open (RLIMIT_NOFILE) among @n_threads, of which each has
 * @n_listeners listening sockets; LIMIT_DESCRIPTORS_KEPT are kept back.
 *
 * Gives  the part of one.
 */
struct descriptors descriptors_share(unsigned n_listeners, unsigned n_threads);
