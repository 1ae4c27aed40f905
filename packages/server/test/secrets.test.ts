import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { drawToken } from '../src/platform/crypto/token.ts'
import { routes } from '../src/routes.ts'
import { makeCredentials } from './credentials.ts'
import { dump } from './dump.ts'
import { bootstrapToken, type Heard, startHarness } from './harness.ts'
import { nameOf, sampleOf } from './samples.ts'
import { sendBytes } from './send-bytes.ts'
import { makeVendor } from './vendor.ts'

/**
 * Every route is asked, rightly and wrongly, with credentials in every place where they may stand by mistake.
 * Afterwards no secret stands anywhere but in the one answer that shows it.
 */
const harness = await startHarness()
const { query, logged, app } = harness
const vendor = await makeVendor(harness)
const credentials = await makeCredentials(harness, vendor)

/** Sent by mistake, and never issued: whatever is sent is not told to anyone either. */
const stray = drawToken('krsk_live', randomBytes)
/** All that was issued, as the answers showed it. */
const issued = new Set<string>([bootstrapToken, stray, vendor.live, vendor.test])
const answers: { what: string; heard: Heard; shows: string[] }[] = []

const anySecret = /\bkr(?:(?:sk)?_(?:live|test)|ses)_[0-9A-Za-z]{38}/

async function hear(what: string, asked: Promise<Heard>): Promise<void> {
  const heard = await asked
  const shown = [heard.body.key, heard.body.secret_key?.key].filter(key => typeof key === 'string')
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
  'as a number’s text': { payload: `{"overlap_hours":"${stray}"}` },
  'in broken JSON': { payload: `{"key":"${stray}"` },
  'as the whole body': { payload: stray },
  'as a content type': { payload: '{}', headers: { 'content-type': stray } },
  'as a request id': { headers: { 'x-request-id': stray } },
  'in a cookie': { headers: { cookie: `session=${stray}` } },
}

before(async () => {
  for (const route of routes) {
    const name = nameOf(route)
    const { url, token, body } = await sampleOf(route, harness, vendor)
    const payload = body === undefined ? undefined : JSON.stringify(body)
    const json = payload === undefined ? {} : { 'content-type': 'application/json' }
    for (const [kind, values] of Object.entries(credentials)) {
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
    const fresh = await sampleOf(route, harness, vendor)
    const right = {
      token: fresh.token,
      ...(fresh.body && { body: fresh.body }),
      headers: { 'idempotency-key': randomUUID() },
    }
    const asked = { ...right, ...(fresh.token === undefined && { token: stray }) } as typeof right & {
      token: string
    }
    await hear(`${name}, rightly`, harness.ask(route.method, fresh.url, asked))
    await hear(`${name}, once more`, harness.ask(route.method, fresh.url, asked))
  }
  await failInside()
})

/** Every mutation once more, while the store refuses it and quotes the whole row. */
async function failInside(): Promise<void> {
  await query(`create function refuse_row() returns trigger language plpgsql as $$
    begin raise 'refused' using detail = to_jsonb(new)::text, hint = current_query(); end $$`)
  const tables = ['credentials', 'secret_keys', 'api_keys', 'workspaces', 'audit_logs', 'replays']
  const samples = []
  for (const route of routes.filter(({ method }) => method !== 'GET')) {
    samples.push({ route, sample: await sampleOf(route, harness, vendor) })
  }
  for (const table of tables) {
    await query(
      `create trigger refuse_row before insert or update on ${table} for each row execute function refuse_row()`,
    )
    for (const { route, sample } of samples) {
      const { url, token, body } = sample
      const headers = { 'idempotency-key': randomUUID() }
      const asked = harness.ask(route.method, url, {
        ...(token && { token }),
        ...(body && { body }),
        headers,
      })
      await hear(`${nameOf(route)}, while ${table} refuses`, asked)
    }
    await query(`drop trigger refuse_row on ${table}`)
  }
  await query('drop function refuse_row()')
}

const forms = (secret: string) => [
  secret,
  Buffer.from(secret).toString('hex'),
  Buffer.from(secret).toString('base64').replace(/=+$/, ''),
  encodeURIComponent(secret),
]

function assertHidden(text: string, where: string): void {
  for (const secret of issued) {
    for (const form of forms(secret)) assert.ok(!text.includes(form), `${secret} stands in ${where}`)
  }
  assert.doesNotMatch(text, anySecret, where)
}

test('the run has succeeded and failed in every way that it was to', () => {
  const statuses = new Set(answers.map(({ heard }) => heard.status))
  for (const status of [200, 201, 400, 401, 403, 404, 415, 500]) assert.ok(statuses.has(status), `${status}`)
  assert.ok(issued.size > 10 && answers.length > 500)
})

test('a secret stands in the answer that issues it and in no other', () => {
  for (const { what, heard, shows } of answers) {
    const text = shows.reduce(
      (rest, secret) => rest.replaceAll(secret, ''),
      JSON.stringify([heard.headers, heard.body]),
    )
    assertHidden(text, `the answer to ${what}`)
    if (heard.status >= 400 || heard.headers['idempotent-replayed']) assert.deepEqual(shows, [], what)
  }
})

test('no line of the log has a secret, nor the row that a database error quotes', () => {
  assert.ok(logged.some(line => line.includes('"message":"refused"')))
  assert.ok(!logged.some(line => line.includes('display_prefix') || line.includes('@example.com')))
  assertHidden(logged.join(''), 'the log')
})

test('no column of any table has a secret in any form', async () => {
  const tables = await dump(query)
  for (const [table, rows] of Object.entries(tables)) assertHidden(JSON.stringify(rows), table)
  assert.ok(Object.values(tables).every(rows => Array.isArray(rows)))
})

test('the metrics have no secret and no id', async () => {
  const text = await harness.deps.metrics.text()
  assertHidden(text, 'the metrics')
  assert.doesNotMatch(text, /[0-9a-f]{8}-[0-9a-f]{4}-/)
})

test('the API’s own description has no secret', async () => {
  for (const url of ['/v1/openapi.json', '/docs/']) assertHidden((await app.inject({ url })).body, url)
})
