import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RouteTable } from './route-table.ts'

const table = (...routes: object[]) => new RouteTable(JSON.stringify({ routes }))

test('the first route that matches counts, and what none matches is refused', () => {
  const routes = table(
    { path: '/health', public: true },
    { methods: ['GET'], path: '/orders/*', scopes: ['orders:read'] },
    { methods: ['POST', 'PUT'], path: '/orders/**', scopes: ['orders:write'], cost: 5 },
    { path: '/' },
  )
  const of = (method: string, uri: string) => routes.demandsOf({ method, uri })
  assert.deepEqual(of('GET', '/health'), { scopes: [], cost: undefined, isPublic: true })
  assert.deepEqual(of('GET', '/orders/17?scope=none&cost=0'), { scopes: ['orders:read'], cost: undefined })
  assert.deepEqual(of('HEAD', '/orders/17/'), { scopes: ['orders:read'], cost: undefined })
  assert.deepEqual(of('PUT', '/orders/17/lines/2'), { scopes: ['orders:write'], cost: 5 })
  assert.deepEqual(of('POST', '/orders'), { scopes: ['orders:write'], cost: 5 })
  assert.deepEqual(of('GET', '/%6frders/17'), { scopes: ['orders:read'], cost: undefined })
  assert.deepEqual(of('GET', '/'), { scopes: [], cost: undefined })
  for (const [method, uri] of [
    ['DELETE', '/orders/17'],
    ['GET', '/orders'],
    ['GET', '/orders/17/lines'],
    ['GET', '/Health'],
    ['get', '/orders/17'],
  ] as const)
    assert.equal(of(method, uri), 'unknown_route', `${method} ${uri}`)
})

test('a path that programs read differently matches nothing, also where all are named', () => {
  const routes = table({ path: '/**' })
  for (const uri of [
    '',
    'orders',
    'http://api.example.com/orders',
    '*',
    '//orders',
    '/a//b',
    '/a/../admin',
    '/a/./b',
    '/a/%2e%2e/admin',
    '/a/.%2E/admin',
    '/a%2fb',
    '/a%5cb',
    '/a\\b',
    '/a;x=1/b',
    '/a%00',
    '/a%252fb',
    '/%',
    '/%ff',
    '/orders#/../admin',
    '/orders#',
    // UTF-8 that no program encoded, as Node reads it from a header.
    '/caf\xc3\xa9',
    '/a b',
    `/${'a'.repeat(20_000)}`,
  ])
    assert.equal(routes.demandsOf({ method: 'GET', uri }), 'ambiguous_path', uri.slice(0, 40))
})

test('a table may name paths that are not ASCII, and matches what a client encodes', () => {
  const routes = table({ path: '/café', scopes: ['menu'] }, { path: '/**' })
  assert.deepEqual(routes.demandsOf({ method: 'GET', uri: '/caf%C3%A9?é#' }), {
    scopes: ['menu'],
    cost: undefined,
  })
})

test('a file that is no table, such as one with a secret, is not shown', () => {
  const secret = 'abcdefghijklmnopqrstuvwxyz012345'
  for (const text of [secret, `${secret}\n`, `${secret}${secret}`, `{"routes":[]}${secret}`, `"${secret}`])
    assert.throws(
      () => new RouteTable(text),
      ({ message }: Error) => /^is not JSON/.test(message) && !/[a-z]{6}0|cdef|wxyz/.test(message),
      text,
    )
})

test('a wrong table is an error that names the member', () => {
  for (const [text, message] of [
    ['{', /^is not JSON/],
    ['[]', /^the file must be an object/],
    ['{"route":[]}', /^the file has an unknown member "route"/],
    ['{"routes":{}}', /^routes must be an array/],
    ['{"routes":[{"path":"orders"}]}', /^routes\.0\.path must begin with a slash/],
    ['{"routes":[{"path":"/a*"}]}', /^routes\.0\.path takes segments/],
    ['{"routes":[{"path":"/**/a"}]}', /^routes\.0\.path takes segments/],
    ['{"routes":[{"path":"/a?b"}]}', /^routes\.0\.path takes segments/],
    ['{"routes":[{"path":"/a","method":"GET"}]}', /^routes\.0 has an unknown member "method"/],
    ['{"routes":[{"path":"/a","methods":["get"]}]}', /^routes\.0\.methods\.0 is not valid/],
    ['{"routes":[{"path":"/a","scopes":"x"}]}', /^routes\.0\.scopes must be an array/],
    ['{"routes":[{"path":"/a","cost":1.5}]}', /^routes\.0\.cost must be an integer/],
    ['{"routes":[{"path":"/"},{"path":"/a","public":true,"cost":1}]}', /^routes\.1\.public stands beside/],
  ] as const)
    assert.throws(() => new RouteTable(text), { message }, text)
})
