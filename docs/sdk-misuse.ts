import { createServer } from 'node:http'
import express from 'express'
import { apiKeyOf, limit, requireKey, requireScope } from '../packages/sdk/src/express.ts'
import { idempotent } from '../packages/sdk/src/hono.ts'
import { createKeyring, createLimiter, createUsageReporter } from '../packages/sdk/src/index.ts'
import { createTestKeyring } from '../packages/sdk/src/testing.ts'
import { listen } from '../packages/sdk/test/fetch-server.ts'
import { drawKey, id } from '../packages/sdk/test/keys.ts'

/** Mistakes in a vendor's code, and their messages. */

// biome-ignore lint/suspicious/noExplicitAny: untyped code passes anything.
type Anything = any

const least = { url: 'https://keys.example.com', secretKey: drawKey('krsk_live'), project: id(1) }

function thrownBy(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    if (error instanceof TypeError) return error.message
  }
  throw new Error('nothing was thrown')
}
const wrong = (options: Anything) => () => thrownBy(() => createKeyring({ ...least, ...options }))
const keyring = createTestKeyring()

/** A requireScope without requireKey. */
async function misplaced(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  process.once('warning', ({ message }) => resolve(message))
  const api = express().use(requireScope('orders:read'))
  const { status } = await fetch(await listen(createServer(api)))
  if (status !== 500) throw new Error(`answered ${status}`)
  return promise
}

/** An answer that a promise holds. */
async function shapedLater(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  process.once('warning', ({ message }) => resolve(message))
  const onRefused = (async () => ({ status: 418 })) as Anything
  await fetch(await listen(createServer(express().use(requireKey(keyring, { onRefused })))))
  return promise
}

async function misused(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const limiter = createLimiter({ ...least, onError: ({ message }) => resolve(message) })
  await limiter.limit(keyring.verify('kr_live_x') as Anything)
  return promise
}

/** A guard that nothing makes ask about limits. */
async function unasked(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  process.once('warning', ({ message }) => resolve(message))
  const { key } = keyring.issue({
    rateLimits: [{ id: 'a', limit: 1, windowMs: 60_000, algorithm: 'fixed', scope: 'key' }],
  })
  const api = express().use(requireKey(keyring), (_, response) => void response.send('passed'))
  await fetch(await listen(createServer(api)), { headers: { authorization: `Bearer ${key}` } })
  return promise
}

/** What a `Keyrail` says of a secret key that may do nothing. */
async function lacking(part: 'limiter' | 'usage'): Promise<string> {
  const detail = 'The secret key lacks the permission a:b.'
  const fetch = async () => Response.json({ code: 'insufficient_permission', detail }, { status: 403 })
  const { promise, resolve } = Promise.withResolvers<string>()
  const options = { ...least, fetch, onError: ({ message }: Error) => resolve(message) }
  if (part === 'usage') {
    const { project: _, ...connection } = options
    const usage = createUsageReporter(connection)
    usage.count({ keyId: id(1) })
    await usage.flush()
    await usage.close({ timeoutMs: 0 })
    return promise
  }
  const { key } = keyring.issue({
    rateLimits: [{ id: 'a', limit: 1, windowMs: 60_000, algorithm: 'fixed', scope: 'key' }],
  })
  await createLimiter(options).limit(keyring.verify(key) as Anything)
  return promise
}

export const misuses: [name: string, say: () => string | Promise<string>][] = [
  ['no options', () => thrownBy(() => createKeyring('https://keys.example.com' as Anything))],
  ['a number as a string', wrong({ pollIntervalMs: '5000' })],
  ['keys that go stale between polls', wrong({ cachedTtlMs: 5_000 })],
  ['another environment', wrong({ env: 'production' })],
  ['one tenant', wrong({ tenantIds: id(2) })],
  ['a node of two words', wrong({ node: 'a b' })],
  ['an invalid listener', wrong({ onError: true })],
  ['another choice', () => thrownBy(() => createLimiter({ ...least, onUnavailable: 'open' as Anything }))],
  ['no keyring', () => thrownBy(() => requireKey(undefined as Anything))],
  ['no limiter', () => thrownBy(() => limit(least as Anything))],
  ['no idempotency', () => thrownBy(() => idempotent(least as Anything))],
  ['no scope', () => thrownBy(() => requireScope())],
  ['a scope as a string', () => thrownBy(() => requireKey(keyring, { scopes: 'orders:read' as Anything }))],
  ['an empty list of scopes', () => thrownBy(() => requireKey(keyring, { scopes: [] }))],
  ['a cost without limits', () => thrownBy(() => requireKey(keyring, { cost: 2 }))],
  ['no header', () => thrownBy(() => requireKey(keyring, { header: '' }))],
  ['a scope without a key', misplaced],
  ['a key whose limits nothing asks about', unasked],
  ['a key that may not check limits', () => lacking('limiter')],
  ['a key that may not report usage', () => lacking('usage')],
  ['a refusal shaped by a promise', shapedLater],
  ['no key where one is needed', () => thrownBy(() => apiKeyOf({}))],
  ['an unchecked verdict', misused],
]
