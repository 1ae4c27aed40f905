import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { AskApi, PrepareMutation } from './mutations.ts'
import { issueKey, type Scene } from './vendor.ts'

/** Pauses a key with the call for many. @returns the id of the operation. */
export async function changeManyOnce(
  { ask }: { ask: AskApi },
  scene: Omit<Scene, 'workspaceId'>,
): Promise<string> {
  const ids = [(await issueKey({ ask }, scene)).id]
  const { status, body } = await ask('POST', '/v1/keys/disable', { token: scene.live, body: { ids } })
  assert.equal(status, 200, JSON.stringify(body))
  return body.id
}

/** The calls that change or import many keys, by `operation`. */
export const bulks: Record<string, PrepareMutation> = {
  importKeys: async ({ scene }) => ({
    url: '/v1/keys/import',
    token: scene.live,
    body: {
      project_id: scene.projectId,
      env: 'live',
      rows: [{ tenant_id: scene.tenantId, digest: randomBytes(32).toString('hex') }],
    },
  }),
  revokeKeys: async means => ({
    url: '/v1/keys/revoke',
    token: means.scene.live,
    body: { ids: [(await issueKey(means, means.scene)).id] },
  }),
  disableKeys: async means => ({
    url: '/v1/keys/disable',
    token: means.scene.live,
    body: { ids: [(await issueKey(means, means.scene)).id], reason: 'refused' },
  }),
  enableKeys: async means => {
    const { id } = await issueKey(means, means.scene)
    const { status } = await means.ask('POST', `/v1/keys/${id}/disable`, { token: means.scene.live })
    assert.equal(status, 200)
    return { url: '/v1/keys/enable', token: means.scene.live, body: { ids: [id] } }
  },
}

const textOf = (value: unknown) => `'${JSON.stringify(value)}'::jsonb`
const places = (most: number, each: string) => `array_fill(${each}::text, array[${most}])`
/** What the columns of an operation take, and what not, by constraint: the column, then the values. */
export const bulkValues: Record<string, readonly [column: string, ok: string[], bad: string[]]> = {
  action: ['action', [`'revoke'`, `'disable'`, `'enable'`], [`''`, `'delete'`]],
  actor: [
    '(actor_type, actor_id)',
    [`('a_b', null)`, `('a', repeat('a', 128))`],
    [`('', 'a')`, `('A', 'a')`, `('a', '')`, `('a', repeat('a', 129))`],
  ],
  counts: [
    '(matched, done, batches)',
    ['(0, 0, 0)', '(7, 7, 7)'],
    ['(-1, 0, 0)', '(0, -1, 0)', '(0, 0, -1)'],
  ],
  envs: ['envs', [`'{live}'`, `'{live,test}'`], [`'{}'`, `'{x}'`, `'{live,test,live}'`]],
  failures_bounds: [
    'failures',
    [`'[]'`, `jsonb_build_array(repeat('a', 32764))`],
    [`'{}'`, `jsonb_build_array(repeat('a', 32765))`],
  ],
  filter_bounds: [
    '(filter, finished_at)',
    [`(null, now())`, `(${textOf({})}, null)`, `(jsonb_build_object('x', repeat('a', 4096 - 9)), null)`],
    [`(null, null)`, `('[]'::jsonb, null)`, `(jsonb_build_object('x', repeat('a', 4096 - 8)), null)`],
  ],
  places_bounds: [
    'places',
    ['null', `'{}'`, places(200, `repeat('a', 41)`)],
    [places(201, `repeat('a', 41)`), places(1, `repeat('a', 40)`), places(1, `repeat('a', 42)`)],
  ],
  project_ids_bounds: [
    'project_ids',
    ['null', `'{}'`, 'array_fill(gen_random_uuid(), array[200])'],
    ['array_fill(gen_random_uuid(), array[201])'],
  ],
  reason_bounds: ['reason', ['null', `'x'`, `repeat('x', 500)`], [`''`, `repeat('x', 501)`]],
}
