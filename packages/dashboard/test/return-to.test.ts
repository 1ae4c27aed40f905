import assert from 'node:assert/strict'
import { test } from 'node:test'
import { returnTo } from '../src/screens/people/return-to.ts'

test('a sign-in or a new account leads to places of the dashboard', () => {
  for (const to of ['/', '/keys', '/keys?env=test&q=a%20b', '/keys/1#usage', '/audit?at=12:30', '/tenants/ä'])
    assert.deepEqual(returnTo({ to }), { to })
})

test('neither leads to another host, to a scheme, or past a sign that browsers drop', () => {
  const foreign = [
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/keys\\..\\evil',
    '/\t/evil.example',
    '/\n/evil.example',
    '\t//evil.example',
    ' //evil.example',
    '/keys\u0000',
    '/keys\u007f',
    '/\u202ekeys',
    '/.//evil.example',
    '/keys/..//evil.example',
    'https://evil.example',
    'https:evil.example',
    'javascript:alert(1)',
    'evil.example',
    '@evil.example',
    '',
  ]
  for (const to of foreign) assert.deepEqual(returnTo({ to }), { to: undefined }, JSON.stringify(to))
  for (const to of [undefined, null, 7, ['/keys'], {}]) assert.deepEqual(returnTo({ to }), { to: undefined })
})
