import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'
import { createTestKeyrail, type TestKeyrail, type TestKeyrailOptions } from '@keyrail/sdk/testing'
import { Guard } from '../src/guard.ts'
import { listen } from '../src/listen.ts'
import { type Environment, readSettings } from '../src/settings.ts'

export interface Heard {
  status: number
  headers: IncomingHttpHeaders
  /** Parsed if it is JSON. */
  body: ReturnType<typeof JSON.parse>
}

export interface Sent {
  method?: string
  headers?: OutgoingHttpHeaders
  body?: string | Buffer
}

/** One request on a connection of its own. @param where an address, or the path of a socket */
export async function ask(
  where: string,
  path: string,
  { method = 'GET', headers = {}, body }: Sent = {},
): Promise<Heard> {
  const to = where.startsWith('unix:')
    ? { socketPath: where.slice(5) }
    : { host: new URL(where).hostname, port: new URL(where).port }
  const call = request({ ...to, method, path, headers, agent: false })
  // The guard may close while a long body is still being sent.
  call.on('error', () => {})
  call.end(body)
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  const heard = await text(response)
  const isJson = String(response.headers['content-type']).includes('json')
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: isJson ? JSON.parse(heard) : heard,
  }
}

export const leastEnvironment: Environment = {
  KEYRAIL_URL: 'https://keys.example.com',
  KEYRAIL_SECRET_KEY: 'krsk_live_of_a_test',
  KEYRAIL_PROJECT: '00000000-0000-4000-8000-000000000001',
  GUARD_LISTEN: '127.0.0.1:0',
}

export interface Stage {
  guard: Guard
  keyrail: TestKeyrail
  url: string
  log: string[]
  ask(path: string, sent?: Sent): Promise<Heard>
  /** A request as a proxy hands it over, with a key. */
  withKey(path: string, key: string, headers?: OutgoingHttpHeaders): Promise<Heard>
}

/** A guard in this process, on the SDK's double. */
export async function startGuard(env: Environment = {}, options: TestKeyrailOptions = {}): Promise<Stage> {
  const keyrail = createTestKeyrail(options)
  const log: string[] = []
  const settings = readSettings({ ...leastEnvironment, ...env })
  const guard = new Guard(settings, keyrail, (_, message) => log.push(message))
  const url = await listen(guard.server, settings.address)
  after(() => guard.close(0))
  const askHere = (path: string, sent?: Sent) => ask(url, path, sent)
  return {
    guard,
    keyrail,
    url,
    log,
    ask: askHere,
    withKey: (path, key, headers = {}) =>
      askHere(path, { headers: { authorization: `Bearer ${key}`, ...headers } }),
  }
}

const identity = ['x-keyrail-tenant', 'x-keyrail-external-id', 'x-keyrail-key', 'x-keyrail-scopes'] as const

export const identityIn = ({ headers }: Heard): unknown[] => identity.map(name => headers[name])
