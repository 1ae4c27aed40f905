import assert from 'node:assert/strict'
import type { Harness } from './harness.ts'
import type { Vendor } from './vendor.ts'

type Row = Record<string, unknown>

/** What a node names, and further parameters that narrow what it sees. */
interface Sight {
  readonly features?: readonly string[]
  readonly more?: string
}

/** A node that follows the feed as docs/policy-feed.md describes. */
export class FeedNode {
  readonly features: readonly string[]
  readonly keys = new Map<string, Row>()
  readonly tenants = new Map<string, Row>()
  since: number | null = null
  /** How many snapshots it has begun. */
  walks = 0
  readonly #harness: Pick<Harness, 'app'>
  readonly #more: string

  constructor(harness: Pick<Harness, 'app'>, { features = [], more = '' }: Sight = {}) {
    this.#harness = harness
    this.features = features
    this.#more = `${more}${features.length === 0 ? '' : `&features=${features}`}`
  }

  /** @param between runs behind each page but the last. */
  async poll(vendor: Vendor, pageKeys: number, between = async () => {}): Promise<void> {
    const ask = (path: string) => this.#ask(vendor, `${path}&max_keys=${pageKeys}`)
    let body = await ask(this.since === null ? 'snapshot?' : `delta?since=${this.since}`)
    this.since = body.version
    if (body.object === 'policy_delta') {
      this.#takeTenants(body)
      for (const { change, ...key } of body.changes) {
        if (change === 'upsert') this.keys.set(key.key_id, key)
        else this.keys.delete(key.key_id)
      }
    } else {
      this.walks += 1
      this.keys.clear()
      this.tenants.clear()
      for (; ; body = await ask(`snapshot?cursor=${body.next_cursor}`)) {
        this.#takeTenants(body)
        for (const key of body.keys) this.keys.set(key.key_id, key)
        if (body.next_cursor === null) break
        await between()
      }
    }
    const named = new Set([...this.keys.values()].map(key => key.tenant_id))
    for (const id of this.tenants.keys()) if (!named.has(id)) this.tenants.delete(id)
  }

  /** Not through the harness, whose watch refuses features that the contract does not have. */
  async #ask({ live, projectId }: Vendor, path: string) {
    const url = `/v1/policy/${path}&project_id=${projectId}${this.#more}`
    const response = await this.#harness.app.inject({ url, headers: { authorization: `Bearer ${live}` } })
    assert.equal(response.statusCode, 200, response.body)
    return response.json()
  }

  #takeTenants({ tenants = [] }: { tenants?: { tenant_id: string }[] }) {
    for (const tenant of tenants) this.tenants.set(tenant.tenant_id, tenant)
  }

  isSuspended(tenantId: unknown): boolean {
    return this.tenants.get(String(tenantId))?.suspended === true
  }

  /** The networks from which it would accept a key; empty: any. */
  networksOf(key: Row): readonly string[] {
    const own = key.allowed_cidrs ?? this.tenants.get(String(key.tenant_id))?.allowed_cidrs
    return (own as string[] | undefined) ?? []
  }

  /** The ids of the keys that it would accept. */
  accepts(): string[] {
    return [...this.keys].filter(([, key]) => !this.isSuspended(key.tenant_id)).map(([id]) => id)
  }
}
