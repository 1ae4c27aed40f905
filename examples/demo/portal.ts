import { setTimeout as sleep } from 'node:timers/promises'
import { type Example, startExample } from './example.ts'
import { expect } from './talk.ts'
import type { Vendor } from './vendor.ts'

/** The service builds the widget with the dashboard, beside its start. */
const patienceMs = 300_000
const lookMs = 200

/** Opens the vendor's customer portal, in which a customer manages its keys by the widget. */
export async function openPortal(service: string, { token, projectId }: Vendor): Promise<Example> {
  const change = async (method: string, path: string, body: object) => {
    const answer = await fetch(service + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    expect(answer.ok, `${method} ${path} succeeds`)
    return (await answer.json()) as { key?: string }
  }
  const mint = { env: 'live', name: 'customer portal', preset: 'embed', project_ids: [projectId] }
  const { key = '' } = await change('POST', '/v1/secret_keys', mint)
  const portal = await startExample('customer-portal', {
    KEYRAIL_URL: service,
    KEYRAIL_SECRET_KEY: key,
    KEYRAIL_PROJECT: projectId,
  })
  try {
    await change('PATCH', '/v1/workspace', { embed_origins: [portal.url] })
    await untilBuilt(service)
    return portal
  } catch (error) {
    await portal.stop()
    throw error
  }
}

async function untilBuilt(service: string): Promise<void> {
  const isBuilt = async () => (await fetch(`${service}/embed/v1/keyrail-keys.js`)).ok
  for (const until = performance.now() + patienceMs; performance.now() < until; await sleep(lookMs))
    if (await isBuilt()) return
  expect(await isBuilt(), 'the service has built the widget')
}
