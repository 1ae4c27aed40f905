import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { startGuard } from '../packages/guard/test/stage.ts'
import { root } from '../packages/server/test/installation.ts'
import { proxies, startCaddy, startUpstream } from './guard-stage.ts'

/** Every name that programs behind CGI take for the same one, such as `X_Keyrail-Tenant`. */
const spellingsOf = (name: string): string[] =>
  name
    .split('-')
    .slice(1)
    .reduce((heads, part) => heads.flatMap(head => [`${head}-${part}`, `${head}_${part}`]), ['x'])

const forged = Object.fromEntries(
  ['x-keyrail-tenant', 'x-keyrail-external-id', 'x-keyrail-key', 'x-keyrail-scopes']
    .flatMap(spellingsOf)
    .map(name => [name, 'forged']),
)

for (const [name, start] of proxies)
  describe(`${name} with a client that attacks it`, async () => {
    const api = await startUpstream()
    const { keyrail, url } = await startGuard({
      GUARD_ROUTES: join(root, 'deploy/guard/routes.json'),
      GUARD_METHOD_HEADER: name === 'Caddy' ? 'X-Forwarded-Method' : 'X-Original-Method',
      GUARD_IP_HEADER: 'X-Original-Ip',
      GUARD_URI_HEADER: name === 'Caddy' ? 'X-Forwarded-Uri' : 'X-Original-Uri',
    })
    const proxy = await start(Number(new URL(url).port), api.port)
    after(async () => {
      await proxy.close()
      api.close()
    })
    const { key, tenantId } = keyrail.issue({ scopes: ['orders:read'], externalId: 'org_17' })
    const authorization = `Bearer ${key}`
    const received = () => api.received.at(-1)?.rawHeaders ?? []

    test('no spelling of a header of identity reaches the API', async () => {
      const { status } = await proxy.ask('/orders', { headers: { authorization, ...forged } })
      assert.equal(status, 200)
      assert.ok(!received().includes('forged'), received().join('\n'))
    })

    test('a Connection header takes no header of identity away', async () => {
      const seen = api.received.length
      for (const connection of ['x-keyrail-tenant', 'close, X-Keyrail-Tenant']) {
        const { status } = await proxy.ask('/orders', { headers: { authorization, connection } })
        assert.ok(status === 200 || status === 400, String(status))
      }
      for (const { rawHeaders } of api.received.slice(seen)) {
        assert.ok(rawHeaders.includes(tenantId), rawHeaders.join('\n'))
        const names = rawHeaders.filter((_, at) => rawHeaders[at - 1]?.toLowerCase() === 'connection')
        assert.ok(!names.some(text => /keyrail/i.test(text)), names.join())
      }
    })

    test('the table judges the method and path that the API gets', async () => {
      const told = {
        'x-original-uri': '/orders',
        'x-original-method': 'GET',
        'x-forwarded-uri': '/orders',
        'x-forwarded-method': 'GET',
        'x-http-method-override': 'GET',
      }
      const ask = (method: string, path: string) =>
        proxy.ask(path, { method, headers: { authorization, ...told } })
      for (const [method, path] of [
        ['GET', '/orders/17?x=/account'],
        ['HEAD', '/orders/17'],
        ['GET', '/%6frders'],
      ] as const) {
        assert.equal((await ask(method, path)).status, 200, path)
        assert.deepEqual([api.received.at(-1)?.method, api.received.at(-1)?.url], [method, path])
      }
      const seen = api.received.length
      for (const [method, path] of [
        ['POST', '/orders'],
        ['DELETE', '/orders/17'],
        ['GET', '/nowhere'],
        ['GET', '/orders/../nowhere'],
        ['GET', '/orders/%2e%2e/nowhere'],
        ['GET', '/orders%2f..%2fnowhere'],
        ['GET', '//orders'],
        ['GET', '/orders//17'],
        ['GET', '/orders;x=1'],
        ['GET', '/orders#/../nowhere'],
        ['GET', '/_keyrail'],
        ['OPTIONS', '/orders'],
      ] as const) {
        const { status } = await ask(method, path)
        assert.ok(status >= 400 && status < 500, `${method} ${path}: ${status}`)
      }
      assert.equal(api.received.length, seen)
    })

    test('networks are judged by the address of the connection, whatever a client says', async () => {
      const scopes = ['orders:read']
      const near = keyrail.issue({ scopes, allowedCidrs: ['127.0.0.0/8'] })
      const far = keyrail.issue({ scopes, allowedCidrs: ['203.0.113.0/24'] })
      const names = [
        'x-original-ip',
        'x-original_ip',
        'x_original_ip',
        'x-forwarded-for',
        'x-real-ip',
        'forwarded',
      ]
      for (const said of ['203.0.113.7', ['203.0.113.7', '203.0.113.8'], '']) {
        const claims = Object.fromEntries(names.map(each => [each, said]))
        const ask = ({ key }: { key: string }, more = {}) =>
          proxy.ask('/orders', { headers: { ...claims, ...more, authorization: `Bearer ${key}` } })
        assert.equal((await ask(near)).status, 200)
        const refused = await ask(far)
        assert.deepEqual([refused.status, refused.body.code], [403, 'ip_not_allowed'])
        // A header that Connection names may be dropped, and then no address is known.
        const dropped = await ask(far, { connection: 'x-original-ip' })
        assert.ok([400, 403].includes(dropped.status), String(dropped.status))
      }
    })

    test('a key with a hundred long scopes passes', async () => {
      const scopes = Array.from({ length: 99 }, (_, at) => `${'s'.repeat(60)}${at}`)
      const { key } = keyrail.issue({ scopes: ['orders:read', ...scopes] })
      const { status } = await proxy.ask('/orders', { headers: { authorization: `Bearer ${key}` } })
      assert.equal(status, 200)
      assert.ok(received().includes(['orders:read', ...scopes].join(' ')))
    })
  })

test('the line of the Caddyfile for another proxy believes no client by itself', async t => {
  const api = await startUpstream()
  t.after(() => api.close())
  const { keyrail, url } = await startGuard({ GUARD_IP_HEADER: 'X-Original-Ip' })
  const line = 'header_up X-Original-Ip'
  const caddy = await startCaddy(Number(new URL(url).port), api.port, [
    [`\t\t\t${line} {http.request.remote.host}\n`, ''],
    [`# ${line} {client_ip}\n`, `${line} {client_ip}\n`],
  ])
  t.after(() => caddy.close())
  const scopes = ['orders:read']
  const statusOf = async (allowedCidrs: string[]) => {
    const { key } = keyrail.issue({ scopes, allowedCidrs })
    const headers = {
      authorization: `Bearer ${key}`,
      'x-forwarded-for': '203.0.113.7',
      'x-original-ip': '203.0.113.7',
    }
    return (await caddy.ask('/orders', { headers })).status
  }
  // Caddy 2.6 does not know the address of the client, and a later one takes that of the connection.
  assert.deepEqual([await statusOf(['203.0.113.0/24']), await statusOf([])], [403, 200])
})
