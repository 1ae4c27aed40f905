import { randomBytes } from 'node:crypto'
import type { Answer } from '../../packages/server/test/mutations.ts'
import type { Seeded } from '../../packages/server/test/seeded.ts'
import type { FeedHouse } from './feed-house.ts'
import { drillNetwork } from './feed-truth.ts'

/** What one seed has created: its projects and tenants, so that seeds share only a workspace. */
export interface FeedWorld {
  house: FeedHouse
  random: Seeded
  /** Most commands use the first one. */
  projects: string[]
  tenants: string[]
  /** Key ids that may still be changed, oldest first. */
  keys: string[]
  /** Whole keys by id, of every key ever created. */
  issued: Map<string, string>
}

const hourMs = 3_600_000

const unique = (name: string) => `${name}-${randomBytes(6).toString('hex')}`

export async function makeFeedWorld(house: FeedHouse, random: Seeded): Promise<FeedWorld> {
  const world: FeedWorld = { house, random, projects: [], tenants: [], keys: [], issued: new Map() }
  for (let i = 0; i < 2; i += 1) {
    const { body } = await send(world, 'POST', '/v1/projects', { name: 'Fed', slug: unique('fed') })
    world.projects.push(body.id)
  }
  for (let i = 0; i < 3; i += 1) {
    const { body } = await send(world, 'POST', '/v1/tenants', { external_id: unique('org') })
    world.tenants.push(body.id)
  }
  return world
}

/** @throws when the service fails; a refusal is an answer. */
async function send({ house }: FeedWorld, method: string, url: string, body?: unknown): Promise<Answer> {
  const answer = await house.ask(method, url, {
    token: house.scene.live,
    ...(body !== undefined && { body }),
  })
  if (answer.status >= 500) throw new Error(`${method} ${url} was answered ${JSON.stringify(answer.body)}`)
  return answer
}

const lists = [[drillNetwork], ['198.51.100.0/24', '2001:db8::/32']]

const scopeLists = [[], ['read'], ['read', 'write'], ['ü "\\ 😀'], ['a', 'b', 'c', 'd']]

function limitsOf(random: Seeded) {
  const rule = (id: string) => ({
    id,
    limit: 1 + random.integer(1_000),
    window_ms: random.pick([1_000, 60_000]),
    algorithm: random.pick(['sliding', 'fixed']),
    scope: random.pick(['key', 'tenant']),
  })
  return random.pick([[], [rule('all')], [rule('burst'), rule('day')]])
}

/** Milliseconds from now; null: never. Time moves by hours within a seed, so the nearest one passes. */
const lives = [null, null, hourMs / 2, 2 * hourMs, 48 * hourMs]

function expiryOf({ random, house }: FeedWorld): string | null {
  const life = random.pick(lives)
  return life === null ? null : new Date(house.now() + life).toISOString()
}

const patchKey = (world: FeedWorld, body: unknown) =>
  send(world, 'PATCH', `/v1/keys/${world.random.pick(world.keys)}`, body)

/** Every change that a feed may have to send, and one that it need not send. */
const kinds = {
  async create(world: FeedWorld) {
    const { random, projects, tenants } = world
    const expires_at = expiryOf(world)
    const rate_limits = random.integer(3) === 0 ? limitsOf(random) : null
    const answer = await send(world, 'POST', '/v1/keys', {
      project_id: random.integer(5) === 0 ? projects.at(-1) : projects[0],
      tenant_id: random.pick(tenants),
      env: random.weighted({ live: 3, test: 1 }),
      scopes: random.pick(scopeLists),
      ...(expires_at !== null && { expires_at }),
      ...(rate_limits !== null && { rate_limits }),
    })
    if (answer.status === 201) remember(world, answer)
    return answer
  },
  scopes: (world: FeedWorld) => patchKey(world, { scopes: world.random.pick(scopeLists) }),
  limits: (world: FeedWorld) =>
    patchKey(world, { rate_limits: world.random.integer(3) === 0 ? null : limitsOf(world.random) }),
  /** Renews an expired key, or ends one at once. */
  expiry: (world: FeedWorld) =>
    patchKey(world, {
      expires_at: world.random.integer(6) === 0 ? new Date(world.house.now()).toISOString() : expiryOf(world),
    }),
  rename: (world: FeedWorld) => patchKey(world, { name: `n${world.random.integer(9)}` }),
  async rotate(world: FeedWorld) {
    const overlap_hours = world.random.pick([0, 0.5, 24])
    const answer = await send(world, 'POST', `/v1/keys/${world.random.pick(world.keys)}/rotate`, {
      overlap_hours,
    })
    if (answer.status === 201) remember(world, answer)
    return answer
  },
  revoke(world: FeedWorld) {
    const at = world.random.integer(world.keys.length)
    const id = world.keys[at]
    // Some are revoked again, or changed after it.
    if (world.random.integer(4) > 0) world.keys.splice(at, 1)
    return send(world, 'POST', `/v1/keys/${id}/revoke`)
  },
  defaults: (world: FeedWorld) =>
    send(world, 'PATCH', `/v1/projects/${world.projects[0]}`, {
      default_rate_limits: limitsOf(world.random),
    }),
  /** Of keys that are made later, the longest life is a day. */
  age: (world: FeedWorld) =>
    send(world, 'PATCH', `/v1/projects/${world.projects[0]}`, {
      max_key_lifetime_days: world.random.pick([null, 1, 1]),
      lifetime: world.random.pick(['refuse', 'refuse', 'report']),
    }),
  deleteTenant(world: FeedWorld) {
    const { random, tenants } = world
    const id = random.pick(tenants)
    if (tenants.length > 1) tenants.splice(tenants.indexOf(id), 1)
    return send(world, 'DELETE', `/v1/tenants/${id}`)
  },
  deleteProject: (world: FeedWorld) => send(world, 'DELETE', `/v1/projects/${world.projects[0]}`),
  networks: (world: FeedWorld) =>
    patchKey(world, { allowed_cidrs: world.random.pick([null, null, [], ...lists]) }),
  tenantNetworks: (world: FeedWorld) =>
    send(world, 'PATCH', `/v1/tenants/${world.random.pick(world.tenants)}`, {
      allowed_cidrs: world.random.pick([[], ...lists]),
    }),
  pause: (world: FeedWorld) => send(world, 'POST', `/v1/keys/${world.random.pick(world.keys)}/disable`),
  resume: (world: FeedWorld) => send(world, 'POST', `/v1/keys/${world.random.pick(world.keys)}/enable`),
  suspend: (world: FeedWorld) =>
    send(world, 'POST', `/v1/tenants/${world.random.pick(world.tenants)}/suspend`),
  endSuspension: (world: FeedWorld) =>
    send(world, 'POST', `/v1/tenants/${world.random.pick(world.tenants)}/resume`),
  changeSome: (world: FeedWorld) => {
    const { random, keys } = world
    const ids = keys.filter(() => random.integer(3) === 0).slice(0, 4)
    return send(world, 'POST', `/v1/keys/${bulkOf(random)}`, {
      ids: ids.length > 0 ? ids : [random.pick(keys)],
    })
  },
  changeAll: async (world: FeedWorld) => {
    const { random, projects, tenants } = world
    const action = bulkOf(random)
    const filter = {
      project_id: projects[0],
      tenant_id: random.pick(tenants),
      env: random.pick(['live', 'test']),
    }
    const { body } = await send(world, 'POST', '/v1/keys/count', { action, filter })
    return send(world, 'POST', `/v1/keys/${action}`, { filter, expect: body.count })
  },
} satisfies Record<string, (world: FeedWorld) => Promise<Answer>>

export type MutationKind = keyof typeof kinds
export const mutationKinds = Object.keys(kinds) as MutationKind[]

const weights: Record<MutationKind, number> = {
  create: 20,
  scopes: 9,
  limits: 6,
  expiry: 8,
  rename: 2,
  rotate: 7,
  revoke: 9,
  defaults: 3,
  age: 3,
  deleteTenant: 1.5,
  deleteProject: 0,
  networks: 5,
  tenantNetworks: 3,
  pause: 6,
  resume: 5,
  suspend: 3,
  endSuspension: 4,
  changeSome: 3,
  changeAll: 3,
}

const bulkOf = (random: Seeded) => random.weighted({ disable: 4, enable: 4, revoke: 1 })

/** Makes the keys nearly a day old, so that some get too old within the hours of a seed. No node may hold them yet. */
export async function ageKeys({ random, house, keys }: FeedWorld): Promise<void> {
  for (const id of keys)
    await house.client.query(
      "update api_keys set created_at = created_at - $2 * interval '1 minute' where id = $1",
      [id, 19 * 60 + random.integer(6 * 60)],
    )
}

const remember = ({ keys, issued }: FeedWorld, { body }: Answer) => {
  keys.push(body.id)
  issued.set(body.id, body.key)
}

/** @param late whether the project itself may be deleted: little happens afterwards. */
export function pickMutation({ random, keys }: FeedWorld, late: boolean): MutationKind {
  if (keys.length === 0) return 'create'
  return random.weighted({ ...weights, ...(late && { deleteProject: 2 }) })
}

/** @returns the status of the answer. */
export async function mutateWorld(world: FeedWorld, kind: MutationKind): Promise<number> {
  return (await kinds[kind](world)).status
}
