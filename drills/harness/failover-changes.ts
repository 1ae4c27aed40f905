import type { AskApi } from '../../packages/server/test/mutations.ts'
import type { Seeded } from '../../packages/server/test/seeded.ts'
import { until } from '../../packages/server/test/until.ts'
import { askPatiently, type FailoverStage, type Given } from './failover-stage.ts'

interface Key {
  readonly id: string
  readonly key: string
}

/** What the callers of the service know: the changes that it has acknowledged. */
export class Changes {
  readonly issued = new Map<string, Key>()
  readonly revoked = new Set<string>()
  /** Versions that revocations were answered with. */
  readonly versions: Given[] = []
  readonly #stage: FailoverStage
  readonly #random: Seeded
  /** Keys that no change has been sent for. */
  readonly #untouched: string[] = []

  constructor(stage: FailoverStage, random: Seeded) {
    this.#stage = stage
    this.#random = random
  }

  get acknowledged(): number {
    return this.issued.size + this.revoked.size
  }

  async issue(ask: AskApi = this.#random.pick(this.#stage.asks)): Promise<Key | null> {
    const { live, projectId, tenantId } = this.#stage.scene
    const body = { project_id: projectId, tenant_id: tenantId, env: 'live' }
    const answer = await ask('POST', '/v1/keys', { token: live, body })
    if (answer.status !== 201) return null
    const { id, key } = answer.body
    this.issued.set(id, { id, key })
    this.#untouched.push(id)
    return { id, key }
  }

  /** Revokes a key that has not been revoked, and waits for the nodes. */
  async revoke(ask: AskApi = this.#random.pick(this.#stage.asks)): Promise<string | null> {
    const [id] = this.#untouched.splice(this.#random.integer(this.#untouched.length), 1)
    if (id === undefined) return null
    return (await this.revokeAgain(id, ask))?.acknowledged === true ? id : null
  }

  async revokeAgain(id: string, ask: AskApi): Promise<{ acknowledged: boolean; version: number } | null> {
    const path = `/v1/keys/${id}/revoke?wait=true`
    const sentAt = performance.now()
    const { status, body } = await askPatiently(ask, 'POST', path, {
      token: this.#stage.scene.live,
      body: {},
    })
    if (status !== 200) return null
    this.revoked.add(id)
    this.versions.push({ sentAt, answeredAt: performance.now(), version: body.propagation.version })
    return body.propagation
  }

  /** Some changes, of which the nodes hear each. @returns the keys that were revoked. */
  async make(commits: number): Promise<string[]> {
    const revoked: string[] = []
    for (let made = 0; made < commits; made += 1) {
      if (this.#random.integer(2) === 0) {
        const id = await this.revoke()
        if (id !== null) revoked.push(id)
      } else {
        const fresh = await this.issue()
        const hears = () => this.#stage.nodes.every(({ keyring }) => keyring.verify(fresh?.key).valid)
        if (fresh !== null) await until(hears, 'the nodes accept a new key')
      }
    }
    return revoked
  }
}
