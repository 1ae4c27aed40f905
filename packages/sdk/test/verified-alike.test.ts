import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import type { KeyVerdict } from '@keyrail/contract/verify'
import { type Seeded, seeded } from '../../server/test/seeded.ts'
import { makeProject, makeSecretKey, makeTenant, makeVendor } from '../../server/test/vendor.ts'
import { openVerify } from '../../server/test/verifying.ts'
import { createKeyring } from '../src/keyring/keyring.ts'
import { createLimiter } from '../src/limits/limit.ts'
import type { Verdict } from '../src/verify/verdict.ts'
import { lookupHash, withChecksum } from './keys.ts'
import { startKeyrail } from './service.ts'
import { until } from './until.ts'

/**
 * The SDK and the service judge the same keys, states and requests. Left out are what only a node can say (`not_ready`, `stale`,
 * `not_held`), keys that ended before the node held them (the service knows why, the node says `unknown_key`), and a deleted
 * project (404).
 */
const REQUESTS = 10_000
const KEYS = 10_000
const LIMITED = 100
const random = seeded(20_261_129)

const { service, vendor, connection, settings } = await startKeyrail()
const { query, ask } = service
const { workspaceId, projectId, tenantId } = vendor
const { verify } = openVerify(service, vendor)

const scopeNames = ['a', 'b', 'a:b', 'A', 'a ', 'ä']
const some = (from: Seeded, items: readonly string[]) => items.filter(() => from.integer(3) === 0)
/** The windows end in no test. */
const windowMs = 2_678_400_000

const letters = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
const drawKey = (prefix: string) =>
  withChecksum(`${prefix}_${Array.from({ length: 32 }, () => random.pick(letters)).join('')}`)

interface Made {
  readonly id: string
  readonly key: string
  readonly project: string
  readonly workspace: string
  readonly tenant: string
  readonly env: 'live' | 'test'
  readonly scopes: readonly string[]
  readonly meta: unknown
  readonly expires_at: string | null
  readonly rate_limits: readonly object[] | null
}

type Place = Pick<Made, 'workspace' | 'project' | 'tenant'>
const ours: Place = { workspace: workspaceId, project: projectId, tenant: tenantId }

function make(place: Place, more: Partial<Made> = {}): Made {
  const env = random.weighted({ live: 3, test: 1 })
  const ends = random.weighted({ never: 5, later: 3, before: 2 })
  return {
    id: randomUUID(),
    key: drawKey(`${random.pick(['kr', 'k2', 'abcdefghijklmnop'])}_${env}`),
    ...place,
    env,
    scopes: some(random, scopeNames),
    meta: random.pick([{}, { plan: 'gold' }, { text: 'x'.repeat(2_100) }]),
    expires_at: { never: null, later: '2999-01-01T00:00:00.000Z', before: '2020-01-01T00:00:00.000Z' }[ends],
    rate_limits: random.pick([null, []]),
    ...more,
  }
}

/** In one statement, past the API, which would take a minute. */
const insert = (keys: readonly Made[]) =>
  query(
    `insert into api_keys (workspace_id, id, project_id, tenant_id, env, display_prefix, lookup_hash, scopes, meta, rate_limits,
       expires_at, created_at, updated_at)
     select k.workspace, k.id, k.project, k.tenant, k.env, 'kr_live_abcd', decode(k.hash, 'base64'), k.scopes, k.meta,
       nullif(k.rate_limits, 'null'), k.expires_at, now(), now()
     from json_to_recordset($1) k(workspace uuid, id uuid, project uuid, tenant uuid, env text, hash text, scopes text[],
       meta json, rate_limits jsonb, expires_at timestamptz)`,
    [JSON.stringify(keys.map(({ key, ...made }) => ({ ...made, hash: lookupHash(key) })))],
  )

/** Changes keys that the nodes hold: what they learn of it is a delta. */
async function change(keys: readonly Made[], set: string): Promise<void> {
  const ids = keys.map(({ id }) => id)
  await query(`update api_keys set ${set} where workspace_id = $1 and id = any($2::uuid[])`, [
    workspaceId,
    ids,
  ])
  await query('select policy_changed($1, $2, $3::uuid[])', [workspaceId, projectId, ids])
}

async function openNode(secretKey: string, env: 'both' | 'test') {
  const keyring = createKeyring({ ...settings, secretKey, env, pollIntervalMs: 200, cachedTtlMs: 60_000 })
  after(() => keyring.close())
  await keyring.ready()
  return keyring
}

/** A pair for each set of limits, whose counters are apart: one is asked about here, the other at the service. */
async function makeTwins(): Promise<[Made, Made][]> {
  const twins: [Made, Made][] = []
  for (let n = 0; n < LIMITED; n++) {
    const rule = (id: string) => ({
      id,
      limit: 1 + random.integer(12),
      window_ms: windowMs,
      algorithm: random.pick(['fixed', 'sliding']),
      scope: random.pick(['key', 'tenant']),
    })
    const like = make(ours, {
      scopes: [],
      meta: {},
      expires_at: null,
      rate_limits: random.pick([[rule('one')], [rule('one'), rule('two')]]),
    })
    const twin = async (): Promise<Made> => ({
      ...like,
      id: randomUUID(),
      key: drawKey(`kr_${like.env}`),
      tenant: (await makeTenant(service, vendor)).id,
    })
    twins.push([await twin(), await twin()])
  }
  return twins
}

const other = await makeVendor(service)
const [sibling, testSecret] = await Promise.all([
  makeProject(service, vendor),
  makeSecretKey(service, vendor, { env: 'test' }),
])
const places: readonly Place[] = [
  ...Array.from({ length: 8 }, () => ours),
  { ...ours, project: sibling.id },
  { workspace: other.workspaceId, project: other.projectId, tenant: other.tenantId },
]
const made = Array.from({ length: KEYS }, () => make(random.pick(places)))
const twins = await makeTwins()
await insert([...made, ...twins.flat()])
const live = await openNode(vendor.live, 'both')
const tests = await openNode(testSecret.key, 'test')
const isOurs = ({ project }: Made) => project === projectId
/** The nodes hold none of those that had expired before. */
const held = made.filter(key => isOurs(key) && !key.expires_at?.startsWith('2020'))
const part = (n: number) => held.filter((_, at) => at % 10 === n)
await change(part(0), `revoked_at = service_now(), revoked_reason = 'lost'`)
await change(part(1), `revoked_at = service_now(), revoked_reason = 'tenant_deleted'`)
await change(part(2), `expires_at = '2021-01-01'`)
await change(part(3), `expires_at = '2021-01-01', revoked_at = service_now()`)
await change(part(4), `scopes = '{a,b}'`)
await change(part(5), `expires_at = null`)
const { body: head } = await ask('GET', `/v1/projects/${projectId}`, { token: vendor.live })
for (const node of [live, tests])
  await until(() => (node.stats().version ?? 0) >= head.policy_version, 'the node is current')
const askable = [...held, ...made.filter(key => !isOurs(key))]

/** A text as a customer may send it, often a wrong one. */
function textOf(key: string): string {
  const at = random.integer(key.length)
  switch (
    random.weighted({ right: 12, cut: 1, changed: 1, longer: 1, upper: 1, invented: 2, none: 1, other: 1 })
  ) {
    case 'right':
      return key
    case 'cut':
      return key.slice(0, at)
    case 'changed':
      return `${key.slice(0, at)}${random.pick(['0', 'z', '_', 'é', '\u{1F511}'])}${key.slice(at + 1)}`
    case 'longer':
      return random.pick([` ${key}`, `${key}\n`, `${key}0`, key.repeat(40)])
    case 'upper':
      return key.toUpperCase()
    case 'invented':
      return drawKey(random.pick(['kr_live', 'kr_test', 'krsk_live']))
    case 'none':
      return ''
    default:
      return random.pick([vendor.live, 'kr_live_', 'x', 'kr_prod_0', '__proto__'])
  }
}

function assertAlike(own: Verdict, { status, body }: { status: number; body: KeyVerdict }, of: unknown) {
  const said = JSON.stringify([of, own, body])
  assert.equal(status, 200, said)
  // A node of one environment refuses keys of the other before it looks for them.
  const code = own.code === 'wrong_env' ? 'unknown_key' : own.code
  assert.deepEqual([body.valid, body.code], [own.valid, code], said)
  if (!own.valid) return assert.equal(body.key, null, said)
  assert.deepEqual(
    [
      body.key?.id,
      body.key?.tenant_id,
      body.key?.external_id,
      body.key?.env,
      body.key?.scopes,
      body.key?.meta,
    ],
    [own.keyId, own.tenantId, own.externalId, own.env, own.scopes, own.meta],
    said,
  )
  assert.equal(body.key?.expires_at && Date.parse(body.key.expires_at), own.expiresAt, said)
}

test('the SDK and the service judge 9,000 random keys, states and requests alike', async () => {
  const seen = new Map<string, number>()
  const limitless = REQUESTS - LIMITED * 10
  for (let n = 0; n < limitless; n += 100) {
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const isTest = random.integer(5) === 0
        const key = textOf(random.pick(askable).key)
        const scopes = some(random, scopeNames)
        const own = (isTest ? tests : live).verify(key, { scopes })
        const more = { ...(random.integer(4) > 0 && { ip: '203.0.113.7' }), scopes }
        assertAlike(own, await verify(key, more, isTest ? testSecret.key : vendor.live), {
          key,
          scopes,
          isTest,
        })
        seen.set(own.code, (seen.get(own.code) ?? 0) + 1)
      }),
    )
  }
  const codes = [
    'expired_key',
    'insufficient_scope',
    'malformed_key',
    'missing_key',
    'revoked_key',
    'unknown_key',
    'valid',
    'wrong_env',
  ]
  assert.deepEqual([...seen.keys()].toSorted(), codes)
  for (const [code, count] of seen) assert.ok(count >= 50, `${code} ${count}`)
})

test('the SDK and the service charge the limits of 1,000 random requests alike', async () => {
  const limiter = createLimiter({ ...connection, project: projectId, timeoutMs: 60_000 })
  const seen = new Map<string, number>()
  await Promise.all(
    twins.map(async ([mine, theirs], pair) => {
      const own = seeded(pair)
      for (let n = 0; n < 10; n++) {
        const cost = own.pick([0, 1, 1, 1, 2, 5, 20, 1_000])
        const verdict = live.verify(mine.key)
        assert.ok(verdict.valid)
        const limits = await limiter.limit(verdict, { cost })
        const { body } = await verify(theirs.key, { cost })
        const said = JSON.stringify([mine, cost, limits, body])
        assert.deepEqual(
          [body.valid, body.code],
          [limits.allowed, limits.allowed ? 'valid' : limits.code],
          said,
        )
        assert.equal(body.key?.id, theirs.id)
        const left = (all: readonly { id: string; remaining: number }[] = []) =>
          all.map(({ id, remaining }) => [id, remaining])
        // A remembered denial has only what the service said before.
        if (limits.source === 'service') {
          assert.deepEqual(left(body.limits), left(limits.limits), said)
          assert.equal(body.headers['RateLimit-Policy'], limits.headers['ratelimit-policy'], said)
        }
        seen.set(body.code, (seen.get(body.code) ?? 0) + 1)
      }
    }),
  )
  assert.deepEqual([...seen.keys()].toSorted(), ['rate_limited', 'valid'])
})
