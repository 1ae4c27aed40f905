import { randomUUID } from 'node:crypto'
import { BenchFault } from '../harness/bench.ts'
import { bootstrapToken } from './start.ts'

/** A workspace with what a key needs, created over the API. */
export type Vendor = {
  workspaceId: string
  /** The owner's live secret key. */
  token: string
  tokenId: string
  projectId: string
  tenantIds: readonly string[]
}

/** @param tenants how many; a long run of key creations needs several, as each may have 10,000 active keys. */
export async function makeVendor(url: string, { tenants = 1 } = {}): Promise<Vendor> {
  const slug = `bench-${randomUUID()}`
  const workspace = await call(url, bootstrapToken, '/v1/workspaces', { name: 'Bench', slug })
  const { key, id } = workspace.secret_key as { key: string; id: string }
  const project = await call(url, key, '/v1/projects', { name: 'Bench', slug: 'bench' })
  const tenantIds: string[] = []
  for (let n = 0; n < tenants; n++) {
    const tenant = await call(url, key, '/v1/tenants', { external_id: `bench-${n}` })
    tenantIds.push(String(tenant.id))
  }
  return {
    workspaceId: String(workspace.id),
    token: key,
    tokenId: id,
    projectId: String(project.id),
    tenantIds,
  }
}

/**
 * One request, POST when there is a body.
 *
 * @throws BenchFault unless it is answered 2xx
 */
export async function call(
  url: string,
  token: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const answer = await fetch(url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  if (!answer.ok) throw new BenchFault(`${path} answered ${answer.status}: ${text}`)
  return JSON.parse(text)
}
