import assert from 'node:assert/strict'
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { test } from 'node:test'
import { mintToken } from '../../test/embed.ts'
import { encryptionKeys } from '../../test/encryption-key.ts'
import { startHarness } from '../../test/harness.ts'
import { makeVendor } from '../../test/vendor.ts'
import { openSealing } from '../platform/crypto/sealing.ts'
import { placeOf, signingKeys } from '../platform/db/sealed/columns.ts'

/** Every way to forge a token, or to use one that is not valid. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
const token = await mintToken(harness, vendor)
const [header = '', payload = '', signature = ''] = token.split('.')
const claims = read(payload)
const [{ kid, sealed }] = await query('select kid, sealed from signing_keys')
const stored = openSealing(encryptionKeys, randomBytes).open(placeOf(signingKeys, kid), sealed)

function read(part: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(part, 'base64url').toString())
}
const write = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token with any header and claims, signed by any P-256 key. */
function forge(head: Record<string, unknown>, says: Record<string, unknown>, key: KeyObject): string {
  const text = `${write(head)}.${write(says)}`
  const signed = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signed.toString('base64url')}`
}
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const own = createPrivateKey({ key: stored, format: 'der', type: 'pkcs8' })
const ours = { alg: 'ES256', typ: 'embed+jwt', kid }

const session = (by: string) => ask('GET', '/v1/embed/session', { token: by })
async function assertRefused(by: string, what: string): Promise<void> {
  const { status, body, headers } = await session(by)
  assert.deepEqual(
    [status, body.code, headers['www-authenticate']],
    [401, 'unauthenticated', 'Bearer error="invalid_token"'],
    what,
  )
}

test('the token is a JWT with exactly the documented header and claims', async () => {
  assert.deepEqual(read(header), ours)
  const { jti, iat, exp, ...rest } = claims
  assert.match(String(jti), /^[0-9a-f-]{36}$/)
  assert.equal(Number(exp) - Number(iat), 300)
  assert.deepEqual(rest, {
    iss: harness.deps.config.publicUrl,
    aud: 'embed',
    sub: vendor.tenantId,
    wid: vendor.workspaceId,
    pid: vendor.projectId,
    mby: vendor.liveId,
    env: 'live',
    scope: ['keys:read', 'keys:write', 'network:write', 'key_scope:charges:read', 'key_scope:refunds'],
    ep: 1,
  })
  assert.equal((await session(token)).status, 200)
})

test('the forging function makes valid tokens when given the right key', async () => {
  assert.equal((await session(forge(ours, claims, own))).status, 200)
})

test('a token with another algorithm is refused', async () => {
  for (const alg of ['none', 'None', 'NONE', '']) {
    await assertRefused(`${write({ ...ours, alg })}.${payload}.`, alg)
    await assertRefused(`${write({ ...ours, alg })}.${payload}.${signature}`, alg)
  }
  const publicKey = createPublicKey(own)
  const secrets = [
    publicKey.export({ format: 'pem', type: 'spki' }),
    publicKey.export({ format: 'der', type: 'spki' }),
    JSON.stringify(publicKey.export({ format: 'jwk' })),
  ]
  for (const secret of secrets) {
    const text = `${write({ ...ours, alg: 'HS256' })}.${payload}`
    await assertRefused(`${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`, 'HS256')
  }
  for (const alg of ['ES384', 'RS256', 'EdDSA', 'PS256'])
    await assertRefused(forge({ ...ours, alg }, claims, own), alg)
})

test('no header member can bring in a foreign key', async () => {
  const jwk = stranger.publicKey.export({ format: 'jwk' })
  const { kid: _, ...without } = ours
  const more: Record<string, unknown>[] = [
    { kid },
    { kid: 'unknown' },
    { kid: '../../../../dev/null' },
    { kid: '/etc/passwd' },
    { kid: `${kid}\u0000` },
    { kid: "' or true --" },
    { kid: null },
    { kid: [kid] },
    { kid: { kid } },
    { kid: '__proto__' },
    { kid, jwk },
    { kid, jku: 'http://127.0.0.1:1/jwks.json' },
    { kid, x5u: 'http://127.0.0.1:1/cert.pem' },
    { kid, x5c: ['AAAA'] },
    { kid, crit: ['exp'], exp: 1 },
    { jwk },
  ]
  for (const traits of more)
    await assertRefused(forge({ ...without, ...traits }, claims, stranger.privateKey), JSON.stringify(traits))
  await assertRefused(forge(without, claims, stranger.privateKey), 'no kid')
})

test('a header that the service would not write is refused despite a valid signature', async () => {
  const { typ: _, ...untyped } = ours
  const odd: Record<string, unknown>[] = [
    untyped,
    { ...ours, typ: 'JWT' },
    { ...ours, typ: 'at+jwt' },
    { ...ours, crit: ['b64'], b64: false },
    { ...ours, jku: 'https://example.com' },
    { ...ours, jwk: createPublicKey(own).export({ format: 'jwk' }) },
    { ...ours, extra: 1 },
    { kid, typ: ours.typ, alg: ours.alg },
  ]
  for (const head of odd) await assertRefused(forge(head, claims, own), JSON.stringify(head))
})

test('another issuer, audience or type is refused despite a valid signature', async () => {
  for (const says of [
    { iss: 'https://elsewhere.example' },
    { iss: undefined },
    { aud: 'dashboard' },
    { aud: undefined },
    { exp: undefined },
    { exp: 'never' },
    { sub: undefined },
    { wid: undefined },
    { pid: undefined },
    { ep: undefined },
    { jti: undefined },
    { iat: undefined },
    { mby: undefined },
    { scope: undefined },
    { env: undefined },
  ]) {
    await assertRefused(forge(ours, { ...claims, ...says }, own), JSON.stringify(says))
  }
})

test('a claim that the service would not write is refused despite a valid signature', async () => {
  const odd: Record<string, unknown>[] = [
    ...['sub', 'wid', 'pid', 'mby', 'jti'].flatMap(name => [
      { [name]: 'x' },
      { [name]: '' },
      { [name]: 1 },
      { [name]: [claims[name]] },
      { [name]: `${claims[name]}\u0000` },
    ]),
    { env: 'staging' },
    { env: ['live'] },
    { scope: 'keys:read' },
    { scope: [1] },
    { org: 'https://app.example.com' },
    { org: null },
    { ep: '1' },
    { ep: 1.5 },
    { iat: String(claims.iat) },
    { exp: Number(claims.exp) - 0.5 },
  ]
  for (const says of odd) await assertRefused(forge(ours, { ...claims, ...says }, own), JSON.stringify(says))
})

test('not even the private key can make a token that lasts longer or begins later', async () => {
  const now = Math.floor(Date.now() / 1_000)
  try {
    await harness.setStoreTime(new Date(now * 1_000))
    const says = (iat: number, exp: number) => session(forge(ours, { ...claims, iat, exp }, own))
    const lasting: [life: number, status: number][] = [
      [300, 200],
      [301, 401],
      [3_600, 401],
      [10 * 365 * 86_400, 401],
    ]
    for (const [life, status] of lasting)
      assert.equal((await says(now, now + life)).status, status, `${life} s`)
    for (const [ahead, status] of [
      [60, 200],
      [61, 401],
      [86_400, 401],
    ] as const)
      assert.equal((await says(now + ahead, now + ahead + 300)).status, status, `${ahead} s ahead`)
  } finally {
    await harness.setStoreTime(null)
  }
})

test('a token with any bit flipped or any end cut off is refused', async () => {
  for (let at = 0; at < token.length; at++) {
    for (const bit of [1, 2]) {
      const flipped = String.fromCharCode(token.charCodeAt(at) ^ bit)
      const changed = token.slice(0, at) + flipped + token.slice(at + 1)
      const { status } = await session(changed)
      assert.equal(status, 401, `bit ${bit} of character ${at}`)
    }
  }
  for (let length = 0; length < token.length; length += 7) {
    const { status } = await session(token.slice(0, length) || 'x')
    assert.equal(status, 401, `the first ${length} characters`)
  }
  for (const changed of [
    `${token}.`,
    `${token}A`,
    `${token}=`,
    `.${token}`,
    `${token}.${signature}`,
    `${header}..${signature}`,
  ])
    await assertRefused(changed, changed.slice(-40))
})

test('a signature is accepted in one encoding only', async () => {
  // The last character of 64 bytes carries two bits; a lenient decoder ignores the other four.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(signature.at(-1) ?? '')
  for (let low = 1; low < 16; low++) await assertRefused(token.slice(0, -1) + alphabet[last ^ low], `${low}`)
  const standard = signature.replaceAll('-', '+').replaceAll('_', '/')
  if (standard !== signature) await assertRefused(`${header}.${payload}.${standard}`, 'base64')
  await assertRefused(`${header}.${payload}.${'A'.repeat(86)}`, 'zeros')
})

test('embed tokens work on embed routes only, and no other credential works there', async () => {
  for (const [method, path] of [
    ['GET', '/v1/workspace'],
    ['GET', '/v1/keys'],
    ['POST', '/v1/keys'],
    ['GET', '/v1/auth/me'],
    ['POST', '/v1/workspaces'],
    ['POST', '/v1/embed_tokens'],
    ['GET', `/v1/policy/snapshot?project_id=${vendor.projectId}`],
    ['POST', '/v1/ratelimit/check'],
    ['POST', '/v1/usage/reports'],
  ] as const) {
    const { status, body } = await ask(method, path, { token })
    assert.deepEqual([path, status, body.code], [path, 401, 'unauthenticated'])
  }
  const secret = await ask('GET', '/v1/embed/session', { token: vendor.live })
  assert.deepEqual([secret.status, secret.body.code], [403, 'credential_not_accepted'])
})
