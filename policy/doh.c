/* SPDX-License-Identifier: MIT */
/*
 * Names that take DNS away from us: public services of DNS over HTTPS,
 * relays that hide names, and the names by which programs learn whether they
 * may use either. Known services only, each by its own name, so that no
 * other host behind the same CDN is hit; a row marked BELOW has a name for
 * each customer under it. The addresses at the end are for the same reason
 * only those that serve nothing else.
 */
#include "policy/doh.h"

#include <assert.h>

enum { BELOW = 1 };

static const struct {
	const char *name;
	int below;
} names[] = {
	/* Signals and relays, with all below: nothing there is anything else. */
	{ "use-application-dns.net", BELOW }, /* Firefox: a denial turns its DoH off */
	{ "mask.icloud.com", BELOW },         /* Private Relay: a denial turns it off */
	{ "mask-h2.icloud.com", BELOW },
	{ "mask-api.icloud.com", BELOW },
	{ "mask-canary.icloud.com", BELOW },
	{ "mask.apple-dns.net", BELOW },
	{ "mask-t.apple-dns.net", BELOW },
	{ "mask-h2.apple-dns.net", BELOW },
	{ "mask-api.fe.apple-dns.net", BELOW },
	{ "canary.mask.apple-dns.net", BELOW },
	{ "doh.dns.apple.com", BELOW },
	{ "doh.dns.apple.com.v.aaplimg.com", BELOW },
	{ "dns-weighted.apple.com", BELOW },
	{ "odoh.cloudflare-dns.com", BELOW },

	/* Google */
	{ "dns.google", 0 },
	{ "dns.google.com", 0 },
	{ "dns64.dns.google", 0 },
	{ "8888.google", 0 },
	{ "google-public-dns-a.google.com", 0 },
	{ "google-public-dns-b.google.com", 0 },

	/* Cloudflare */
	{ "cloudflare-dns.com", BELOW }, /* mozilla., chrome., security., family. and accounts' */
	{ "one.one.one.one", 0 },
	{ "1dot1dot1dot1.cloudflare-dns.com", 0 },
	{ "1dot1dot1dot1.com", 0 },
	{ "dns.cloudflare.com", 0 },
	{ "dns64.cloudflare-dns.com", 0 },
	{ "cloudflare-gateway.com", BELOW }, /* Zero Trust: a name for each account */
	{ "one.one.one.one.cdn.cloudflare.net", 0 },

	/* Quad9 */
	{ "dns.quad9.net", 0 },
	{ "dns9.quad9.net", 0 },
	{ "dns10.quad9.net", 0 },
	{ "dns11.quad9.net", 0 },
	{ "dns12.quad9.net", 0 },
	{ "dns-nosec.quad9.net", 0 },

	/* Cisco */
	{ "dns.opendns.com", 0 },
	{ "doh.opendns.com", 0 },
	{ "doh.familyshield.opendns.com", 0 },
	{ "doh.sandbox.opendns.com", 0 },
	{ "doh.umbrella.com", 0 },
	{ "dns.umbrella.com", 0 },

	/* AdGuard */
	{ "adguard-dns.com", BELOW }, /* dns., family., unfiltered., d. and below */
	{ "dns.adguard.com", 0 },
	{ "dns-family.adguard.com", 0 },
	{ "dns-unfiltered.adguard.com", 0 },

	/* NextDNS */
	{ "dns.nextdns.io", BELOW },
	{ "dns1.nextdns.io", 0 },
	{ "dns2.nextdns.io", 0 },
	{ "anycast.dns.nextdns.io", 0 },
	{ "chromium.dns.nextdns.io", 0 },
	{ "firefox.dns.nextdns.io", 0 },
	{ "apple.dns.nextdns.io", 0 },
	{ "doh3.dns.nextdns.io", 0 },

	/* Control D */
	{ "dns.controld.com", BELOW },
	{ "freedns.controld.com", 0 },
	{ "doh.controld.com", 0 },

	/* CleanBrowsing */
	{ "doh.cleanbrowsing.org", 0 },
	{ "family-filter-dns.cleanbrowsing.org", 0 },
	{ "adult-filter-dns.cleanbrowsing.org", 0 },
	{ "security-filter-dns.cleanbrowsing.org", 0 },

	/* Mullvad */
	{ "dns.mullvad.net", 0 },
	{ "adblock.dns.mullvad.net", 0 },
	{ "base.dns.mullvad.net", 0 },
	{ "extended.dns.mullvad.net", 0 },
	{ "family.dns.mullvad.net", 0 },
	{ "all.dns.mullvad.net", 0 },
	{ "doh.mullvad.net", 0 },
	{ "adblock.doh.mullvad.net", 0 },

	/* Others that are open to the public. */
	{ "dns.sb", 0 },
	{ "doh.sb", BELOW },
	{ "doh.dns.sb", 0 },
	{ "dot.sb", 0 },
	{ "dns.alidns.com", 0 },
	{ "doh.alidns.com", 0 },
	{ "doh.pub", 0 },
	{ "dns.pub", 0 },
	{ "sm2.doh.pub", 0 },
	{ "dot.pub", 0 },
	{ "doh.360.cn", 0 },
	{ "doh.xfinity.com", 0 },
	{ "doh.cox.net", 0 },
	{ "dns.dnswarden.com", BELOW },
	{ "doh.dnswarden.com", 0 },
	{ "doh.applied-privacy.net", 0 },
	{ "doh.libredns.gr", 0 },
	{ "doh.ffmuc.net", 0 },
	{ "dot.ffmuc.net", 0 },
	{ "dns.digitale-gesellschaft.ch", 0 },
	{ "dns.switch.ch", 0 },
	{ "doh.tiar.app", 0 },
	{ "doh.tiarap.org", 0 },
	{ "dns.twnic.tw", 0 },
	{ "dns.hostux.net", 0 },
	{ "dns.njal.la", 0 },
	{ "dns0.eu", BELOW }, /* zero., kids., open. */
	{ "dns4.eu", 0 },
	{ "joindns4.eu", BELOW },
	{ "unicast.uncensoreddns.org", 0 },
	{ "anycast.uncensoreddns.org", 0 },
	{ "public.dns.iij.jp", 0 },
	{ "doh.dnslify.com", 0 },
	{ "doh.centraleu.pi-dns.com", 0 },
	{ "dns.rubyfish.cn", 0 },
	{ "odvr.nic.cz", 0 },
	{ "doh.powerdns.org", 0 },
	{ "ordns.he.net", 0 },
	{ "resolver.dnsprivacy.org.uk", 0 },
	{ "private.canadianshield.cira.ca", 0 },
	{ "protected.canadianshield.cira.ca", 0 },
	{ "family.canadianshield.cira.ca", 0 },
	{ "wikimedia-dns.org", 0 },
	{ "dns.gamban.com", 0 },
	{ "blitz.ahadns.com", 0 },
	{ "doh.la.ahadns.net", 0 },
	{ "doh.nl.ahadns.net", 0 },
	{ "dns.decloudus.com", 0 },
	{ "dnsforge.de", 0 },
	{ "clean.dnsforge.de", 0 },
	{ "dns.comss.one", 0 },
	{ "common.dot.dns.yandex.net", 0 },
	{ "safe.dot.dns.yandex.net", 0 },
	{ "family.dot.dns.yandex.net", 0 },
	{ "dns.surfsharkdns.com", 0 },
	{ "freedom.mydns.network", 0 },
	{ "doh.seby.io", 0 },
	{ "jp.tiar.app", 0 },
	{ "dns.oszx.co", 0 },
	{ "dns.aa.net.uk", 0 },
	{ "doh.bortzmeyer.fr", 0 },
	{ "dns.bebasid.com", 0 },
	{ "dns.rabbitdns.org", 0 },
	{ "pluton.plan9-dns.com", 0 },
	{ "kronos.plan9-dns.com", 0 },
	{ "doh.crypto.sx", 0 },
	{ "basic.rethinkdns.com", 0 },
	{ "sky.rethinkdns.com", 0 },
	{ "max.rethinkdns.com", 0 },
};

int doh_add_all(struct hosts *hosts)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct name name;
		int r = name_parse(names[i].name, &name);

		assert(r == 0);
		r = hosts_add_doh(hosts, &name, false, 0);
		if (r == 0 && names[i].below == BELOW)
			r = hosts_add_doh(hosts, &name, true, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Anycast addresses that are published to be typed in, and so do not change. */
static const struct network networks[] = {
	{ { 4, { 1, 1, 1, 0 } }, 30 }, /* Cloudflare: 1.1.1.1 to 1.1.1.3 */
	{ { 4, { 1, 0, 0, 0 } }, 30 },       { { 6, { 0x26, 0x06, 0x47, 0x00, 0x47, 0x00 } }, 48 },
	{ { 4, { 8, 8, 8, 8 } }, 32 }, /* Google */
	{ { 4, { 8, 8, 4, 4 } }, 32 },       { { 6, { 0x20, 0x01, 0x48, 0x60, 0x48, 0x60 } }, 48 },
	{ { 4, { 9, 9, 9, 8 } }, 29 }, /* Quad9: 9.9.9.9 to 9.9.9.12 */
	{ { 4, { 149, 112, 112, 0 } }, 24 }, { { 6, { 0x26, 0x20, 0x00, 0xfe } }, 48 },
	{ { 4, { 208, 67, 222, 0 } }, 24 }, /* OpenDNS */
	{ { 4, { 208, 67, 220, 0 } }, 24 },  { { 6, { 0x26, 0x20, 0x01, 0x19, 0x00, 0x35 } }, 48 },
	{ { 4, { 94, 140, 14, 0 } }, 24 },                                     /* AdGuard */
	{ { 4, { 94, 140, 15, 0 } }, 24 },   { { 4, { 45, 90, 28, 0 } }, 24 }, /* NextDNS */
	{ { 4, { 45, 90, 30, 0 } }, 24 },    { { 4, { 76, 76, 2, 0 } }, 24 },  /* Control D */
	{ { 4, { 76, 76, 10, 0 } }, 24 },
};

bool doh_has_address(const struct address *address)
{
	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
		if (network_contains(&networks[i], address))
			return true;
	return false;
}
