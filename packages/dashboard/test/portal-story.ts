import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type Example, startExample } from '../../../examples/demo/example.ts'
import { setOrigins } from '../../server/test/embed.ts'
import { makeVendor } from '../../server/test/vendor.ts'
import type { Stage } from './stage.ts'
import { drawSame, storyNow } from './story.ts'

const dayMs = 86_400_000
const days = 30

/** Before which day, counted from the moment of the pictures, Globex created a key, and how busy the key is. */
const keys: readonly (readonly [age: number, name: string, scopes: readonly string[], busy: number])[] = [
  [29, 'Accounting', ['payments:read'], 160],
  [21, 'Checkout', ['payments:read', 'payments:write'], 2_900],
  [9, 'Spring campaign', ['payments:read'], 0],
]

interface Portal extends Example {
  /** What a portal answers whose customers say from where their keys work, for Globex. */
  readonly mint: () => Promise<{ token: string; expires_at: string }>
}

/**
 * The customer portal of the examples, a month after its start: Globex (`ann@globex.example`) has keys, of which one is
 * rotated, and Initech (`bob@initech.example`) has none.
 */
export async function openPortal({ harness, url }: Pick<Stage, 'harness' | 'url'>): Promise<Portal> {
  const moveTo = async (age: number) => {
    const moment = new Date(storyNow.getTime() - age * dayMs)
    harness.clock.set(moment.getTime())
    await harness.setStoreTime(moment)
  }
  await moveTo(days)
  const vendor = await makeVendor(harness)
  const ask = async (method: string, path: string, body: object) => {
    const answer = await harness.ask(method, path, { token: vendor.live, body })
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const { id: tenant_id } = await ask('POST', '/v1/tenants', { external_id: 'org_17', name: 'Globex' })
  const issued: { id: string; name: string; busy: number }[] = []
  const draw = drawSame(3)
  for (let age = days - 1; age >= 0; age -= 1) {
    await moveTo(age)
    for (const [from, name, scopes, busy] of keys) {
      if (from !== age) continue
      const of = { project_id: vendor.projectId, tenant_id, env: 'live', name, scopes }
      issued.push({ id: (await ask('POST', '/v1/keys', of)).id, name, busy })
    }
    const checkout = issued.find(({ name }) => name === 'Checkout')
    if (age === 1 && checkout !== undefined) {
      const { id } = await ask('POST', `/v1/keys/${checkout.id}/rotate`, { overlap_hours: 168 })
      issued.push({ ...checkout, id })
      checkout.busy /= 10
    }
    const hour = new Date(storyNow.getTime() - age * dayMs - dayMs / 24).toISOString()
    const records = issued
      .filter(({ busy }) => busy > 0)
      .map(({ id, busy }) => ({
        key_id: id,
        hour,
        count: Math.round(busy * (0.6 + (draw(1)[0] ?? 0) / 300)),
      }))
    await ask('POST', '/v1/usage/reports', { report_id: randomUUID(), sample_rate: 1, records })
  }
  const mint = { env: 'live', preset: 'embed', project_ids: [vendor.projectId] }
  const portal = await startExample('customer-portal', {
    KEYRAIL_URL: url,
    KEYRAIL_SECRET_KEY: (await ask('POST', '/v1/secret_keys', mint)).key,
    KEYRAIL_PROJECT: vendor.projectId,
  })
  await setOrigins(harness, vendor, [portal.url])
  const scopes = ['keys:read', 'keys:write', 'network:write']
  const mintOne = { project_id: vendor.projectId, tenant_id, env: 'live', scopes }
  return { ...portal, mint: () => ask('POST', '/v1/embed_tokens', mintOne) }
}
