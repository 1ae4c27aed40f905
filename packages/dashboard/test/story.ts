import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { Harness } from '../../server/test/harness.ts'
import { addMember, type MadePerson, makePerson, openSession } from '../../server/test/people.ts'

/** The moment of the pictures, a Thursday. */
export const storyNow = new Date('2027-03-18T14:20:00Z')

/** A vendor after forty days with Keyrail, the same in each run. */
export interface Story {
  readonly owner: MadePerson
  readonly projectId: string
  readonly tenantId: string
  /** Rotated: its predecessor and its successor both exist. */
  readonly rotatedKeyId: string
  readonly busiestKeyId: string
  readonly geocodingId: string
  /** Bound to a network too. The nodes have heard of the pause, except one. */
  readonly pausedKeyId: string
  readonly suspendedTenantId: string
}

type Body = Record<string, unknown>

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const days = 40
/** Before the moment of the pictures, keys and tenants were stopped. */
const stoppedMs = 5 * minuteMs

const perMinute = (limit: number) => [
  { id: 'sustained', limit, window_ms: minuteMs, algorithm: 'sliding', scope: 'key' },
]

const projects = [
  { name: 'Routing API', slug: 'routing', default_rate_limits: perMinute(600) },
  { name: 'Geocoding API', slug: 'geocoding', default_rate_limits: perMinute(1_200) },
]
const tenants = [
  'Fernway Logistics',
  'Halden Energy',
  'Orbit Travel',
  'Pine & Partners',
  'Solenne Retail',
  'Kestrel Mobility',
  'Bluewater Ferries',
  'Nordlys Analytics',
  'Tamarind Foods',
]
/** The day from which it exists, its project, its tenant, its name, how busy it is, and what else it was made with. */
const keys: [day: number, project: number, tenant: number, name: string, busy: number, more?: Body][] = [
  [1, 0, 0, 'Dispatch backend', 9_400, { scopes: ['routes:read', 'routes:write'], meta: { plan: 'scale' } }],
  [1, 1, 0, 'Address check', 3_100, { scopes: ['places:read'] }],
  [2, 0, 1, 'Fleet planner', 4_700, { scopes: ['routes:read'], rate_limits: perMinute(3_000) }],
  [3, 1, 2, 'Trip search', 6_200, { scopes: ['places:read'] }],
  [3, 0, 2, 'Trip routes', 2_400, { scopes: ['routes:read'] }],
  [5, 0, 3, 'Survey import', 240, { scopes: ['routes:read'], expires_at: '2027-03-23T12:00:00Z' }],
  [8, 1, 4, 'Store finder', 5_200, { scopes: ['places:read'] }],
  [9, 0, 5, 'Scooter app', 7_900, { scopes: ['routes:read'], rate_limits: perMinute(6_000) }],
  [
    11,
    0,
    6,
    'Timetable sync',
    900,
    { scopes: ['routes:read', 'routes:write'], allowed_cidrs: ['203.0.113.0/24'] },
  ],
  [14, 1, 7, 'Notebook of the data team', 60, { scopes: ['places:read'], rate_limits: [] }],
  [20, 0, 8, 'Delivery estimates', 1_300, { scopes: ['routes:read'], expires_at: '2027-09-30T00:00:00Z' }],
  [28, 1, 5, 'Parking lookup', 1_900, { scopes: ['places:read'] }],
  [33, 0, 1, 'Trial for the winter study', 30, { expires_at: '2027-03-12T00:00:00Z' }],
]

/** A sequence that is the same in each run. */
export function drawSame(seed: number): (size: number) => Buffer {
  let state = seed
  return size =>
    Buffer.from(
      Array.from({ length: size }, () => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
        return state >>> 24
      }),
    )
}

/** Makes all of it over the API, a day after the other, on clocks that stand still in between. */
export async function tellStory(harness: Harness): Promise<Story> {
  const { query } = harness
  const moveTo = async (moment: Date) => {
    harness.clock.set(moment.getTime())
    await harness.setStoreTime(moment)
  }
  const morningOf = (day: number) => new Date(storyNow.getTime() - (days - day) * dayMs)
  await moveTo(morningOf(0))
  const owner = await makePerson(query, { name: 'Mira Chen', email: 'mira@meridian.example' })
  let token = owner.token
  const ask = async (method: string, path: string, body?: Body, as = token) => {
    const answer = await harness.ask(method, path, { token: as, ...(body && { body }) })
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const workspace = await ask('POST', '/v1/workspaces', { name: 'Meridian Maps', slug: 'meridian' })
  const secretKey: string = workspace.secret_key.key
  const act = async (person: MadePerson) => {
    token = (await openSession(query, person.userId, workspace.id)).token
  }
  const admin = await makePerson(query, { name: 'Jonas Weber', email: 'jonas@meridian.example' })
  const member = await makePerson(query, { name: 'Inês Duarte', email: 'ines@meridian.example' })
  await addMember(query, workspace.id, admin.userId, 'admin')
  await addMember(query, workspace.id, member.userId, 'member')
  await act(owner)
  const projectIds = await inTurn(projects, async one => (await ask('POST', '/v1/projects', one)).id)
  const tenantIds = await inTurn(
    tenants,
    async (name, at) => (await ask('POST', '/v1/tenants', { name, external_id: `cus_${1_041 + at * 7}` })).id,
  )
  const [projectId = '', geocodingId = ''] = projectIds
  const [tenantId = '', , , , retailId = ''] = tenantIds
  const node = { env: 'live', name: 'Routing nodes', preset: 'node', project_ids: [projectId] }
  await ask('POST', '/v1/secret_keys', node)
  await ask('POST', '/v1/secret_keys', { env: 'test', name: 'Staging' })

  const issued: { id: string; name: string; busy: number }[] = []
  let rotatedKeyId = ''
  const draw = drawSame(7)
  for (let day = 1; day <= days; day += 1) {
    const morning = new Date(morningOf(day).getTime() - 12 * minuteMs)
    await moveTo(morning)
    await act(day % 3 === 0 ? admin : owner)
    for (const [from, project, tenant, name, busy, more = {}] of keys) {
      if (from !== day) continue
      const of = { project_id: projectIds[project], tenant_id: tenantIds[tenant] }
      const { id } = await ask('POST', '/v1/keys', { ...of, env: 'live', name, ...more })
      issued.push({ id, name, busy })
    }
    if (day === 6) await ask('POST', '/v1/keys', { ...trial(projectId, tenantId), env: 'test' })
    if (day === 16) {
      const lost = { project_id: geocodingId, tenant_id: retailId, env: 'live', name: 'Store finder, old' }
      const { id } = await ask('POST', '/v1/keys', lost)
      await moveTo(new Date(morning.getTime() + 40 * minuteMs))
      await ask('POST', `/v1/keys/${id}/revoke`, { reason: 'The customer lost a laptop' })
    }
    const first = issued[0]
    if (first !== undefined && (day === 18 || day === 38)) {
      const successor = await ask('POST', `/v1/keys/${first.id}/rotate`, { overlap_hours: 72 })
      if (day === 38) rotatedKeyId = first.id
      first.id = successor.id
    }
    const weekday = morning.getUTCDay()
    const calm = weekday === 0 || weekday === 6 ? 0.45 : 1
    const count = (busy: number) =>
      Math.max(1, Math.round(busy * calm * (0.6 + day / 80) * (0.8 + (draw(1)[0] ?? 0) / 640)))
    const hour = morning.toISOString()
    const records = issued.map(({ id, busy }) => ({ key_id: id, hour, count: count(busy) }))
    await ask('POST', '/v1/usage/reports', { report_id: randomUUID(), sample_rate: 1, records }, secretKey)
    const refused = refusals.map(([reason, busy]) => ({ reason, hour, count: count(busy) }))
    const refusalReport = { report_id: randomUUID(), project_id: projectId, env: 'live', records: refused }
    await ask('POST', '/v1/usage/refusals', refusalReport, secretKey)
  }
  await moveTo(new Date(storyNow.getTime() - stoppedMs))
  await act(admin)
  const pausedKeyId = issued.find(({ name }) => name === 'Timetable sync')?.id ?? ''
  const suspendedTenantId = tenantIds[tenants.indexOf('Tamarind Foods')] ?? ''
  await ask('POST', `/v1/keys/${pausedKeyId}/disable`, { reason: 'Ten times the usual requests' })
  await ask('POST', `/v1/tenants/${suspendedTenantId}/suspend`, { reason: 'Invoice 2027-0214 is open' })
  await ask('PATCH', `/v1/projects/${geocodingId}`, { max_key_lifetime_days: 30 })
  await moveTo(storyNow)
  await act(owner)
  await ask('PATCH', `/v1/tenants/${tenantId}`, { meta: { plan: 'scale', region: 'eu' } })
  token = secretKey
  await pollAsNodes(ask, query, projectId)
  return {
    owner: { ...owner, ...(await openSession(query, owner.userId, workspace.id)) },
    projectId,
    tenantId,
    rotatedKeyId,
    busiestKeyId: issued[0]?.id ?? '',
    geocodingId,
    pausedKeyId,
    suspendedTenantId,
  }
}

/** Why servers refuse requests, and how many a day. */
const refusals = [
  ['unknown_key', 310],
  ['rate_limited', 140],
  ['revoked_key', 36],
  ['expired_key', 9],
  ['insufficient_scope', 4],
] as const

const trial = (project_id: string, tenant_id: string) => ({ project_id, tenant_id, name: 'Sandbox' })

/** Twelve nodes, of which one has not heard of what was stopped. */
async function pollAsNodes(
  ask: (method: string, path: string) => Promise<Body>,
  query: Harness['query'],
  projectId: string,
): Promise<void> {
  const version = Number((await ask('GET', `/v1/projects/${projectId}`)).policy_version)
  const places = ['eu-central', 'eu-west', 'us-east', 'ap-south']
  const names = places.flatMap(place => [1, 2, 3].map(at => `${place}-${at}`))
  for (const [at, name] of names.entries()) {
    const since = at === 11 ? version - 3 : version
    const path = `/v1/policy/delta?project_id=${projectId}&env=live&since=${since}&node=${name}`
    await ask('GET', path)
    await query(
      `update policy_nodes set seen_at = service_now() - $2 * interval '1 second' where node = $1`,
      [name, at % 5],
    )
  }
}

async function inTurn<Item, Made>(
  items: readonly Item[],
  make: (item: Item, at: number) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = []
  for (const [at, item] of items.entries()) made.push(await make(item, at))
  return made
}
