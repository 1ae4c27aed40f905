import { createServer } from 'node:http'
import express from 'express'
import { apiKeyOf, limit, requireKey, requireScope } from '../packages/sdk/src/express.ts'
import { idempotent } from '../packages/sdk/src/hono.ts'
import { createKeyring, createLimiter, createUsageReporter } from '../packages/sdk/src/index.ts'
import { createTestKeyring } from '../packages/sdk/src/testing.ts'
import { listen } from '../packages/sdk/test/fetch-server.ts'
import { drawKey, id } from '../packages/sdk/test/keys.ts'
import { type Said, type Situation, thrownBy } from './sdk-said.ts'

/** Mistakes in a vendor's code, and their messages. */

// biome-ignore lint/suspicious/noExplicitAny: untyped code passes anything.
type Anything = any

const least = { url: 'https://keys.example.com', secretKey: drawKey('krsk_live'), project: id(1) }

const wrong = (options: Anything) => () => thrownBy(() => createKeyring({ ...least, ...options }))
const keyring = createTestKeyring()

/** A requireScope without requireKey. */
async function misplaced(): Promise<Said> {
  const { promise, resolve } = Promise.withResolvers<Said>()
  process.once('warning', resolve)
  const api = express().use(requireScope('orders:read'))
  const { status } = await fetch(await listen(createServer(api)))
  if (status !== 500) throw new Error(`answered ${status}`)
  return promise
}

/** An answer that a promise holds. */
async function shapedLater(): Promise<Said> {
  const { promise, resolve } = Promise.withResolvers<Said>()
  process.once('warning', resolve)
  const onRefused = (async () => ({ status: 418 })) as Anything
  await fetch(await listen(createServer(express().use(requireKey(keyring, { onRefused })))))
  return promise
}

async function misused(): Promise<Said> {
  const { promise, resolve } = Promise.withResolvers<Said>()
  const limiter = createLimiter({ ...least, onError: resolve })
  await limiter.limit(keyring.verify('kr_live_x') as Anything)
  return promise
}

/** A guard that nothing makes ask about limits. */
async function unasked(): Promise<Said> {
  const { promise, resolve } = Promise.withResolvers<Said>()
  process.once('warning', resolve)
  const { key } = keyring.issue({
    rateLimits: [{ id: 'a', limit: 1, windowMs: 60_000, algorithm: 'fixed', scope: 'key' }],
  })
  const api = express().use(requireKey(keyring), (_, response) => void response.send('passed'))
  await fetch(await listen(createServer(api)), { headers: { authorization: `Bearer ${key}` } })
  return promise
}

/** What a `Keyrail` says of a secret key that may do nothing. */
async function lacking(part: 'limiter' | 'usage'): Promise<Said> {
  const detail = 'The secret key lacks the permission a:b.'
  const fetch = async () => Response.json({ code: 'insufficient_permission', detail }, { status: 403 })
  const { promise, resolve } = Promise.withResolvers<Said>()
  const options = { ...least, fetch, onError: resolve }
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

export const misuses: readonly Situation[] = [
  [
    'no options',
    'createKeyring takes an object of options',
    () => thrownBy(() => createKeyring('https://keys.example.com' as Anything)),
  ],
  ['a number as a string', '… must be an integer from … to …', wrong({ pollIntervalMs: '5000' })],
  [
    'keys that go stale between polls',
    'cachedTtlMs must be greater than pollIntervalMs',
    wrong({ cachedTtlMs: 5_000 }),
  ],
  ['another environment', 'env must be live, test or both', wrong({ env: 'production' })],
  ['one tenant', 'tenantIds must be an array', wrong({ tenantIds: id(2) })],
  ['a node of two words', 'node must be 1 to 128 of A-Z a-z 0-9 . _ : -', wrong({ node: 'a b' })],
  ['an invalid listener', '… must be a function', wrong({ onError: true })],
  [
    'another choice',
    'onUnavailable must be allow or deny',
    () => thrownBy(() => createLimiter({ ...least, onUnavailable: 'open' as Anything })),
  ],
  ['no keyring', 'requireKey takes a keyring', () => thrownBy(() => requireKey(undefined as Anything))],
  [
    'no limiter',
    'limit takes a limiter made by createLimiter',
    () => thrownBy(() => limit(least as Anything)),
  ],
  [
    'no idempotency',
    'idempotency must be made by createIdempotency',
    () => thrownBy(() => idempotent(least as Anything)),
  ],
  ['no scope', 'requireScope takes at least one scope', () => thrownBy(() => requireScope())],
  [
    'a scope as a string',
    'scopes must be an array of scope names',
    () => thrownBy(() => requireKey(keyring, { scopes: 'orders:read' as Anything })),
  ],
  [
    'an empty list of scopes',
    'scopes must name at least one scope, or be left out',
    () => thrownBy(() => requireKey(keyring, { scopes: [] })),
  ],
  [
    'a cost without limits',
    'cost needs limiter, which charges it',
    () => thrownBy(() => requireKey(keyring, { cost: 2 })),
  ],
  [
    'no header',
    'header must be a header name, or an array of them',
    () => thrownBy(() => requireKey(keyring, { header: '' })),
  ],
  [
    'a scope without a key',
    'requireScope finds no key, because requireKey did not run before it. Put requireKey(keyring) before requireScope on the same route or router. Until then its requests get 500.',
    misplaced,
  ],
  [
    'a key whose limits nothing asks about',
    'An API key has limits, but nothing asks about them, so it passes without limits. Give the guard the whole keyrail or a limiter, or say limiter: false.',
    unasked,
  ],
  [
    'a key that may not check limits',
    'POST … was answered 403 insufficient_permission: …. Requests pass without limits: give it the preset node, or say limiter: false',
    () => lacking('limiter'),
  ],
  [
    'a key that may not report usage',
    'POST … was answered 403 insufficient_permission: …. Requests are not counted: give it the preset node, or say usage: false',
    () => lacking('usage'),
  ],
  ['a refusal shaped by a promise', 'onRefused was ignored: …', shapedLater],
  [
    'no key where one is needed',
    'apiKeyOf finds no key: nothing before this route demands one',
    () => thrownBy(() => apiKeyOf({})),
  ],
  ['an unchecked verdict', 'limiter.limit was given …: call it only if verdict.valid is true', misused],
]
