import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { documentOf, makeCodehost } from '../../test/codehost.ts'
import type { Signature } from '../gate/signature.ts'
import { openCodehostKeys, type ReadKeys } from './codehost-keys.ts'
import { documentMax, readKeysFrom } from './read-keys.ts'

/** Published by the code host: a body, the key that signed it, and the signature. */
const vectors = [
  {
    keyId: 'bcb53661c06b4728e59d897fb6165d5c9cda0fd9cdf9d09ead458168deb7518c',
    body: '[{"source":"commit","token":"some_token","type":"some_type","url":"https://example.com/base-repo-url/"}]',
    value: 'MEQCIQDaMKqrGnE27S0kgMrEK0eYBmyG0LeZismAEz/BgZyt7AIfXt9fErtRS4XaeSt/AO1RtBY66YcAdjxji410VQV4xg==',
    spki: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYAGMWO8XgCamYKMJS6jc/qgvSlAdAjPuDPRcXU22YxgBrz+zoN19MzuRyW87qEt9/AmtoNP5GrobzUvQSyJFVw==',
  },
  {
    keyId: '90a421169f0a406205f1563a953312f0be898d3c7b6c06b681aa86a874555f4a',
    body: '[{"token":"some_token","type":"some_type","url":"some_url"}]',
    value: 'MEUCIQDKZokqnCjrRtw0tni+2Ltvl/uiMJ1EGumEsp1BsNr32AIgQY1YXD2nlj+XNfGK4rBfkMJ1JDOQcYXxa2sY8FNkrKc=',
    spki: 'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE9MJJHnMfn2+H4xL4YaPDA4RpJqUqkCmRCBnYERxZanmcpzQSXs1X/AljlKkbJ8qpVIW4clayyef9gWhFbNHWAA==',
  },
]
const listedVector = ({ keyId, spki }: (typeof vectors)[number], is_current = false) => ({
  listed: {
    key_identifier: keyId,
    key: createPublicKey({ key: Buffer.from(spki, 'base64'), format: 'der', type: 'spki' })
      .export({ type: 'spki', format: 'pem' })
      .toString(),
    is_current,
  },
})

/** A clock that the test moves, and a source that counts its reads. */
function scene(document: () => string | Promise<string>) {
  let time = 5_000
  const reads = { count: 0 }
  const read: ReadKeys = async () => {
    reads.count += 1
    return Buffer.from(await document())
  }
  return {
    keys: openCodehostKeys(read, { monotonic: () => time }),
    reads,
    pass: (ms: number) => (time += ms),
  }
}

const host = makeCodehost()
const other = makeCodehost()
const body = Buffer.from('[{"token":"some_token"}]')
const signed = (by = host, bytes = body): Signature => ({
  keyId: by.keyId,
  value: sign('sha256', bytes, by.privateKey),
})
const unavailable = { code: 'unavailable' }

test('the published vectors verify, and a body with one more byte does not', async () => {
  const { keys } = scene(() => documentOf(...vectors.map(vector => listedVector(vector))))
  for (const { keyId, body, value } of vectors) {
    const signature = { keyId, value: Buffer.from(value, 'base64') }
    assert.equal(await keys.haveSigned(Buffer.from(body), signature), true)
    assert.equal(await keys.haveSigned(Buffer.from(`${body} `), signature), false)
    assert.equal(await keys.haveSigned(Buffer.from(body.slice(1)), signature), false)
  }
})

const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const integer = (value: bigint) => {
  const hex = value.toString(16)
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
  const padded = (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes
  return Buffer.concat([Buffer.of(2, padded.length), padded])
}
const sequence = (...parts: Buffer[]) => {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.of(0x30, content.length), content])
}
function partsOf(der: Buffer): [bigint, bigint] {
  const length = der[3] ?? 0
  const read = (at: number, size: number) => BigInt(`0x${der.subarray(at, at + size).toString('hex')}`)
  return [read(4, length), read(6 + length, der[5 + length] ?? 0)]
}

test('other encodings, other numbers and other keys do not verify, and nothing throws', async () => {
  const { keys } = scene(() => documentOf(host, other))
  const { keyId, value } = signed()
  const [r, s] = partsOf(value)
  assert.equal(await keys.haveSigned(body, { keyId, value: sequence(integer(r), integer(s)) }), true)
  const refused: Record<string, Buffer> = {
    empty: Buffer.alloc(0),
    'one byte': Buffer.of(0x30),
    'nothing in the sequence': Buffer.of(0x30, 0),
    'no s': sequence(integer(r)),
    'a third number': sequence(integer(r), integer(s), integer(1n)),
    'a byte behind it': Buffer.concat([value, Buffer.of(0)]),
    'a byte less': value.subarray(0, -1),
    'the length in a long form': Buffer.concat([Buffer.of(0x30, 0x81), value.subarray(1)]),
    'a zero before r': sequence(Buffer.concat([Buffer.of(2, 34, 0, 0), Buffer.alloc(32, 1)]), integer(s)),
    'r is 0': sequence(integer(0n), integer(s)),
    's is 0': sequence(integer(r), integer(0n)),
    'both are 0': sequence(integer(0n), integer(0n)),
    'r is the order': sequence(integer(order), integer(s)),
    'r + n': sequence(integer(r + order), integer(s)),
    's + n': sequence(integer(r), integer(s + order)),
    'r + 1': sequence(integer(r + 1n), integer(s)),
    'n − r': sequence(integer(order - r), integer(s)),
    'r and s exchanged': sequence(integer(s), integer(r)),
    'r and s without DER': Buffer.from(
      r.toString(16).padStart(64, '0') + s.toString(16).padStart(64, '0'),
      'hex',
    ),
    noise: randomBytes(72),
    'of another key': signed(other).value,
  }
  for (const [what, bytes] of Object.entries(refused)) {
    assert.equal(await keys.haveSigned(body, { keyId, value: bytes }), false, what)
  }
  for (let bit = 0; bit < value.length * 8; bit++) {
    const flipped = Buffer.from(value)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    assert.equal(await keys.haveSigned(body, { keyId, value: flipped }), false, `bit ${bit}`)
  }
})

test('concurrent requests share one read of the keys, which are cached for an hour', async () => {
  const { keys, reads, pass } = scene(() => documentOf(host))
  assert.deepEqual(
    await Promise.all(Array.from({ length: 50 }, () => keys.haveSigned(body, signed()))),
    Array(50).fill(true),
  )
  assert.equal(reads.count, 1)
  pass(3_599_999)
  assert.equal(await keys.haveSigned(body, signed()), true)
  assert.equal(reads.count, 1)
  pass(1)
  assert.equal(await keys.haveSigned(body, signed()), true)
  assert.equal(reads.count, 2)
})

test('an unknown key causes one read a minute; until then the result is 503', async () => {
  const published = [host]
  const { keys, reads, pass } = scene(() => documentOf(...published))
  assert.equal(await keys.haveSigned(body, signed(other)), false)
  assert.equal(reads.count, 1)
  published.push(other)
  pass(59_999)
  await assert.rejects(keys.haveSigned(body, signed(other)), unavailable)
  assert.equal(await keys.haveSigned(body, signed()), true)
  assert.equal(reads.count, 1)
  pass(1)
  const answers = await Promise.all(Array.from({ length: 20 }, () => keys.haveSigned(body, signed(other))))
  assert.deepEqual(answers, Array(20).fill(true))
  assert.equal(reads.count, 2)
})

test('a failed read is retried every ten seconds, while known keys still verify', async () => {
  let document: () => string = () => {
    throw new Error('down')
  }
  const { keys, reads, pass } = scene(() => document())
  await assert.rejects(keys.haveSigned(body, signed()), unavailable)
  pass(9_999)
  await assert.rejects(keys.haveSigned(body, signed()), unavailable)
  assert.equal(reads.count, 1)
  pass(1)
  document = () => documentOf(host)
  assert.equal(await keys.haveSigned(body, signed()), true)
  assert.equal(reads.count, 2)

  document = () => {
    throw new Error('down again')
  }
  pass(60_000)
  await assert.rejects(keys.haveSigned(body, signed(other)), unavailable)
  assert.equal(await keys.haveSigned(body, signed()), true)
  pass(59_999)
  await assert.rejects(keys.haveSigned(body, signed(other)), unavailable)
  assert.equal(reads.count, 3)
})

test('an invalid document counts as a failed read; keys of other kinds are skipped', async () => {
  const pemOf = (type: 'ec' | 'ed25519' | 'rsa') => {
    const pair =
      type === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-384' })
        : type === 'rsa'
          ? generateKeyPairSync('rsa', { modulusLength: 1024 })
          : generateKeyPairSync('ed25519')
    return pair.publicKey.export({ type: 'spki', format: 'pem' })
  }
  const others = [
    ...(['ec', 'ed25519', 'rsa'] as const).map(type => ({ key_identifier: type, key: pemOf(type) })),
    { key_identifier: 'private', key: other.privateKey.export({ type: 'pkcs8', format: 'pem' }) },
    { key_identifier: 'no pem', key: '-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n' },
    { key_identifier: 'no text', key: 5 },
    { key_identifier: 5, key: other.listed.key },
    {},
    null,
    'x',
  ]
  for (const document of [
    '',
    '{',
    'null',
    '[]',
    '{}',
    '{"public_keys":{}}',
    '{"public_keys":[]}',
    JSON.stringify({ public_keys: others }),
    JSON.stringify({ public_keys: Array(101).fill(host.listed) }),
  ]) {
    await assert.rejects(
      scene(() => document).keys.haveSigned(body, signed()),
      unavailable,
      document.slice(0, 80),
    )
  }
  const { keys } = scene(() => JSON.stringify({ public_keys: [...others, host.listed], more: 1 }))
  assert.equal(await keys.haveSigned(body, { ...signed(other), keyId: 'private' }), false)
  assert.equal(await keys.haveSigned(body, signed()), true)
})

/** Serves a document. @returns its URL. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise(resolve => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
}

test('the HTTP read follows no redirect and refuses an oversized document', async () => {
  const document = documentOf(host)
  const readFrom = async (answer: RequestListener) =>
    await readKeysFrom({ codehostKeysFile: null, codehostKeysUrl: await serve(answer) })()
  const read = await readFrom((request, response) => {
    assert.equal(request.headers['user-agent'], 'keyrail')
    response.end(document)
  })
  assert.equal(Buffer.from(read).toString(), document)
  await assert.rejects(readFrom((_, response) => response.writeHead(302, { location: '/keys' }).end()))
  await assert.rejects(
    readFrom((_, response) => response.writeHead(403).end(document)),
    /responded with 403/,
  )
  await assert.rejects(
    readFrom((_, response) => response.end(Buffer.alloc(documentMax + 1, ' '))),
    /too large/,
  )
  await assert.rejects(readFrom((_, response) => void response.destroy()))
  const closed = { codehostKeysFile: null, codehostKeysUrl: 'http://127.0.0.1:9/keys' }
  await assert.rejects(readKeysFrom(closed)())
})
