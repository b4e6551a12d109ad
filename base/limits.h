/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Whatever a stranger can make us allocate, walk or keep has its limit here,
 * and only here. A limit that is reached ends closed: the packet is refused,
 * the answer withheld, the file rejected.
 */
enum {
	/* A DNS query or answer, in bytes. */
	LIMIT_QUERY_BYTES = 4096,       /* larger queries: FORMERR */
	LIMIT_MESSAGE_BYTES = 65535,    /* an answer over TCP (RFC 1035, 4.2.2) */
	LIMIT_UDP_ANSWER_BYTES = 1232,  /* what we send or accept in one datagram (RFC 9715) */
	LIMIT_UDP_PLAIN_BYTES = 512,    /* without OPT (RFC 1035, 4.2.1) */
	LIMIT_MESSAGE_RECORDS = 1024,   /* records in one answer */
	LIMIT_POINTER_HOPS = 16,        /* compression pointers in one name */
	LIMIT_CHAIN = 12,               /* CNAME and DNAME steps from the question to the address */
	LIMIT_ANSWER_ADDRESSES = 256,   /* addresses kept of one answer */
	LIMIT_CACHE_ENTRY_BYTES = 1024, /* of a cached answer, on average: the cache is no larger */
	LIMIT_PROOF_RECORDS = 64,       /* signatures and denials kept of one answer ... */
	LIMIT_PROOF_BYTES = 8192,       /* ... and their bytes; with more than either, none is */

	/* Clients. */
	LIMIT_QUERIES_UNDER_WAY = 4096,     /* lives at once; more are answered SERVFAIL */
	LIMIT_UPSTREAM_SOCKETS = 12288,     /* to upstream servers: three tries of each life */
	LIMIT_DESCRIPTORS_KEPT = 64,        /* file descriptors that are for none of these */
	LIMIT_TCP_CLIENTS = 512,            /* TCP connections at once */
	LIMIT_TCP_CLIENTS_EACH = 128,       /* the same, from one address */
	LIMIT_TCP_UNSENT_BYTES = 256 << 10, /* answers that a client does not read */
	LIMIT_TCP_PIPELINE = 64,            /* queries under way on one connection */
	LIMIT_TCP_QUERIES = 10000,          /* queries on one connection before it is closed */

	/* Upstream servers, and other streams of ours. */
	LIMIT_STREAM_PIPELINE = 1024,        /* queries under way on one connection to a server */
	LIMIT_STREAM_UNSENT_BYTES = 1 << 20, /* what waits to be sent on a stream */
	LIMIT_WRONG_ANSWERS = 32,            /* to one query by UDP; it is asked over TCP then */

	/* Leases. */
	LIMIT_LEASES = 262144,           /* in the table */
	LIMIT_LEASES_PER_ELEMENT = 1024, /* names behind one (agent, address, protocol, port) */
	LIMIT_GRANT_PORTS = 256,         /* ports of one grant, ranges counted out */
	LIMIT_BATCH_ELEMENTS = 1024,     /* elements in one transaction */

	/* Budgets: what is remembered of the names that were asked for below wildcards. */
	LIMIT_BUDGETS = 8192,           /* registered domains, of all agents and grants */
	LIMIT_BUDGETS_EACH = 1024,      /* the same, of one agent */
	LIMIT_BUDGET_NAMES = 262144,    /* names of the last minute, of all budgets */
	LIMIT_BUDGET_NAMES_EACH = 1000, /* the most that `max_names` may say */
	LIMIT_BUDGET_LABELS = 128,      /* labels that each budget knows again */
	LIMIT_BUDGET_RATES = 4096,      /* agents times grants with a rate */

	/* The policy file. */
	LIMIT_POLICY_BYTES = 64 << 20, /* one file */
	LIMIT_POLICY_LINE = 16384,     /* one line */
	LIMIT_POLICY_INCLUDES = 64,    /* files in all */
	LIMIT_LIST_BYTES = 256 << 20,  /* one list of names; its lines as above */
	LIMIT_LIST_NAMES = 10000000,   /* in all lists */
	LIMIT_AGENTS = 1024,           /* [agent] sections */
	LIMIT_POLICY_FAULTS = 1000,    /* faults told of one load */
	LIMIT_GRANTS_PER_HOST = 16,    /* grants that name the same host, of one agent */

	/* The audit log. */
	LIMIT_AUDIT_QUEUE_BYTES = 4 << 20, /* records waiting for the disk */
	LIMIT_AUDIT_TEXT_BYTES = 768,      /* one text of a record; longer ones are cut */
	LIMIT_AUDIT_LINE_BYTES = 81920,    /* one line, written or read back */
	LIMIT_AUDIT_FILES = 1000,          /* files of one log that are read together */
};
