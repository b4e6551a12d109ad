#!/usr/bin/perl
# SPDX-License-Identifier: MIT
# usage: mmdb.pl country|asn FILE NETWORK=VALUE ...
#
# Write a database of addresses: each NETWORK in the country, or the autonomous system, VALUE.
use strict;
use warnings;
use MaxMind::DB::Writer::Tree;

my ($kind, $file, @rows) = @ARGV;
my %types = (
    country => 'map', iso_code => 'utf8_string', autonomous_system_number => 'uint32',
);
my $tree = MaxMind::DB::Writer::Tree->new(
    ip_version                  => 6,
    record_size                 => 24,
    database_type               => $kind eq 'asn' ? 'Test-ASN' : $kind eq 'country' ? 'Test-Country' : $kind,
    languages                   => ['en'],
    description                 => { en => 'for tests' },
    map_key_type_callback       => sub { $types{ $_[0] } },
    remove_reserved_networks    => 0,
    alias_ipv6_to_ipv4          => 1,
);
for my $row (@rows) {
    my ($network, $value) = split /=/, $row;
    $tree->insert_network($network, $kind eq 'asn' ? { autonomous_system_number => $value }
        : { country => { iso_code => $value } });
}
open my $out, '>:raw', $file or die "$file: $!\n";
$tree->write_tree($out);
close $out or die "$file: $!\n";
