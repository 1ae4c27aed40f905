/** Texts at the bounds of the specification's formats and patterns, written by hand. */
interface Texts {
  ok: string[]
  bad: string[]
}

const label63 = `a${'b'.repeat(61)}c`

export const formatEdges: Record<string, Texts> = {
  // The tests of foreign ids cover ids that are well-formed and unknown.
  uuid: {
    ok: [],
    bad: [
      '',
      'x',
      '01930c3e8f5a7c319b0e2f1a6f0c9d11',
      '{01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11}',
      '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11\n',
    ],
  },
  'date-time': {
    ok: [
      '2027-01-31T09:30:00Z',
      '2027-01-31T09:30:00.5Z',
      '2027-01-31T09:30:00.123456789Z',
      '2027-01-31T09:30:00+14:00',
      '2027-01-31T09:30:00-12:00',
      '2024-02-29T00:00:00Z',
      '2000-02-29T23:59:59Z',
      '0001-01-01T00:00:00Z',
      '9999-12-31T23:59:59.999Z',
    ],
    bad: [
      '',
      '2024-02-30T00:00:00Z',
      '2023-02-29T00:00:00Z',
      '1900-02-29T00:00:00Z',
      '2024-04-31T00:00:00Z',
      '2024-13-01T00:00:00Z',
      '2024-00-01T00:00:00Z',
      '2024-01-00T00:00:00Z',
      '2024-01-32T00:00:00Z',
      '2024-01-01T24:00:00Z',
      '2024-01-01T00:60:00Z',
      '2016-12-31T23:59:60Z',
      '0000-01-01T00:00:00Z',
      '0001-01-01T00:00:00+00:01',
      '9999-12-31T23:59:59-00:01',
      '10000-01-01T00:00:00Z',
      '+010000-01-01T00:00:00Z',
      '-000001-01-01T00:00:00Z',
      '2024-01-01T00:00:00',
      '2024-01-01T00:00:00+24:00',
      '2024-01-01T00:00:00+0100',
      '2024-01-01T00:00:00.Z',
      '2024-01-01T00:00Z',
      '2024-01-01',
      '20240101T000000Z',
      '2024-W01-1T00:00:00Z',
      '2024-01-01 00:00:00Z',
      ' 2024-01-01T00:00:00Z',
      '2024-01-01T00:00:00Z\n',
      '1704067200',
      'infinity',
      'now',
    ],
  },
  email: {
    ok: ['a@b.co', 'first.last+tag@sub.example.com', `${'a'.repeat(315)}@b.co`],
    bad: [
      '',
      'a',
      'a@',
      '@b.co',
      'a@b',
      'a b@c.co',
      'a@b..co',
      'a@b.co\n',
      'a@b.co, c@d.co',
      `${'a'.repeat(316)}@b.co`,
    ],
  },
}

const embedScope = {
  ok: ['keys:read', 'keys:write', 'key_scope:a', `key_scope:${'\u{1F600}'.repeat(210)}`],
  bad: [
    '',
    'keys',
    'keys:',
    'keys:admin',
    'Keys:read',
    ' keys:read',
    'keys:read ',
    'keys:read\n',
    'key_scope',
    'key_scope:',
    `key_scope:${'a'.repeat(211)}`,
  ],
}

export const patternEdges: Record<string, Texts> = {
  // Slug
  '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$': {
    ok: ['abc', '0-0', label63],
    bad: [
      '',
      'ab',
      `${label63}d`,
      '-abc',
      'abc-',
      'Abc',
      'a_c',
      'a c',
      'äbc',
      'abc\n',
      '\u{1F600}\u{1F600}\u{1F600}',
    ],
  },
  // Rate limit id
  '^[a-z0-9][a-z0-9._-]{0,63}$': {
    ok: ['a', '0', 'a._-', 'a'.repeat(64)],
    bad: ['', '.a', '-a', '_a', 'A', 'a b', 'a'.repeat(65), 'a\n'],
  },
  // SHA-256
  '^[0-9A-Fa-f]{64}$': {
    ok: ['0'.repeat(64), 'F'.repeat(64), '0123456789abcdefABCDEF0123456789abcdefABCDEF0123456789abcdefABCD'],
    bad: [
      '',
      'a'.repeat(63),
      'a'.repeat(65),
      `${'a'.repeat(63)}g`,
      `${'a'.repeat(64)}\n`,
      `0x${'a'.repeat(62)}`,
    ],
  },
  // First day of a month
  '^[1-9][0-9]{3}-(0[1-9]|1[0-2])-01$': {
    ok: ['1000-01-01', '2027-02-01', '9999-12-01'],
    bad: [
      '',
      '2027-02',
      '2027-02-02',
      '2027-00-01',
      '2027-13-01',
      '0999-01-01',
      '2027-2-01',
      '10000-01-01',
      '2027-02-01\n',
    ],
  },
  // Node id
  '^[A-Za-z0-9._:-]{1,128}$': {
    ok: ['a', 'Z9._:-', 'a'.repeat(128)],
    bad: ['', 'a b', 'a/b', 'é', 'a'.repeat(129), 'a\n'],
  },
  // Registered origin
  '^https?://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$': {
    ok: [
      'http://a',
      'https://app.example.com',
      'https://EXAMPLE.com',
      'http://localhost:3000',
      `https://${'a'.repeat(247)}`,
    ],
    bad: [
      '',
      'https://',
      'https://a/',
      'https://a/b',
      'https://a?b',
      'https://a#b',
      'https://*.a.com',
      'https://a:',
      'https://a:123456',
      'https://u@a',
      'https://ä.de',
      'https://[::1]',
      'HTTPS://a',
      'ftp://a',
      '//a',
      'a.com',
      'null',
      '*',
      'https://a\n',
      `https://${'a'.repeat(248)}`,
    ],
  },
  // SHA-256 in base64url
  '^[A-Za-z0-9_-]{43}$': {
    ok: ['A'.repeat(43), `${'az09-_'.repeat(7)}a`],
    bad: [
      '',
      'A'.repeat(42),
      'A'.repeat(44),
      `${'A'.repeat(42)}=`,
      `${'A'.repeat(42)}+`,
      `${'A'.repeat(43)}\n`,
    ],
  },
  // Scope of an embed token, as the specification has it
  '^(?:keys:read|keys:write|key_scope:[\\s\\S]+)$': embedScope,
  // and with the one beyond it
  '^(?:keys:read|keys:write|network:write|key_scope:[\\s\\S]+)$': {
    ok: [...embedScope.ok, 'network:write'],
    bad: [...embedScope.bad, 'network:read', 'network', 'network:write '],
  },
  // Colour
  '^#[0-9A-Fa-f]{6}$': {
    ok: ['#1d6a58', '#FFFFFF', '#09afAF'],
    bad: [
      '',
      '#',
      '1d6a58',
      '#1d6a5',
      '#1d6a588',
      '#fff',
      '#1d6a5g',
      ' #1d6a58',
      '#1d6a58\n',
      'red',
      'url(x)',
    ],
  },
  // Key prefix. Prefixes of other credentials are reserved.
  '^[a-z][a-z0-9]{1,15}$': {
    ok: ['ab', 'a0', 'acme', 'a'.repeat(16), 'krs'],
    bad: [
      '',
      'a',
      '0a',
      'A0',
      'a_b',
      'a-b',
      'a'.repeat(17),
      'ab\n',
      'krsk',
      'krses',
      'sk',
      'pk',
      'rk',
      'ghp',
    ],
  },
}
