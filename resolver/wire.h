/* SPDX-License-Identifier: MIT */
#pragma once

/* Numbers of the DNS protocol that more than one file needs. */
enum {
	WIRE_HEADER = 12, /* bytes of a header (RFC 1035, 4.1.1) */

	WIRE_QR = 0x8000, /* flags, as the header's second word */
	WIRE_OPCODE = 0x7800,
	WIRE_TC = 0x0200,
	WIRE_RD = 0x0100,
	WIRE_RA = 0x0080,
	WIRE_CD = 0x0010, /* RFC 4035, 3.2.2 */
	WIRE_RCODE = 0x000f,

	WIRE_NOERROR = 0,
	WIRE_FORMERR = 1,
	WIRE_SERVFAIL = 2,
	WIRE_NXDOMAIN = 3,
	WIRE_NOTIMP = 4,
	WIRE_REFUSED = 5,
	WIRE_BADVERS = 16, /* RFC 6891, 9 */

	WIRE_A = 1,
	WIRE_CNAME = 5,
	WIRE_SOA = 6,
	WIRE_AAAA = 28,
	WIRE_DNAME = 39,
	WIRE_OPT = 41,

	WIRE_IN = 1,

	WIRE_OPTION_COOKIE = 10, /* RFC 7873, 4 */
	WIRE_OPTION_EDE = 15,    /* RFC 8914, 2 */

	/* Extended DNS Errors (RFC 8914, 4). */
	WIRE_EDE_NONE = -1,
	WIRE_EDE_OTHER = 0,
	WIRE_EDE_CACHED_ERROR = 13,
	WIRE_EDE_BLOCKED = 15,
	WIRE_EDE_PROHIBITED = 18,
	WIRE_EDE_NO_REACHABLE_AUTHORITY = 22,
	WIRE_EDE_NETWORK_ERROR = 23,
};
