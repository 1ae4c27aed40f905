import { setTimeout as sleep } from 'node:timers/promises'
import type { CreatedKey } from '@keyrail/contract/vendor/keys'
import { createKeyring, type Keyring } from '@keyrail/sdk'
import { type Conversation, expect, paint, print } from './talk.ts'
import type { Vendor } from './vendor.ts'

const verifications = 100_000
/**
 * Times are reported, not judged: this machine is busy with other work. Only a key that lives for very long fails the
 * demo.
 */
const mostMs = 30_000

/** How long a verification takes, and how long a server that polls, or holds its poll, still accepts a revoked key. */
export async function measure(
  talk: Conversation,
  service: string,
  vendor: Vendor,
  serverKey: string,
): Promise<void> {
  const base = { url: service, secretKey: serverKey, project: vendor.projectId }
  const waits = createKeyring(base)
  // The same keyring with a service that does not hold its answers: it polls every 5 s.
  const polls = createKeyring({ ...base, fetch: withoutPrefer })
  try {
    await Promise.all([waits.ready(), polls.ready()])
    talk.begin('How fast is that? Verified in memory, revoked over the network')
    const first = await issue(service, vendor)
    await until(() => waits.verify(first.key).valid, 'a new key works within 30 s')
    tell('verify, the mean of 100,000', `${microseconds(waits, first.key).toFixed(2)} µs`)
    tell('revoke → refused, held poll', `${await untilRefused(service, vendor, waits, first)} ms`)
    tell(
      'revoke → refused, poll of 5 s',
      `${await untilRefused(service, vendor, polls, await issue(service, vendor))} ms`,
    )
    print('')
  } finally {
    await Promise.all([waits.close(), polls.close()])
  }
}

interface Issued {
  id: string
  key: string
}

const tell = (what: string, value: string) => print(`   ${paint('cyan', what.padEnd(32))}${value}`)

function microseconds(keyring: Keyring, key: string): number {
  let valid = 0
  const run = () => {
    for (let i = 0; i < verifications; i++) if (keyring.verify(key).valid) valid += 1
  }
  run()
  const began = performance.now()
  run()
  const took = performance.now() - began
  expect(valid === 2 * verifications, 'the key was valid each time')
  return (took / verifications) * 1_000
}

async function issue(service: string, { token, projectId, tenantId }: Vendor): Promise<Issued> {
  const body = { project_id: projectId, tenant_id: tenantId, env: 'live' }
  const { id, key = '' } = (await post(`${service}/v1/keys`, token, body)) as CreatedKey
  return { id, key }
}

async function untilRefused(
  service: string,
  { token }: Vendor,
  keyring: Keyring,
  { id, key }: Issued,
): Promise<number> {
  await until(() => keyring.verify(key).valid, 'a new key works within 30 s')
  await post(`${service}/v1/keys/${id}/revoke`, token)
  const began = performance.now()
  await until(() => !keyring.verify(key).valid, 'a revoked key is refused within 30 s')
  return Math.round(performance.now() - began)
}

async function until(happened: () => boolean, promise: string): Promise<void> {
  const began = performance.now()
  while (!happened()) {
    expect(performance.now() - began < mostMs, promise)
    await sleep(1)
  }
}

async function post(url: string, token: string, body: object = {}): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.ok, `${new URL(url).pathname} succeeds`)
  return await response.json()
}

const withoutPrefer: typeof fetch = (url, init) => {
  const headers = new Headers(init?.headers)
  headers.delete('prefer')
  return fetch(url, { ...init, headers })
}
