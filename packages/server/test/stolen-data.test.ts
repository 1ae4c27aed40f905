import assert from 'node:assert/strict'
import { createECDH, createPrivateKey, createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { checkpointKeyOf, readVerifierKey } from '../src/audit/checkpoint.ts'
import { openSealing } from '../src/platform/crypto/sealing.ts'
import { backup } from '../src/platform/db/dump/backup.ts'
import { placeOf, serviceSecrets, signingKeys } from '../src/platform/db/sealed/columns.ts'
import { dump } from './dump.ts'
import { mintToken } from './embed.ts'
import { encryptionKeys } from './encryption-key.ts'
import { startHarness } from './harness.ts'
import { makeVendor } from './vendor.ts'

/** A thief has a copy of the database, or a backup, and looks for anything that signs what the service trusts. */
const harness = await startHarness()
const { ask, query } = harness
const vendor = await makeVendor(harness)
await mintToken(harness, vendor)
assert.equal((await ask('GET', '/v1/audit_logs/chain', { token: vendor.live })).body.valid, true)

const jwks = (await ask('GET', '/.well-known/jwks.json')).body.keys
const verifier = readVerifierKey(
  (await ask('GET', '/.well-known/audit-checkpoint-key')).body.verifier_keys[0],
)
assert.ok(verifier && jwks.length > 0)
const sealing = openSealing(encryptionKeys, randomBytes)
const secretOf = async (name: string) => {
  const [row] = await query('select sealed from service_secrets where name = $1', [name])
  return sealing.open(placeOf(serviceSecrets, name), row.sealed)
}
const [cursor, seed] = [await secretOf('cursor'), await secretOf('audit_checkpoint')]

/** Every part of a text that may be bytes: as Postgres and JSON write them, or in base64 or hexadecimal. */
function bytesIn(text: string): Buffer[] {
  const found = [...text.matchAll(/[0-9a-f]{64,}/gi)].map(([run]) => Buffer.from(run, 'hex'))
  for (const [run] of text.matchAll(/[A-Za-z0-9+/_-]{43,}/g)) found.push(Buffer.from(run, 'base64'))
  return found
}

/** The signing secrets in a text. */
function findSigners(text: string): string[] {
  const found = new Set<string>()
  for (const [pem] of text.matchAll(/-----BEGIN [A-Z ]*PRIVATE KEY-----/g)) found.add(`PEM ${pem}`)
  for (const [jwk] of text.matchAll(/"d"\s*:\s*"[\w-]{43}"/g)) found.add(`JWK ${jwk}`)
  for (const bytes of bytesIn(text)) {
    if (bytes.includes(cursor)) found.add('the secret of cursors')
    for (let at = 0; at < bytes.length; at++) {
      if (isPrivateKey(bytes.subarray(at))) found.add('a private key in DER')
      const window = bytes.subarray(at, at + 32)
      if (window.length < 32) continue
      if (signsTokens(window)) found.add('a key of embed tokens')
      if (checkpointKeyOf('', window).publicKey.every((byte, i) => byte === verifier?.publicKey[i])) {
        found.add('the key of checkpoints')
      }
    }
  }
  return [...found].toSorted()
}

function isPrivateKey(der: Buffer): boolean {
  // Both forms begin with a sequence that starts with a version.
  if (der[0] !== 0x30 || !der.subarray(0, 8).includes(0x02)) return false
  return (['pkcs8', 'sec1'] as const).some(type => parse(der, type) !== null)
}

function parse(key: Buffer, type: 'pkcs8' | 'sec1'): KeyObject | null {
  try {
    return createPrivateKey({ key, format: 'der', type })
  } catch {
    return null
  }
}

function signsTokens(scalar: Buffer): boolean {
  const curve = createECDH('prime256v1')
  try {
    curve.setPrivateKey(scalar)
  } catch {
    return false
  }
  const x = curve.getPublicKey().subarray(1, 33).toString('base64url')
  return jwks.some((key: { x: string }) => key.x === x)
}

async function backupText(): Promise<string> {
  const out = new PassThrough()
  const [packed] = await Promise.all([buffer(out), backup(harness.connection, out).then(() => out.end())])
  return gunzipSync(packed).toString()
}

test('a copy of the database cannot mint tokens, sign checkpoints or make cursors', async () => {
  const text = JSON.stringify(await dump(query))
  assert.ok(text.includes('signing_keys') && text.includes('sealed'))
  assert.deepEqual(findSigners(text), [])
})

test('neither can a backup', async () => {
  const text = await backupText()
  assert.ok(text.includes('service_secrets'))
  assert.deepEqual(findSigners(text), [])
})

test('the search finds secrets of the previous release, and a backup leaves them out', async () => {
  const [{ kid, sealed }] = await query('select kid, sealed from signing_keys')
  const key = sealing.open(placeOf(signingKeys, kid), sealed)
  assert.equal(
    createPublicKey(createPrivateKey({ key, format: 'der', type: 'pkcs8' })).asymmetricKeyType,
    'ec',
  )
  await query('update signing_keys set private_key = $1', [key])
  await query(`update service_secrets set secret = $1 where name = 'cursor'`, [cursor])
  await query(`update service_secrets set secret = $1 where name = 'audit_checkpoint'`, [seed])
  try {
    assert.deepEqual(findSigners(JSON.stringify(await dump(query))), [
      'a key of embed tokens',
      'a private key in DER',
      'the key of checkpoints',
      'the secret of cursors',
    ])
    assert.deepEqual(findSigners(await backupText()), [])
  } finally {
    await query('update signing_keys set private_key = null')
    await query('update service_secrets set secret = null')
  }
})
