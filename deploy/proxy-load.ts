import type { Answer, AskApi } from '../packages/server/test/mutations.ts'
import { type Scene, uniqueSlug } from '../packages/server/test/vendor.ts'

/** Clients of one address, each with one request under way. */
export interface Load {
  /** Answers so far, by kind. */
  readonly counts: Record<Kind, number>
  /** Revocations of `waits` that every node acknowledged in time. */
  readonly acknowledged: () => number
  /** Lets the requests under way end, but for the polls of the node: revocations of other loads may wait for it. */
  quieten(): Promise<void>
  /** Ends the polls too. @returns a line for each request that failed. */
  end(): Promise<string[]>
}

const kinds = ['changes', 'reads', 'polls', 'waits'] as const
export type Kind = (typeof kinds)[number]

/**
 * Changes, reads, a node that holds polls, and revocations that wait for the nodes.
 * @param node its name: revocations also wait for nodes of an earlier load, unless it goes on with the same name.
 */
export function startLoad(
  ask: AskApi,
  { live, projectId, tenantId }: Pick<Scene, 'live' | 'projectId' | 'tenantId'>,
  name: string = uniqueSlug('node'),
): Load {
  const failed: string[] = []
  const counts = { changes: 0, reads: 0, polls: 0, waits: 0 }
  let acknowledged = 0
  /** The node goes on until no revocation waits for it. */
  const isOver = { others: false, polls: false }

  const send = async (kind: Kind, status: number, sent: ReturnType<AskApi>): Promise<Answer['body']> => {
    const heard = await sent.catch(error => ({ status: 0, body: String(error) }))
    counts[kind] += 1
    if (heard.status === status) return heard.body
    failed.push(`${kind}: ${JSON.stringify(heard)}`)
    return null
  }
  const change = async () => {
    await send(
      'changes',
      201,
      ask('POST', '/v1/tenants', { token: live, body: { external_id: uniqueSlug('org') } }),
    )
  }
  const read = async () => {
    await send('reads', 200, ask('GET', '/v1/projects', { token: live }))
  }
  const node = `/v1/policy/delta?project_id=${projectId}&node=${name}`
  let since = 0
  const poll = async () => {
    const headers = { prefer: 'wait=2' }
    const body = await send('polls', 200, ask('GET', `${node}&since=${since}`, { token: live, headers }))
    since = body?.version ?? since
  }
  const revoke = async () => {
    const body = { project_id: projectId, tenant_id: tenantId, env: 'live' }
    const key = await send('changes', 201, ask('POST', '/v1/keys', { token: live, body }))
    if (key === null) return
    const path = `/v1/keys/${key.id}/revoke?wait=true`
    const answer = await send('waits', 200, ask('POST', path, { token: live, body: {} }))
    if (answer?.propagation?.acknowledged === true) acknowledged += 1
  }
  const repeat = async (work: () => Promise<void>, until: () => boolean) => {
    while (!until()) await work()
  }
  const others = [change, read, revoke].map(work => repeat(work, () => isOver.others))
  const polling = repeat(poll, () => isOver.polls)
  const quieten = async () => {
    isOver.others = true
    await Promise.all(others)
  }
  return {
    counts,
    acknowledged: () => acknowledged,
    quieten,
    async end() {
      await quieten()
      isOver.polls = true
      await polling
      return failed
    },
  }
}
