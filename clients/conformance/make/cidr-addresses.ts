import type { Case } from '../case.ts'
import { from, listing, seen } from './cidr.ts'
import { answers, one, polls, record, snapshot } from './fixtures.ts'

/** Which address is in which range, and which text is no address. */

interface Range {
  of: readonly string[]
  inside: readonly string[]
  outside: readonly string[]
}

/** IPv4 ranges have no IPv6 address, and the reverse. */
const ranges: Readonly<Record<string, Range>> = {
  'an IPv4 range has its first and last address, and none beside them': {
    of: ['10.128.0.0/9'],
    inside: ['10.128.0.0', '10.255.255.255'],
    outside: ['10.127.255.255', '11.0.0.0', '0.0.0.0', '255.255.255.255', 'a80::', '::a80:1'],
  },
  'the prefix 32 is one address': {
    of: ['255.255.255.254/32'],
    inside: ['255.255.255.254'],
    outside: ['255.255.255.255', '127.255.255.254', '255.255.255.252'],
  },
  'the prefix 0 is all of IPv4, and no IPv6 address': {
    of: ['0.0.0.0/0'],
    inside: ['0.0.0.0', '127.0.0.1', '128.0.0.0', '255.255.255.255', '::ffff:192.0.2.1'],
    outside: ['::', '::1', '2001:db8::', '::192.0.2.1', '64:ff9b::192.0.2.1'],
  },
  'the IPv6 prefix 0 is all of IPv6, and no IPv4 address': {
    of: ['::/0'],
    inside: ['::', '::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '::192.0.2.1', 'fe80::1%eth0'],
    outside: ['0.0.0.0', '192.0.2.1', '::ffff:192.0.2.1', '::ffff:c000:201'],
  },
  'the prefix 128 is one address': {
    of: ['2001:db8::7/128'],
    inside: ['2001:db8::7', '2001:db8:0:0:0:0:0:7', '2001:0db8:0000:0000:0000:0000:0000:0007'],
    outside: ['2001:db8::6', '2001:db8::1:7', '2001:db8:0:1::7', '1:db8::7'],
  },
  'a prefix may end within a group': {
    of: ['2001:db8:8000::/33', '2001:db9::40/122'],
    inside: ['2001:db8:8000::', '2001:db8:ffff:ffff::ffff', '2001:db9::40', '2001:db9::7f'],
    outside: ['2001:db8:7fff:ffff::', '2001:db9:8000::', '2001:db9::3f', '2001:db9::80'],
  },
  'upper case is lower case, in addresses and in ranges': {
    of: ['2001:DB8:ABCD::/48'],
    inside: ['2001:db8:abcd::1', '2001:DB8:ABCD::F', '2001:Db8:aBcD::'],
    outside: ['2001:DB8:ABCE::1'],
  },
  'a mapped address is the IPv4 address, with dots or in hex': {
    of: ['192.0.2.0/24'],
    inside: [
      '192.0.2.1',
      '::ffff:192.0.2.1',
      '::FFFF:192.0.2.255',
      '::ffff:c000:201',
      '0:0:0:0:0:ffff:192.0.2.1',
      '0000:0000:0000:0000:0000:ffff:c000:0201',
      '::ffff:192.0.2.1%eth0',
    ],
    outside: [
      '192.0.3.1',
      '::ffff:192.0.3.1',
      '::192.0.2.1',
      '::c000:201',
      '::ffff:0:192.0.2.1',
      '1::ffff:192.0.2.1',
      '::fffe:192.0.2.1',
    ],
  },
  'a range of mapped addresses is the IPv4 range': {
    of: ['::ffff:192.0.2.0/120', '::FFFF:c633:6407/128'],
    inside: ['192.0.2.1', '::ffff:192.0.2.1', '198.51.100.7', '::ffff:c633:6407'],
    outside: ['192.0.3.1', '198.51.100.6', '::192.0.2.1'],
  },
  'all mapped addresses are all of IPv4': {
    of: ['::ffff:0:0/96'],
    inside: ['0.0.0.0', '203.0.113.7', '::ffff:203.0.113.7'],
    outside: ['::', '::1', '::203.0.113.7'],
  },
  'a range of the deprecated form is IPv6': {
    of: ['::192.0.2.0/120'],
    inside: ['::192.0.2.1', '::c000:201'],
    outside: ['192.0.2.1', '::ffff:192.0.2.1'],
  },
  'a zone is dropped': {
    of: ['fe80::/10'],
    inside: ['fe80::1%eth0', 'fe80::1%1', 'febf::%br-lan.7', 'fe80::1%wlan_0'],
    outside: ['fec0::1%eth0', '2001:db8::1%eth0'],
  },
  'any range of a list will do, of 32 the last too': {
    of: [...Array.from({ length: 31 }, (_, number) => `10.0.${number}.0/24`), '2001:db8::/32'],
    inside: ['10.0.0.1', '10.0.30.255', '2001:db8::1'],
    outside: ['10.0.31.0', '2001:db9::'],
  },
}

const noAddresses = [
  'localhost',
  '010.0.0.1',
  '10.0.0.01',
  '10.0.0.00',
  '10.0.0',
  '10.1',
  '167772161',
  '0x0a000001',
  '10.0.0.256',
  '10.0.0.1.1',
  '10..0.1',
  '10.0.0.1.',
  '.10.0.0.1',
  '10.0.0.+1',
  '10.0.0.1 ',
  ' 10.0.0.1',
  '10.0.0.1\n',
  '10.0.0.1\u0000',
  '10.0.0.1:443',
  '10.0.0.1/32',
  '10.0.0.1%eth0',
  '10.0.0.1, 10.0.0.2',
  '１0.0.0.1',
  '::ffff:010.0.0.1',
  '::ffff:10.0.0.256',
  '::ffff:10.0.0',
  '[::1]',
  '[::1]:443',
  '::1/128',
  ' ::1',
  '::1 ',
  ':::',
  ':::1',
  '::1:',
  ':1::',
  ':1:2:3:4:5:6:7',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1::2:3:4:5:6:7:8',
  '1:2:3:4:5:6:7:10.0.0.1',
  '10.0.0.1::',
  '::10.0.0.1:1',
  '00001::',
  '::00000',
  '::g',
  '::-1',
  '::0x1',
  'fe80::1%',
  'fe80::1%a%b',
  'fe80::1%a b',
  '%eth0',
  '::ｆ',
]

const limitedTo = (of: readonly string[]) => [
  answers(snapshot([record(1, { allowed_cidrs: of })], listing())),
  polls('snapshot'),
]

export const cidrAddresses: readonly Case[] = [
  ...Object.entries(ranges).map(
    ([name, { of, inside, outside }]): Case => ({
      name,
      from,
      steps: [
        ...limitedTo(of),
        ...inside.map(ip => seen(one, ip, 'valid')),
        ...outside.map(ip => seen(one, ip, 'ip_not_allowed')),
      ],
    }),
  ),
  {
    name: 'what is no address is not known: leading zeros, ports, brackets, spaces',
    from,
    steps: [...limitedTo(['0.0.0.0/0', '::/0']), ...noAddresses.map(ip => seen(one, ip, 'ip_unknown'))],
  },
]
