import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { transportTo } from './transport.ts'

const { fetch, process, navigator } = globalThis
const dispatcher = Symbol.for('undici.globalDispatcher.1')
const own = (globalThis as { [dispatcher]?: unknown })[dispatcher]
const service = new URL('http://127.0.0.1:2')

/** What carries a call that is made now: the double of `fetch`, the dispatcher of the program, or else `node:http`. */
const carried: string[] = []
const double: typeof fetch = async () => {
  carried.push('double')
  return new Response('{}')
}
class Mock {
  dispatch() {
    carried.push('dispatcher')
    throw new Error('it is a double')
  }
}

afterEach(() => {
  Object.assign(globalThis, { fetch, process, [dispatcher]: own })
  Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true })
  carried.length = 0
})

async function carrierOf(given?: typeof fetch, more = () => {}): Promise<string> {
  const transport = transportTo(service, given)
  more()
  const request = { method: 'GET', url: service.href, headers: {}, body: undefined }
  const failed = await transport.send(request, new AbortController().signal).then(
    () => undefined,
    (error: { code?: string }) => error,
  )
  return carried.pop() ?? (failed?.code === 'ECONNREFUSED' ? 'node:http' : 'fetch')
}

test('on Node calls go over node:http, and by the option `fetch` over that', async () => {
  assert.equal(await carrierOf(), 'node:http')
  assert.equal(await carrierOf(fetch), 'fetch')
  assert.equal(await carrierOf(double), 'double')
})

test('a global fetch that the program replaced before is used', async () => {
  globalThis.fetch = double
  assert.equal(await carrierOf(), 'double')
})

test('a dispatcher that the program set is used, also after a client was made', async () => {
  const set = (value: unknown) => () => void Object.assign(globalThis, { [dispatcher]: value })
  assert.equal(await carrierOf(undefined, set(new Mock())), 'dispatcher')
  class Agent {}
  assert.equal(await carrierOf(undefined, set(new Agent())), 'node:http')
})

test('other runtimes keep their fetch, also where they have modules of Node', async () => {
  const like = (name: string, value: unknown) => ({ process: Object.create(process, { [name]: { value } }) })
  const { versions } = process
  for (const other of [{ ...versions, bun: '1.3.0' }, { ...versions, deno: '2.5.0' }, { workerd: '1' }]) {
    Object.assign(globalThis, like('versions', other))
    assert.equal(await carrierOf(), 'fetch')
  }
  Object.assign(globalThis, like('getBuiltinModule', undefined))
  assert.equal(await carrierOf(), 'fetch', 'Node before 20.16')
  Object.assign(globalThis, { process })
  Object.defineProperty(globalThis, 'navigator', {
    value: { userAgent: 'Cloudflare-Workers' },
    configurable: true,
  })
  assert.equal(await carrierOf(), 'fetch')
})
