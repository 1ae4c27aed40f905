import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Route } from '../src/gate/route.ts'
import { routes } from '../src/routes.ts'
import { assertKeepsContract } from './contract-watch.ts'
import { freshCredentials, makeCredentials } from './credentials.ts'
import { startHarness } from './harness.ts'
import { nameOf, type Sample, sampleOf } from './samples.ts'
import { makeVendor } from './vendor.ts'

/** Groups of routes that give the same answer, `status` or `status code`, to each credential. */
interface Group {
  why: string
  routes: string[]
  answers: Record<string, string>
}
const groups: Group[] = JSON.parse(readFileSync(new URL('credential-matrix.json', import.meta.url), 'utf8'))
const matrix = new Map(groups.flatMap(({ routes, answers }) => routes.map(name => [name, answers] as const)))

const harness = await startHarness()
const vendor = await makeVendor(harness)
const current = freshCredentials(harness, vendor)
const kinds = Object.keys(await current())

test('every route is in the matrix exactly once, and nothing else is', () => {
  assert.deepEqual(groups.flatMap(group => group.routes).toSorted(), routes.map(nameOf).toSorted())
})

test('every group of the matrix has an answer for every credential', () => {
  for (const { why, answers } of groups) assert.deepEqual(Object.keys(answers), kinds, why)
})

for (const route of routes) {
  test(`${nameOf(route)} answers each credential as the matrix says`, async () => {
    assert.deepEqual(await answersOf(route), matrix.get(nameOf(route)))
  })
}

test('a refused credential gets the same response whatever is wrong with it', async () => {
  const refused = [
    'malformed',
    'wrong scheme',
    'unknown well-formed key',
    'mistyped checksum',
    'revoked',
    'expired',
  ]
  const answers = await Promise.all(
    refused.map(async name => {
      const { headers, body } = await answer({ url: '/v1/workspace', token: undefined }, 'GET', name)
      return { ...body, request_id: '', challenge: headers['www-authenticate'] }
    }),
  )
  for (const heard of answers) assert.deepEqual(heard, answers[0])
})

test('the challenge names an error for a bad credential, and none for a missing one', async () => {
  const challenge = async (name: string) =>
    (await answer({ url: '/v1/workspace', token: undefined }, 'GET', name)).headers['www-authenticate']
  assert.equal(await challenge('none'), 'Bearer')
  assert.equal(await challenge('revoked'), 'Bearer error="invalid_token"')
})

/** The route's answer to each credential. A success uses up the sample, so the next credential gets a new one. */
async function answersOf(route: Route): Promise<Record<string, string>> {
  const answers: Record<string, string> = {}
  // A request that changes something may change or end a credential.
  const own = route.method === 'GET' ? await current() : await makeCredentials(harness, vendor)
  let sample = await sampleOf(route, harness, vendor)
  for (const name of kinds) {
    const { status, body } = await answer(sample, route.method, name, own)
    answers[name] = status < 400 ? String(status) : `${status} ${body.code}`
    if (status < 400 && route.method !== 'GET') sample = await sampleOf(route, harness, vendor)
  }
  return answers
}

/** Sends a request with a credential. A 401 must have the challenge, other responses must not. */
async function answer(
  { url, body, signed }: Sample,
  method: string,
  credential: string,
  given?: Record<string, string[]>,
) {
  const own = given ?? (await current())
  const authorization = own[credential] ?? []
  const response = await harness.app.inject({
    method: method as 'GET',
    url,
    // An array is sent as that many headers; the type only allows one.
    headers: {
      ...(authorization.length > 0 && { authorization: authorization as unknown as string }),
      ...signed?.headers,
    },
    ...(body !== undefined && { payload: body }),
    ...(signed !== undefined && { payload: signed.body }),
  })
  const heard = {
    status: response.statusCode,
    headers: response.headers as Record<string, string | undefined>,
    // The audit export is one JSON object per line.
    body: /[/+]json\b/.test(String(response.headers['content-type'])) ? response.json() : response.body,
  }
  assertKeepsContract({ method, url, ...heard })
  assert.equal(heard.headers['www-authenticate'] !== undefined, heard.status === 401)
  return heard
}
