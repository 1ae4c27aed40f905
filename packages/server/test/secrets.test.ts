import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { simpleParser } from 'mailparser'
import type { Route } from '../src/gate/route.ts'
import { drawMailedToken } from '../src/platform/crypto/mailed-token.ts'
import { drawToken } from '../src/platform/crypto/token.ts'
import { readMailRoute } from '../src/platform/mail/route.ts'
import { routes } from '../src/routes.ts'
import { freshCredentials, makeCredentials } from './credentials.ts'
import { dump } from './dump.ts'
import { bootstrapToken, type Heard, startHarness } from './harness.ts'
import { madePassword, makePerson } from './people.ts'
import { nameOf, newPassword, type Sample, sampleOf } from './samples.ts'
import { type SecretSearch, searchFor } from './secret-search.ts'
import { sendBytes } from './send-bytes.ts'
import { until } from './until.ts'
import { makeVendor } from './vendor.ts'

/**
 * Calls every route, correctly and incorrectly, with credentials in every place where a client may put them by
 * mistake. Afterwards each secret is found only in the one response that shows it.
 */
const mailFolder = mkdtempSync(join(tmpdir(), 'keyrail-secrets-'))
after(() => rm(mailFolder, { recursive: true, maxRetries: 10 }))
const harness = await startHarness({
  mail: {
    route: readMailRoute(pathToFileURL(mailFolder).href),
    from: { name: 'Keyrail', address: 'no-reply@keys.example' },
  },
})
const { query, logged, app } = harness
const vendor = await makeVendor(harness)
const current = freshCredentials(harness, vendor)

/** Sent by mistake and never issued; the service must not repeat it anywhere. */
const stray = drawToken('krsk_live', randomBytes)
const strayMailed = drawMailedToken(randomUUID(), randomBytes).token
const strayPassword = `${randomUUID()} horse`
/** Every secret that a response has issued, and the passwords. */
const issued = new Set<string>([
  bootstrapToken,
  stray,
  strayMailed,
  strayPassword,
  vendor.live,
  vendor.test,
  madePassword,
  newPassword,
])
/** The pages that mailed links lead to. */
const pages = new Set<string>()
/** The queued jobs, before any of them ran. */
let jobs = ''
const answers: { what: string; heard: Heard; shows: string[] }[] = []

/** A credential, the token of a mailed link, or the hash of a password. */
const anySecret =
  /\bkr(?:(?:sk)?_(?:live|test)|ses)_[0-9A-Za-z]{38}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[\w-]{43}|\$argon2/

async function hear(what: string, asked: Promise<Heard>): Promise<void> {
  const heard = await asked
  const { key, token, secret_key, disowning_token } = heard.body
  const shown = [key, token, secret_key?.key, disowning_token].filter(key => typeof key === 'string')
  for (const key of shown) issued.add(key)
  answers.push({ what, heard, shows: shown })
}

/** A request with its credential in a wrong place. */
const mistakes: Record<
  string,
  { url?: (url: string) => string; payload?: string; headers?: Record<string, string> }
> = {
  'in the query': {
    url: url =>
      `${url}?limit=${stray}&env=${stray}&cursor=${stray}&token=${stray}&wait=${stray}&after_seq=${stray}`,
  },
  'as an id': { url: url => url.replace(/[0-9a-f-]{36}/, stray) },
  'as a path': { url: () => `/v1/${stray}` },
  'in an undecodable path': { url: () => `/v1/%zz${stray}` },
  'as a value': { payload: JSON.stringify({ token: stray, env: stray, id: stray }) },
  'as a mailed token': { payload: JSON.stringify({ token: strayMailed }) },
  'as a mailed token, with a password': {
    payload: JSON.stringify({ token: strayMailed, password: strayPassword }),
  },
  'as a password': { payload: JSON.stringify({ email: 'stray@example.com', password: strayPassword }) },
  'as a password of the wrong type': { payload: JSON.stringify({ password: [strayPassword] }) },
  'as an address': { payload: JSON.stringify({ email: strayPassword, password: strayPassword }) },
  'as the current password': {
    payload: JSON.stringify({ current_password: strayPassword, password: strayPassword }),
  },
  'as the text of a number': { payload: `{"overlap_hours":"${stray}"}` },
  'in broken JSON': { payload: `{"key":"${stray}"` },
  'as the whole body': { payload: stray },
  'as a content type': { payload: '{}', headers: { 'content-type': stray } },
  'as a request id': { headers: { 'x-request-id': stray } },
  'as a user agent': { headers: { 'user-agent': `agent/${stray}` } },
  'in a cookie': { headers: { cookie: `session=${stray}` } },
}

before(async () => {
  for (const route of routes) {
    const name = nameOf(route)
    const { url, token, body } = await sample(route)
    // A request of a person may end the session that sends it.
    const own =
      route.plane === 'person' && route.method !== 'GET'
        ? await makeCredentials(harness, vendor)
        : await current()
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const json = payload === undefined ? {} : { 'content-type': 'application/json' }
    for (const [kind, values] of Object.entries(own)) {
      if (kind === 'owner live' || kind === 'admin live') continue
      const headers = { ...json, ...(values.length > 0 && { authorization: values }) }
      await hear(
        `${name}, ${kind}`,
        sendBytes(harness, route.method, url, { headers, ...(payload && { payload }) }),
      )
    }
    for (const [place, { url: change, payload: sent, headers }] of Object.entries(mistakes)) {
      const request = {
        token,
        headers: { 'content-type': 'application/json', ...headers },
        ...(sent && { payload: sent }),
      }
      await hear(
        `${name}, a credential ${place}`,
        sendBytes(harness, route.method, change?.(url) ?? url, request),
      )
    }
    const fresh = await sample(route)
    const right = {
      token: fresh.token,
      ...(fresh.body && { body: fresh.body }),
      ...(fresh.signed && { body: fresh.signed.body }),
      headers: { ...fresh.signed?.headers, 'idempotency-key': randomUUID() },
    }
    const asked = { ...right, ...(fresh.token === undefined && { token: stray }) } as typeof right & {
      token: string
    }
    await hear(`${name}, rightly`, harness.ask(route.method, fresh.url, asked))
    await hear(`${name}, once more`, harness.ask(route.method, fresh.url, asked))
  }
  // The user agent is stored with the session and in the security events.
  const body = { email: (await makePerson(query)).email, password: madePassword }
  await hear(
    'a sign-in, a credential as a user agent',
    harness.ask('POST', '/v1/auth/sessions', { headers: { 'user-agent': `agent/${stray}` }, body }),
  )
  await failInside()
  jobs = JSON.stringify(await query('select to_jsonb(j) as job from graphile_worker._private_jobs j'))
  await sendMail()
})

/** The sample request of a route. Its secrets must not be found anywhere either. */
async function sample(route: Route): Promise<Sample> {
  const made = await sampleOf(route, harness, vendor)
  const reported = made.signed === undefined ? [] : JSON.parse(made.signed.body)
  const secrets = [
    made.token,
    made.body?.token,
    made.body?.key,
    ...reported.map(({ token }: { token: string }) => token),
  ]
  for (const secret of secrets) if (typeof secret === 'string') issued.add(secret)
  return made
}

/** Sends the queued mail, which draws the tokens of the links, and collects them from the messages. */
async function sendMail(): Promise<void> {
  harness.deps.mail.start()
  const waiting = `select from graphile_worker._private_jobs where attempts = 0 and run_at <= now() or locked_at is not null`
  await until(async () => (await query(waiting)).length === 0)
  for (const name of readdirSync(mailFolder)) {
    const { text = '' } = await simpleParser(readFileSync(join(mailFolder, name)))
    const [, page = '', token = ''] = /\/([\w-]+)#token=(\S+)/.exec(text) ?? []
    if (token === '') continue
    pages.add(page)
    issued.add(token)
  }
}

/** Tables whose rows have confidential values that a database error would quote. */
const refusing = [
  'credentials',
  'secret_keys',
  'api_keys',
  'workspaces',
  'audit_logs',
  'replays',
  'users',
  'user_passwords',
  'sessions',
  'mail_tokens',
  'disownings',
  'workspace_members',
  'workspace_invites',
  'security_events',
]

/** Sends every mutation again while the database refuses it with an error that quotes the whole row. */
async function failInside(): Promise<void> {
  await query(`create function refuse_row() returns trigger language plpgsql as $$
    begin raise 'refused' using detail = to_jsonb(new)::text, hint = current_query(); end $$`)
  const unsafe = routes.filter(({ method }) => method !== 'GET')
  for (const table of refusing) {
    const samples = []
    for (const route of unsafe) samples.push({ route, asked: await sample(route) })
    await query(
      `create trigger refuse_row before insert or update on ${table} for each row execute function refuse_row()`,
    )
    for (const { route, asked: made } of samples) {
      const { url, token, body, signed } = made
      const headers = { ...signed?.headers, 'idempotency-key': randomUUID() }
      const asked = harness.ask(route.method, url, {
        ...(token && { token }),
        ...(body && { body }),
        ...(signed && { body: signed.body }),
        headers,
      })
      await hear(`${nameOf(route)}, while ${table} refuses`, asked)
    }
    await query(`drop trigger refuse_row on ${table}`)
  }
  await query('drop function refuse_row()')
}
/** Made after all calls: a second `before` does not wait for the first. */
let search: SecretSearch | undefined

function assertHidden(text: string, where: string): void {
  search ??= searchFor(issued)
  assert.equal(search(text), undefined, where)
  assert.doesNotMatch(text, anySecret, where)
}

test('the run had every kind of success and failure', () => {
  const statuses = new Set(answers.map(({ heard }) => heard.status))
  for (const status of [200, 201, 400, 401, 403, 404, 415, 500]) assert.ok(statuses.has(status), `${status}`)
  const failed = answers.filter(({ heard }) => heard.status === 500).map(({ what }) => what)
  for (const table of refusing)
    assert.ok(
      failed.some(what => what.endsWith(`while ${table} refuses`)),
      table,
    )
  assert.ok(issued.size > 10 && answers.length > 500)
  assert.ok(jobs.includes('invitation') && jobs.includes('password_reset'))
  assert.deepEqual([...pages].toSorted(), ['accept-invite', 'reset-password', 'verify-email'])
})

test('a secret is only in the response that issues it', () => {
  for (const { what, heard, shows } of answers) {
    const text = shows.reduce(
      (rest, secret) => rest.replaceAll(secret, ''),
      JSON.stringify([heard.headers, heard.body]),
    )
    assertHidden(text, `the answer to ${what}`)
    if (heard.status >= 400 || heard.headers['idempotent-replayed']) assert.deepEqual(shows, [], what)
  }
})

test('no log line has a secret or the row that a database error quotes', () => {
  assert.ok(logged.some(line => line.includes('"message":"refused"')))
  assert.ok(!logged.some(line => line.includes('display_prefix') || line.includes('@')))
  assertHidden(logged.join(''), 'the log')
})

test('no column has a secret in any form, except the password hashes', async () => {
  await harness.deps.securityEvents.flush()
  const { user_passwords, ...tables } = await dump(query, { withNoted: true })
  for (const table of ['sessions', 'security_events'])
    assert.ok(JSON.stringify(tables[table]).includes('agent/…'), table)
  for (const [table, rows] of Object.entries(tables)) assertHidden(JSON.stringify(rows), table)
  assert.ok(Object.values(tables).every(rows => Array.isArray(rows)))
  assertHidden(JSON.stringify(user_passwords).replaceAll('$argon2id$', ''), 'user_passwords')
})

test('a mail job has only ids: no address, token or secret', async () => {
  assertHidden(jobs, 'the jobs before they ran')
  assert.ok(!jobs.includes('@'), 'a job has an address')
  const left = await query('select to_jsonb(j) as job from graphile_worker._private_jobs j')
  assertHidden(JSON.stringify(left), 'the jobs that are left')
})

test('the metrics have no secret and no id', async () => {
  const text = await harness.deps.metrics.text()
  assertHidden(text, 'the metrics')
  assert.doesNotMatch(text, /[0-9a-f]{8}-[0-9a-f]{4}-/)
})

test('the API reference has no secret', async () => {
  for (const url of ['/v1/openapi.json', '/docs/']) assertHidden((await app.inject({ url })).body, url)
})
