/* SPDX-License-Identifier: MIT */
/*
 * A rule is a small program over registers: load something of the packet,
 * compare it, and if that holds, go on. What nft shows as `{ a, b }` is an
 * anonymous set, which belongs to the rule and is made just before it.
 *
 * Between two parts nothing is kept in a register: each loads into the first,
 * and those that need several take the ones behind it.
 *
 * Where nft could tell two ways to say a thing apart, this is its own, so that
 * it lists our rules as it lists those that it made from the text.
 */
#include "lease/expression.h"

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <libnftnl/expr.h>
#include <libnftnl/set.h>
#include <libnftnl/udata.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>
#include "base/own.h"

enum {
	/* nft's data types, by which it knows how to show keys. */
	TYPE_PROTOCOL = 12,
	TYPE_PORT = 13,
	TYPE_ICMPV6 = 29,
	TYPE_INTERFACE = 41,
	REGISTER_BYTES = 4,       /* the smallest */
	NANOSECONDS = 1000000000, /* in a second */
};

static const char anonymous[] = "__set%d"; /* the kernel puts a number there */

/* The expressions of a rule in the making. */
struct expressions {
	struct messages *messages;
	struct nftnl_rule *rule;
};

static void own_set(struct nftnl_set *const *set)
{
	if (*set != NULL)
		nftnl_set_free(*set);
}

static void own_udata(struct nftnl_udata_buf *const *udata)
{
	if (*udata != NULL)
		nftnl_udata_buf_free(*udata);
}

/* What an expression is given: attribute, bytes. The last of a list has none. */
struct setting {
	uint16_t attr;
	const void *bytes;
	uint32_t len;
};

/* clang-format off */
#define U32(attr, number) { (attr), &(const uint32_t){ (number) }, sizeof(uint32_t) }
#define U8(attr, number) { (attr), &(const uint8_t){ (number) }, sizeof(uint8_t) }
#define TEXT(attr, text) { (attr), (text), (uint32_t)strlen(text) + 1 }
#define BYTES(attr, bytes, len) { (attr), (bytes), (len) }
/* clang-format on */
#define ADD(e, name, ...) add((e), (name), (const struct setting[]){ __VA_ARGS__, { .len = 0 } })

static void add(struct expressions *e, const char *name, const struct setting *settings)
{
	struct nftnl_expr *expr = nftnl_expr_alloc(name);

	if (!message_made(e->messages, expr))
		return;
	nftnl_rule_add_expr(e->rule, expr);
	for (; settings->bytes != NULL; settings++)
		if (nftnl_expr_set(expr, settings->attr, settings->bytes, settings->len) < 0)
			message_fail(e->messages, -ENOMEM);
}

static void load_meta(struct expressions *e, uint32_t key, uint32_t to)
{
	ADD(e, "meta", U32(NFTNL_EXPR_META_KEY, key), U32(NFTNL_EXPR_META_DREG, to));
}

static void load_conntrack(struct expressions *e, uint32_t key)
{
	ADD(e, "ct", U32(NFTNL_EXPR_CT_KEY, key), U32(NFTNL_EXPR_CT_DREG, NFT_REG_1));
}

/* Where something lies in a packet. */
struct field {
	uint32_t header, offset, len;
};

static const struct field ether_source = { NFT_PAYLOAD_LL_HEADER, 6, 6 };
static const struct field ether_type = { NFT_PAYLOAD_LL_HEADER, 12, 2 };
static const struct field ipv4_source = { NFT_PAYLOAD_NETWORK_HEADER, 12, 4 };
static const struct field ipv4_target = { NFT_PAYLOAD_NETWORK_HEADER, 16, 4 };
static const struct field ipv6_hop_limit = { NFT_PAYLOAD_NETWORK_HEADER, 7, 1 };
static const struct field ipv6_source = { NFT_PAYLOAD_NETWORK_HEADER, 8, 16 };
static const struct field ipv6_target = { NFT_PAYLOAD_NETWORK_HEADER, 24, 16 };
static const struct field icmpv6_type = { NFT_PAYLOAD_TRANSPORT_HEADER, 0, 1 };
static const struct field target_port = { NFT_PAYLOAD_TRANSPORT_HEADER, 2, 2 };

static void load(struct expressions *e, const struct field *field, uint32_t to)
{
	ADD(e, "payload", U32(NFTNL_EXPR_PAYLOAD_BASE, field->header),
	    U32(NFTNL_EXPR_PAYLOAD_OFFSET, field->offset), U32(NFTNL_EXPR_PAYLOAD_LEN, field->len),
	    U32(NFTNL_EXPR_PAYLOAD_DREG, to));
}

static void compare(struct expressions *e, uint32_t how, const void *bytes, uint32_t len)
{
	ADD(e, "cmp", U32(NFTNL_EXPR_CMP_SREG, NFT_REG_1), U32(NFTNL_EXPR_CMP_OP, how),
	    BYTES(NFTNL_EXPR_CMP_DATA, bytes, len));
}

static void mask(struct expressions *e, const void *bits, uint32_t len)
{
	static const uint8_t zeros[16];

	ADD(e, "bitwise", U32(NFTNL_EXPR_BITWISE_SREG, NFT_REG_1),
	    U32(NFTNL_EXPR_BITWISE_DREG, NFT_REG_1), U32(NFTNL_EXPR_BITWISE_LEN, len),
	    BYTES(NFTNL_EXPR_BITWISE_MASK, bits, len), BYTES(NFTNL_EXPR_BITWISE_XOR, zeros, len));
}

static void set_register(struct expressions *e, uint32_t to, const void *bytes, uint32_t len)
{
	ADD(e, "immediate", U32(NFTNL_EXPR_IMM_DREG, to), BYTES(NFTNL_EXPR_IMM_DATA, bytes, len));
}

/* Put the anonymous @set before the rule, and look the first register up in it. */
static void look_up(struct expressions *e, struct nftnl_set *set, uint32_t n_elements)
{
	message_set_put(e->messages, set, n_elements);
	message_elements_put(e->messages, set);
	ADD(e, "lookup", U32(NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1),
	    TEXT(NFTNL_EXPR_LOOKUP_SET, nftnl_set_get_str(set, NFTNL_SET_NAME)),
	    U32(NFTNL_EXPR_LOOKUP_SET_ID, nftnl_set_get_u32(set, NFTNL_SET_ID)));
}

/* The first register is one of the @n keys, of @key_bytes each. */
static void match_any(struct expressions *e, uint32_t type, uint32_t order, const void *keys,
		      uint32_t key_bytes, uint32_t n)
{
	if (n == 1) {
		compare(e, NFT_CMP_EQ, keys, key_bytes);
		return;
	}

	OWN(own_set)
	struct nftnl_set *set =
		message_set_new(e->messages, anonymous, NFT_SET_ANONYMOUS | NFT_SET_CONSTANT, type,
				order, key_bytes);

	if (set == NULL)
		return;
	for (uint32_t i = 0; i < n; i++)
		message_element_add(e->messages, set, (const uint8_t *)keys + (size_t)i * key_bytes,
				    key_bytes);
	look_up(e, set, n);
}

/*
 * What a packet must be.
 */

typedef void encode_fn(struct expressions *e, const struct rule_part *part);

static void match_interfaces(struct expressions *e, const char *const *interfaces, uint32_t n)
{
	OWN(own_free) char(*names)[IFNAMSIZ] = calloc(n, sizeof(*names));

	if (!message_made(e->messages, names))
		return;
	for (uint32_t i = 0; i < n; i++)
		memcpy(names[i], interfaces[i], strlen(interfaces[i]));
	load_meta(e, NFT_META_IIFNAME, NFT_REG_1);
	match_any(e, TYPE_INTERFACE, MESSAGE_ORDER_HOST, names, sizeof(*names), n);
}

static void encode_interface(struct expressions *e, const struct rule_part *part)
{
	const struct ruleset *ruleset = e->messages->ruleset;

	(void)part;
	match_interfaces(e, ruleset->interfaces, ruleset->n_interfaces);
}

static void encode_arrived(struct expressions *e, const struct rule_part *part)
{
	match_interfaces(e, part->interfaces, part->n_interfaces);
}

static void match_version(struct expressions *e, uint8_t version)
{
	const uint8_t family = version == 4 ? NFPROTO_IPV4 : NFPROTO_IPV6;

	load_meta(e, NFT_META_NFPROTO, NFT_REG_1);
	compare(e, NFT_CMP_EQ, &family, sizeof(family));
}

static void encode_version(struct expressions *e, const struct rule_part *part)
{
	match_version(e, part->version);
}

static uint32_t count_numbers(const uint8_t *numbers)
{
	uint32_t n = 0;

	while (n < RULE_NUMBERS_MAX && numbers[n] != 0)
		n++;
	return n;
}

static void match_protocol(struct expressions *e, const uint8_t *protocols, uint32_t n)
{
	load_meta(e, NFT_META_L4PROTO, NFT_REG_1);
	match_any(e, TYPE_PROTOCOL, MESSAGE_ORDER_HOST, protocols, sizeof(*protocols), n);
}

static void encode_protocol(struct expressions *e, const struct rule_part *part)
{
	match_protocol(e, part->numbers, count_numbers(part->numbers));
}

/* An element of a set of ranges: a range begins at @port, or ended just before it. */
static struct nftnl_set_elem *add_border(struct expressions *e, struct nftnl_set *set,
					 uint16_t port, bool ended)
{
	const uint16_t key = htons(port);
	struct nftnl_set_elem *element = message_element_add(e->messages, set, &key, sizeof(key));

	if (element != NULL && ended)
		nftnl_set_elem_set_u32(element, NFTNL_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
	return element;
}

/* Say that the range that begins at @element is not a single port, though nothing ends it. */
static void leave_open(struct expressions *e, struct nftnl_set_elem *element)
{
	OWN(own_udata) struct nftnl_udata_buf *udata = nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN);

	if (element == NULL || !message_made(e->messages, udata))
		return;
	nftnl_udata_put_u32(udata, NFTNL_UDATA_SET_ELEM_FLAGS, NFTNL_SET_ELEM_F_INTERVAL_OPEN);
	if (nftnl_set_elem_set(element, NFTNL_SET_ELEM_USERDATA, nftnl_udata_buf_data(udata),
			       nftnl_udata_buf_len(udata)) < 0)
		message_fail(e->messages, -ENOMEM);
}

/* The first register is in one of the ranges. The kernel wants a border before the first as well. */
static void match_ranges(struct expressions *e, const struct policy_port *ports, unsigned n)
{
	OWN(own_set)
	struct nftnl_set *set = message_set_new(
		e->messages, anonymous, NFT_SET_ANONYMOUS | NFT_SET_CONSTANT | NFT_SET_INTERVAL,
		TYPE_PORT, MESSAGE_ORDER_NETWORK, sizeof(uint16_t));
	uint32_t n_borders = 0;

	if (set == NULL)
		return;
	if (ports[0].from > 0) {
		add_border(e, set, 0, true);
		n_borders++;
	}
	for (unsigned i = 0; i < n; i++) {
		struct nftnl_set_elem *begins = add_border(e, set, ports[i].from, false);

		assert(i == 0 || ports[i].from > ports[i - 1].to + 1);
		n_borders++;
		if (ports[i].to == UINT16_MAX) {
			leave_open(e, begins);
			continue;
		}
		add_border(e, set, (uint16_t)(ports[i].to + 1), true);
		n_borders++;
	}
	look_up(e, set, n_borders);
}

static void match_ports(struct expressions *e, const struct policy_port *ports, unsigned n)
{
	OWN(own_free) uint16_t *singles = calloc(n, sizeof(*singles));
	bool ranges = false;

	if (!message_made(e->messages, singles))
		return;
	for (unsigned i = 0; i < n; i++) {
		singles[i] = htons(ports[i].from);
		ranges = ranges || ports[i].to > ports[i].from;
	}
	if (!ranges) {
		match_any(e, TYPE_PORT, MESSAGE_ORDER_NETWORK, singles, sizeof(*singles), n);
	} else if (n > 1) {
		match_ranges(e, ports, n);
	} else {
		const uint16_t last = htons(ports[0].to);

		compare(e, NFT_CMP_GTE, singles, sizeof(*singles));
		compare(e, NFT_CMP_LTE, &last, sizeof(last));
	}
}

static void encode_ports(struct expressions *e, const struct rule_part *part)
{
	match_protocol(e, &part->ports[0].protocol, 1);
	load(e, &target_port, NFT_REG_1);
	match_ports(e, part->ports, part->n_ports);
}

static void encode_port(struct expressions *e, const struct rule_part *part)
{
	static const uint8_t protocols[] = { IPPROTO_TCP, IPPROTO_UDP };
	const uint16_t port = htons(part->port);

	match_protocol(e, protocols, sizeof(protocols));
	load(e, &target_port, NFT_REG_1);
	compare(e, NFT_CMP_EQ, &port, sizeof(port));
}

static void match_network(struct expressions *e, const struct network *network,
			  const struct field *ipv4, const struct field *ipv6)
{
	uint32_t len = (uint32_t)address_len(&network->address);
	uint8_t bits[16] = { 0 };

	match_version(e, network->address.family);
	load(e, len == 4 ? ipv4 : ipv6, NFT_REG_1);
	for (unsigned i = 0; i < network->prefix; i++)
		bits[i / 8] |= (uint8_t)(0x80 >> i % 8);
	if (network->prefix < 8 * len)
		mask(e, bits, len);
	compare(e, NFT_CMP_EQ, network->address.bytes, len);
}

static void encode_to(struct expressions *e, const struct rule_part *part)
{
	match_network(e, &part->network, &ipv4_target, &ipv6_target);
}

static void encode_from(struct expressions *e, const struct rule_part *part)
{
	match_network(e, &part->network, &ipv4_source, &ipv6_source);
}

static void encode_state(struct expressions *e, const struct rule_part *part)
{
	static const uint32_t bits[] = {
		[RULE_INVALID] = NF_CT_STATE_INVALID_BIT,
		[RULE_ESTABLISHED] = NF_CT_STATE_BIT(IP_CT_ESTABLISHED),
		[RULE_RELATED] = NF_CT_STATE_BIT(IP_CT_RELATED),
	};
	static const uint32_t none;

	load_conntrack(e, NFT_CT_STATE);
	mask(e, &bits[part->state], sizeof(bits[0]));
	compare(e, NFT_CMP_NEQ, &none, sizeof(none));
}

static void encode_direction(struct expressions *e, const struct rule_part *part)
{
	const uint8_t way = part->kind == RULE_ORIGINAL ? IP_CT_DIR_ORIGINAL : IP_CT_DIR_REPLY;

	load_conntrack(e, NFT_CT_DIRECTION);
	compare(e, NFT_CMP_EQ, &way, sizeof(way));
}

/* A connection's labels: the bits of 32-bit numbers, each in the host's order. */
struct labels {
	uint32_t numbers[RULE_LABELS / 32];
};

static const struct labels our_label = {
	.numbers = { [RULE_LABEL / 32] = UINT32_C(1) << RULE_LABEL % 32 },
};

static void encode_marked(struct expressions *e, const struct rule_part *part)
{
	static const struct labels none;

	(void)part;
	load_conntrack(e, NFT_CT_LABELS);
	mask(e, &our_label, sizeof(our_label));
	compare(e, NFT_CMP_NEQ, &none, sizeof(none));
}

/* The route to the source does not lead through the interface that the packet came in by. */
static void encode_spoofed(struct expressions *e, const struct rule_part *part)
{
	static const uint32_t missing = 0;

	(void)part;
	ADD(e, "fib", U32(NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_OIF),
	    U32(NFTNL_EXPR_FIB_FLAGS, NFTA_FIB_F_SADDR | NFTA_FIB_F_IIF | NFTA_FIB_F_PRESENT),
	    U32(NFTNL_EXPR_FIB_DREG, NFT_REG_1));
	compare(e, NFT_CMP_EQ, &missing, sizeof(missing));
}

static void encode_routed(struct expressions *e, const struct rule_part *part)
{
	static const uint8_t present = 1;

	(void)part;
	match_version(e, 6);
	ADD(e, "exthdr", U32(NFTNL_EXPR_EXTHDR_DREG, NFT_REG_1),
	    U8(NFTNL_EXPR_EXTHDR_TYPE, IPPROTO_ROUTING), U32(NFTNL_EXPR_EXTHDR_OFFSET, 0),
	    U32(NFTNL_EXPR_EXTHDR_LEN, 1), U32(NFTNL_EXPR_EXTHDR_OP, NFT_EXTHDR_OP_IPV6),
	    U32(NFTNL_EXPR_EXTHDR_FLAGS, NFT_EXTHDR_F_PRESENT));
	compare(e, NFT_CMP_EQ, &present, sizeof(present));
}

/* A router forwards no packet without taking one from its hop limit: 255 has passed none. */
static void encode_icmpv6_link(struct expressions *e, const struct rule_part *part)
{
	static const uint8_t protocol = IPPROTO_ICMPV6, untouched = 255;

	match_version(e, 6);
	match_protocol(e, &protocol, 1);
	load(e, &icmpv6_type, NFT_REG_1);
	match_any(e, TYPE_ICMPV6, MESSAGE_ORDER_NETWORK, part->numbers, 1,
		  count_numbers(part->numbers));
	load(e, &ipv6_hop_limit, NFT_REG_1);
	compare(e, NFT_CMP_EQ, &untouched, sizeof(untouched));
}

/* A packet has a link-layer address only if it came by a link that has such. */
static void match_ethernet(struct expressions *e, uint8_t version)
{
	static const uint16_t ethernet = ARPHRD_ETHER;
	const uint16_t carries = htons(version == 4 ? ETH_P_IP : ETH_P_IPV6);

	load_meta(e, NFT_META_IIFTYPE, NFT_REG_1);
	compare(e, NFT_CMP_EQ, &ethernet, sizeof(ethernet));
	load(e, &ether_type, NFT_REG_1);
	compare(e, NFT_CMP_EQ, &carries, sizeof(carries));
}

/* Load @field to the register @at; give that behind it. */
static uint32_t load_next(struct expressions *e, const struct field *field, uint32_t at)
{
	load(e, field, at);
	return at + (field->len + REGISTER_BYTES - 1) / REGISTER_BYTES;
}

static void encode_leased(struct expressions *e, const struct rule_part *part)
{
	const struct ruleset_set *set = part->set;
	const struct field *source = set->version == 4 ? &ipv4_source : &ipv6_source;
	const struct field *target = set->version == 4 ? &ipv4_target : &ipv6_target;
	uint32_t at = NFT_REG32_00;

	if (set->ether)
		match_ethernet(e, set->version);
	else
		match_version(e, set->version);
	if (set->ether)
		load_meta(e, NFT_META_IIF, at++);
	at = load_next(e, set->ether ? &ether_source : source, at);
	at = load_next(e, target, at);
	load_meta(e, NFT_META_L4PROTO, at++);
	load(e, &target_port, at);
	ADD(e, "lookup", U32(NFTNL_EXPR_LOOKUP_SREG, NFT_REG32_00),
	    TEXT(NFTNL_EXPR_LOOKUP_SET, set->name));
}

/* The kernel compares bytes, so its number is turned round first. */
static void encode_before(struct expressions *e, const struct rule_part *part)
{
	const uint64_t time_ns = htobe64((uint64_t)part->time_s * NANOSECONDS);

	load_meta(e, NFT_META_TIME_NS, NFT_REG_1);
	ADD(e, "byteorder", U32(NFTNL_EXPR_BYTEORDER_SREG, NFT_REG_1),
	    U32(NFTNL_EXPR_BYTEORDER_DREG, NFT_REG_1),
	    U32(NFTNL_EXPR_BYTEORDER_OP, NFT_BYTEORDER_HTON),
	    U32(NFTNL_EXPR_BYTEORDER_LEN, sizeof(time_ns)),
	    U32(NFTNL_EXPR_BYTEORDER_SIZE, sizeof(time_ns)));
	compare(e, NFT_CMP_LT, &time_ns, sizeof(time_ns));
}

static void encode_weekday(struct expressions *e, const struct rule_part *part)
{
	load_meta(e, NFT_META_TIME_DAY, NFT_REG_1);
	compare(e, NFT_CMP_EQ, &part->weekday, sizeof(part->weekday));
}

/* Load the second of the day, and compare it with @second. */
static void compare_daytime(struct expressions *e, uint32_t how, uint32_t second)
{
	const uint32_t bytes = htonl(second);

	load_meta(e, NFT_META_TIME_HOUR, NFT_REG_1);
	ADD(e, "byteorder", U32(NFTNL_EXPR_BYTEORDER_SREG, NFT_REG_1),
	    U32(NFTNL_EXPR_BYTEORDER_DREG, NFT_REG_1),
	    U32(NFTNL_EXPR_BYTEORDER_OP, NFT_BYTEORDER_HTON),
	    U32(NFTNL_EXPR_BYTEORDER_LEN, sizeof(bytes)),
	    U32(NFTNL_EXPR_BYTEORDER_SIZE, sizeof(bytes)));
	compare(e, how, &bytes, sizeof(bytes));
}

static void encode_daytime(struct expressions *e, const struct rule_part *part)
{
	compare_daytime(e, NFT_CMP_GTE, part->from_s);
	compare_daytime(e, NFT_CMP_LT, part->to_s);
}

/*
 * What is done with it.
 */

static void encode_count(struct expressions *e, const struct rule_part *part)
{
	ADD(e, "objref", U32(NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER),
	    TEXT(NFTNL_EXPR_OBJREF_IMM_NAME, part->name));
}

static void encode_mark(struct expressions *e, const struct rule_part *part)
{
	(void)part;
	set_register(e, NFT_REG_1, &our_label, sizeof(our_label));
	ADD(e, "ct", U32(NFTNL_EXPR_CT_KEY, NFT_CT_LABELS), U32(NFTNL_EXPR_CT_SREG, NFT_REG_1));
}

static void encode_verdict(struct expressions *e, const struct rule_part *part)
{
	ADD(e, "immediate", U32(NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT),
	    U32(NFTNL_EXPR_IMM_VERDICT, part->kind == RULE_ACCEPT ? NF_ACCEPT : NF_DROP));
}

static void encode_chain(struct expressions *e, const struct rule_part *part)
{
	int verdict = part->kind == RULE_JUMP ? NFT_JUMP : NFT_GOTO;

	ADD(e, "immediate", U32(NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT),
	    U32(NFTNL_EXPR_IMM_VERDICT, (uint32_t)verdict), TEXT(NFTNL_EXPR_IMM_CHAIN, part->name));
}

static void encode_return(struct expressions *e, const struct rule_part *part)
{
	int verdict = NFT_RETURN;

	(void)part;
	ADD(e, "immediate", U32(NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT),
	    U32(NFTNL_EXPR_IMM_VERDICT, (uint32_t)verdict));
}

static void encode_reject(struct expressions *e, const struct rule_part *part)
{
	uint32_t type = part->kind == RULE_RESET ? NFT_REJECT_TCP_RST : NFT_REJECT_ICMPX_UNREACH;
	uint8_t code = part->kind == RULE_UNREACHABLE  ? NFT_REJECT_ICMPX_PORT_UNREACH
		       : part->kind == RULE_PROHIBITED ? NFT_REJECT_ICMPX_ADMIN_PROHIBITED
						       : 0;

	ADD(e, "reject", U32(NFTNL_EXPR_REJECT_TYPE, type), U8(NFTNL_EXPR_REJECT_CODE, code));
}

static void encode_redirect(struct expressions *e, const struct rule_part *part)
{
	const uint16_t port = htons(part->port);

	set_register(e, NFT_REG_1, &port, sizeof(port));
	ADD(e, "redir", U32(NFTNL_EXPR_REDIR_REG_PROTO_MIN, NFT_REG_1),
	    U32(NFTNL_EXPR_REDIR_FLAGS, NF_NAT_RANGE_PROTO_SPECIFIED));
}

static void encode_translate(struct expressions *e, const struct rule_part *part)
{
	const struct address *to = &part->endpoint.address;
	const uint16_t port = htons(part->endpoint.port);

	set_register(e, NFT_REG_1, to->bytes, (uint32_t)address_len(to));
	set_register(e, NFT_REG_2, &port, sizeof(port));
	ADD(e, "nat", U32(NFTNL_EXPR_NAT_TYPE, NFT_NAT_DNAT),
	    U32(NFTNL_EXPR_NAT_FAMILY, to->family == 4 ? NFPROTO_IPV4 : NFPROTO_IPV6),
	    U32(NFTNL_EXPR_NAT_REG_ADDR_MIN, NFT_REG_1),
	    U32(NFTNL_EXPR_NAT_REG_PROTO_MIN, NFT_REG_2),
	    U32(NFTNL_EXPR_NAT_FLAGS, NF_NAT_RANGE_PROTO_SPECIFIED));
}

static encode_fn *const encoders[] = {
	[RULE_INTERFACE] = encode_interface,
	[RULE_VERSION] = encode_version,
	[RULE_PROTOCOL] = encode_protocol,
	[RULE_PORTS] = encode_ports,
	[RULE_PORT] = encode_port,
	[RULE_ARRIVED] = encode_arrived,
	[RULE_FROM] = encode_from,
	[RULE_TO] = encode_to,
	[RULE_STATE] = encode_state,
	[RULE_ORIGINAL] = encode_direction,
	[RULE_REPLY] = encode_direction,
	[RULE_MARKED] = encode_marked,
	[RULE_SPOOFED] = encode_spoofed,
	[RULE_ROUTED] = encode_routed,
	[RULE_ICMPV6_LINK] = encode_icmpv6_link,
	[RULE_LEASED] = encode_leased,
	[RULE_BEFORE] = encode_before,
	[RULE_WEEKDAY] = encode_weekday,
	[RULE_DAYTIME] = encode_daytime,
	[RULE_COUNT] = encode_count,
	[RULE_MARK] = encode_mark,
	[RULE_ACCEPT] = encode_verdict,
	[RULE_DROP] = encode_verdict,
	[RULE_RESET] = encode_reject,
	[RULE_UNREACHABLE] = encode_reject,
	[RULE_PROHIBITED] = encode_reject,
	[RULE_JUMP] = encode_chain,
	[RULE_GOTO] = encode_chain,
	[RULE_RETURN] = encode_return,
	[RULE_REDIRECT] = encode_redirect,
	[RULE_TRANSLATE] = encode_translate,
};
static_assert(sizeof(encoders) / sizeof(encoders[0]) == RULE_KINDS, "a part has no expressions");

void expression_add(struct messages *messages, struct nftnl_rule *rule,
		    const struct rule_part *part)
{
	struct expressions e = { messages, rule };

	assert(part->kind > RULE_END && part->kind < RULE_KINDS);
	encoders[part->kind](&e, part);
}
