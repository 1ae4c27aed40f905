import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { tokenDigest } from '../src/platform/crypto/token.ts'
import { dump } from './dump.ts'
import { type Ask, type Heard, startHarness } from './harness.ts'
import { drawForeign } from './importing.ts'
import { type SecretSearch, searchFor } from './secret-search.ts'
import { issueKey, makeSecretKey, makeVendor } from './vendor.ts'

/**
 * Imports keys, correctly and incorrectly, with keys and digests in every place where a file that was read wrongly may put
 * them. Afterwards a digest is found only where keys are looked up and in exports, and a key nowhere.
 */
const harness = await startHarness()
const { ask, query, logged, app } = harness
const vendor = await makeVendor(harness)
const other = await makeVendor(harness)
const { live, projectId: project_id, tenantId: tenant_id } = vendor
const importPath = '/v1/keys/import'

/** How the rows of a file say digests. */
const spellings: Record<string, (digest: Buffer) => string> = {
  hex: digest => digest.toString('hex'),
  'hex in upper case': digest => digest.toString('hex').toUpperCase(),
  base64: digest => digest.toString('base64'),
  base64url: digest => digest.toString('base64url'),
}
const keys = new Set<string>()
/** A part of a digest would help to find it. */
const starts = new Set<string>()

/** A key of another system, and its digest in one spelling. Neither may be found in any. */
function draw(spell = spellings.hex): { key: string; digest: string } {
  const key = drawForeign()
  keys.add(key)
  return { key, digest: noted(tokenDigest(key), spell) }
}

function noted(digest: Buffer, spell = spellings.hex): string {
  for (const one of Object.values(spellings)) starts.add(one(digest).slice(0, 16))
  return spell?.(digest) ?? ''
}

const answers: { what: string; heard: Heard }[] = []

async function hear(what: string, method: string, url: string, asked: Ask): Promise<Heard> {
  const heard = await ask(method, url, { token: live, ...asked })
  answers.push({ what, heard })
  return heard
}

type Row = Record<string, unknown>
const bodyOf = (rows: unknown, more: Row = {}) => ({ project_id, env: 'live', rows, ...more })
const send = (what: string, body: unknown, headers: Record<string, string> = {}, token = live) =>
  hear(what, 'POST', importPath, { token, body, headers })

/** Rows that are refused, each in a call that is not. */
const refusedRows: Record<string, () => Row | string> = {
  'a digest that is too short': () => ({ tenant_id, digest: draw().digest.slice(1) }),
  'a digest that is too long': () => ({ tenant_id, digest: `${draw().digest}0` }),
  'a digest with bits beyond its end': () => ({
    tenant_id,
    digest: `${draw(spellings.base64url).digest.slice(0, 42)}_`,
  }),
  'a key as a digest': () => ({ tenant_id, digest: draw().key }),
  'a key beside its digest': () => ({ tenant_id, ...draw() }),
  'a key as the name of a field': () => ({ tenant_id, digest: draw().digest, [draw().key]: 1 }),
  'a digest as the name of a field': () => ({ tenant_id, digest: draw().digest, [draw().digest]: 1 }),
  'base64 as the name of a field': () => ({
    tenant_id,
    digest: draw().digest,
    [draw(spellings.base64).digest]: 1,
  }),
  'a line of the file as the name of a field': () => ({
    tenant_id,
    digest: draw().digest,
    [`${draw().digest},${draw().key}`]: 'org_17',
  }),
  'a digest as a tenant': () => ({ tenant_id: draw().digest, digest: draw().digest }),
  'a key as an external id': () => ({ external_id: draw().key, digest: draw().digest }),
  'a key as a time': () => ({ tenant_id, digest: draw().digest, created_at: draw().key }),
  'a key as a network': () => ({ tenant_id, digest: draw().digest, allowed_cidrs: [draw().key] }),
  'a key as a limit': () => ({ tenant_id, digest: draw().digest, rate_limits: draw().key }),
  'a key as the name of a limit': () => ({
    tenant_id,
    digest: draw().digest,
    rate_limits: [
      { id: 'all', limit: 7, window_ms: 60_000, algorithm: 'sliding', scope: 'key', [draw().key]: 1 },
    ],
  }),
  'a key as a scope': () => ({ tenant_id, digest: draw().digest, scopes: [draw().key, ''] }),
  'a key as metadata': () => ({ tenant_id, digest: draw().digest, meta: draw().key }),
  'a key as a prefix': () => ({ tenant_id, digest: draw().digest, display_prefix: draw().key }),
}

/** Calls that are refused whole. */
const wrongCalls: Record<string, () => unknown> = {
  'a line of CSV': () => `external_id,digest\norg_17,${draw().digest}\n`,
  'lines of JSON': () =>
    [1, 2].map(() => JSON.stringify({ external_id: 'org_17', digest: draw().digest })).join('\n'),
  'JSON that breaks off': () => JSON.stringify(bodyOf([{ tenant_id, digest: draw().digest }])).slice(0, -3),
  'a row without a call': () => ({ external_id: 'org_17', digest: draw().digest }),
  'a text as rows': () => bodyOf(`org_17,${draw().digest}`),
  'a text as a row': () => bodyOf([`org_17,${draw().key}`]),
  'an object of digests as rows': () => bodyOf({ [draw().digest]: 'org_17' }),
  'a digest as an environment': () => bodyOf([{ tenant_id, digest: draw().digest }], { env: draw().digest }),
  'a key as a project': () => bodyOf([{ tenant_id, digest: draw().digest }], { project_id: draw().key }),
  'a key as the name of a field': () => bodyOf([{ tenant_id, digest: draw().digest }], { [draw().key]: 1 }),
  'too many rows': () => {
    const row = { tenant_id, digest: draw().digest }
    return bodyOf(Array.from({ length: 1_001 }, () => row))
  },
  'too many bytes': () => bodyOf([{ tenant_id, digest: draw().digest, name: 'x'.repeat(1_100_000) }]),
}

/** Tables whose rows have the digest of an import, or are written with it. */
const refusing = ['credentials', 'api_keys', 'audit_logs', 'tenants', 'replays']

before(async () => {
  const spelled = Object.values(spellings).map(spell => ({ tenant_id, digest: draw(spell).digest }))
  const right = bodyOf(spelled)
  for (let i = 0; i < 2; i += 1) await send(`all spellings, ${i}`, right, { 'idempotency-key': 'right' })
  await send('all spellings, dry', { ...right, dry_run: true })
  await send('all spellings, in the body of another call', right, { 'idempotency-key': 'right', 'x-a': '1' })
  await send('another body', bodyOf([{ tenant_id, digest: draw().digest }]), { 'idempotency-key': 'right' })
  const foreign = noted(tokenDigest((await issueKey(harness, other)).key))
  await send('the key of another workspace', bodyOf([{ tenant_id, digest: foreign }]))
  for (const [what, row] of Object.entries(refusedRows)) {
    const body = bodyOf([row()])
    for (const dry_run of [true, false])
      await send(
        `${what}, dry: ${dry_run}`,
        { ...body, dry_run },
        { 'idempotency-key': `${what} ${dry_run}` },
      )
    await send(`${what}, once more`, { ...body, dry_run: false }, { 'idempotency-key': `${what} false` })
  }
  for (const [what, body] of Object.entries(wrongCalls)) await send(what, body())
  await send('CSV by its type', `org_17,${draw().key}`, { 'content-type': 'text/csv' })
  await refusedCallers()
  await useKeys()
  await failInside()
})

async function refusedCallers(): Promise<void> {
  const reader = (await makeSecretKey(harness, vendor, { preset: 'node', project_ids: [project_id] })).key
  for (const token of [reader, vendor.test, other.live, 'none']) {
    const body = bodyOf([{ external_id: draw().key, digest: draw().digest }], { create_tenants: true })
    await send('a credential that may not import', body, {}, token)
  }
}

/** What else is asked of keys from elsewhere. */
async function useKeys(): Promise<void> {
  const { key, digest } = draw()
  const { body } = await send('a key that is used', bodyOf([{ tenant_id, digest }]))
  const { id } = body.rows[0]
  for (const text of [key, draw().key, digest]) {
    await hear('identify', 'POST', '/v1/keys/identify', { body: { key: text } })
    await hear('explain', 'POST', '/v1/keys/explain', { body: { key: text } })
    await hear('verify', 'POST', '/v1/keys/verify', { body: { key: text, project_id } })
    const inUrl = encodeURIComponent(text)
    for (const path of [
      `keys/${inUrl}`,
      `keys?q=${inUrl}`,
      `keys/export?cursor=${inUrl}`,
      `${inUrl}?${inUrl}`,
    ])
      await hear(`GET ${path.replace(inUrl, '…')}`, 'GET', `/v1/${path}`, {})
  }
  for (const path of [`keys/${id}`, 'keys', 'audit_logs', `audit_logs?target_id=${id}`, 'overview'])
    await hear(path, 'GET', `/v1/${path}`, {})
  for (const act of ['disable', 'enable', 'rotate', 'revoke'])
    await hear(act, 'POST', `/v1/keys/${id}/${act}`, { headers: { 'idempotency-key': randomUUID() } })
  for (const act of ['disable', 'enable', 'revoke'])
    await hear(`${act} many`, 'POST', `/v1/keys/${act}`, { body: { ids: [id] } })
}

/** Imports while the database refuses with an error that quotes the whole row. */
async function failInside(): Promise<void> {
  await query(`create function refuse_row() returns trigger language plpgsql as $$
    begin raise 'refused' using detail = to_jsonb(new)::text, hint = current_query(); end $$`)
  for (const table of refusing) {
    await query(
      `create trigger refuse_row before insert or update on ${table} for each row execute function refuse_row()`,
    )
    const body = bodyOf([{ external_id: `new ${randomUUID()}`, digest: draw().digest }], {
      create_tenants: true,
    })
    await send(`while ${table} refuses`, body, { 'idempotency-key': randomUUID() })
    await query(`drop trigger refuse_row on ${table}`)
  }
  await query('drop function refuse_row()')
}

let made: SecretSearch | undefined
/** Made after all calls: a second `before` does not wait for the first. */
const search: SecretSearch = text => {
  made ??= searchFor([...keys, ...starts])
  return made(text)
}

function assertHidden(value: unknown, where: string): void {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const found = search(text)
  assert.equal(found, undefined, `${where}: ${text.slice(0, 500)}`)
}

test('the imports had every kind of success and failure', () => {
  const statuses = new Set(answers.map(({ heard }) => heard.status))
  for (const status of [200, 400, 401, 403, 404, 409, 413, 415, 500])
    assert.ok(statuses.has(status), `${status}`)
  const rowsOf = (name: string) => answers.filter(({ what }) => what.startsWith(name))
  for (const name of Object.keys(refusedRows)) {
    const [one] = rowsOf(`${name}, dry: false`)
    assert.equal(one?.heard.body.invalid, 1, `${name}: ${JSON.stringify(one?.heard.body)}`)
  }
  for (const table of refusing) assert.equal(rowsOf(`while ${table} refuses`)[0]?.heard.status, 500, table)
})

test('no answer to an import has a digest, a key or a line of its file', () => {
  for (const { what, heard } of answers) assertHidden([heard.headers, heard.body], what)
})

test('an answer that is stored for a repeated import has no digest either', async () => {
  const stored = await query(
    `select caller, key, status, body from replays where key = 'right' or key like 'a %'`,
  )
  assert.ok(stored.length > 20, `${stored.length}`)
  assertHidden(stored, 'replays')
})

test('a digest is in the rows by which keys are looked up, and in no other', async () => {
  await harness.deps.securityEvents.flush()
  const { credentials = [], api_keys = [], ...tables } = await dump(query, { withNoted: true })
  for (const [table, rows] of Object.entries({ credentials, api_keys })) {
    assert.notEqual(search(JSON.stringify(rows)), undefined, table)
    const rest = rows.map(row => ({ ...(row as Row), digest: null, lookup_hash: null }))
    assertHidden(rest, table)
  }
  for (const [table, rows] of Object.entries(tables)) assertHidden(rows, table)
  assertHidden(await query('select to_jsonb(j) as job from graphile_worker._private_jobs j'), 'the jobs')
})

test('an export has each digest of a living key, and no key', async () => {
  const { body } = await app
    .inject({ url: '/v1/keys/export', headers: { authorization: `Bearer ${live}` } })
    .then(response => ({ body: response.body }))
  assert.notEqual(search(body), undefined)
  assert.equal(searchFor(keys)(body), undefined)
})

test('no log line and no metric has a digest or a key of an import', async () => {
  assert.ok(logged.some(line => line.includes('"message":"refused"')))
  for (const line of logged) assertHidden(line, 'the log')
  assertHidden(await harness.deps.metrics.text(), 'the metrics')
})
