import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { id } from '../../test/keys.ts'
import { accepted, contentOf, decode, facts, filled, key, scope } from '../../test/saved-stores.ts'
import type { Scope } from '../feed/record.ts'
import { digestOf } from '../runtime/digest.ts'
import { Store } from '../store/store.ts'
import { assemble, encodeSnapshot } from './snapshot-file.ts'

test('a store reads back as it was written, after any changes', () => {
  const ids = fc.oneof(
    fc.nat(40).map(id),
    fc.constantFrom('odd', 'ODD', id(1).toUpperCase(), '', 'ключ', id(7).slice(1)),
  )
  const change = fc.record({ keyId: ids, number: fc.nat(40), add: fc.boolean() })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 80 }), fc.integer({ min: 1, max: 30 }), (changes, maxKeys) => {
      const store = new Store(maxKeys)
      for (const { keyId, number, add } of changes) {
        if (add) store.upsert(key(number, { keyId }))
        else store.remove(keyId, digestOf(`key ${number}`))
      }
      const loaded = accepted(encodeSnapshot(store, scope, facts))
      loaded.store.maxKeys = maxKeys
      assert.deepEqual(contentOf(loaded.store), contentOf(store))
      assert.equal(loaded.store.evictions, store.evictions)
      assert.equal(loaded.isWhole, store.evictions === 0)
      for (let number = 0; number <= 40; number++) {
        const digest = digestOf(`key ${number}`)
        const [one, other] = [store.find(digest), loaded.store.find(digest)]
        assert.equal(one === -1, other === -1)
        if (one !== -1) assert.equal(loaded.store.records.keyId(other), store.records.keyId(one))
      }
      // Further changes have the same effect on both.
      for (const { keyId, number } of changes.slice(0, 10)) {
        for (const each of [store, loaded.store]) each.remove(keyId, digestOf(`key ${number}`))
        for (const each of [store, loaded.store]) if (number % 2) each.upsert(key(number, { keyId }))
      }
      assert.deepEqual(
        contentOf(loaded.store).map(([keyId]) => keyId),
        contentOf(store).map(([keyId]) => keyId),
      )
    }),
  )
})

test('a file says whether a project takes keys from elsewhere, if its writer knew', () => {
  const store = filled(3)
  const headerOf = (file: Uint8Array) => Buffer.from(file).toString('latin1')
  const asking = { ...scope, features: ['imported'] }
  const plain = encodeSnapshot(store, asking, { ...facts, features: ['imported'] })
  assert.equal(accepted(plain, asking).store.acceptsImported, false)
  for (const unsaid of [
    encodeSnapshot(store, scope, facts),
    encodeSnapshot(store, asking, facts),
    encodeSnapshot(store, asking, { ...facts, features: ['lifetime'] }),
  ])
    assert.equal(accepted(unsaid, asking).store.acceptsImported, undefined)
  assert.ok(!headerOf(plain).includes('accepts_imported'))
  const { revision } = store
  store.setAcceptsImported(true)
  assert.ok(store.revision > revision)
  const taking = encodeSnapshot(store, scope, facts)
  assert.equal(accepted(taking).store.acceptsImported, true)
  assert.ok(headerOf(taking).includes('"accepts_imported":true'))
})

test('the facts beside the keys read back as they were written', () => {
  const { store: _, ...rest } = accepted(encodeSnapshot(filled(3), scope, facts))
  assert.deepEqual(rest, { ...facts, isWhole: true, features: [] })
  const unknown = encodeSnapshot(filled(3), scope, { ...facts, confirmedService: undefined })
  assert.equal(accepted(unknown).confirmedService, undefined)
})

test('a file cut off after any byte is refused', () => {
  const bytes = encodeSnapshot(filled(5), scope, facts)
  for (let length = 0; length < bytes.length; length++) {
    assert.ok('refused' in decode(bytes.subarray(0, length)), `${length} of ${bytes.length} bytes`)
  }
  assert.ok('refused' in decode(Buffer.concat([bytes, Buffer.alloc(1)])), 'an extra byte')
})

test('a file with any one bit flipped is refused', () => {
  const bytes = encodeSnapshot(filled(3), scope, facts)
  for (let at = 0; at < bytes.length; at++) {
    for (let bit = 1; bit < 256; bit <<= 1) {
      bytes[at] = (bytes[at] as number) ^ bit
      assert.ok('refused' in decode(bytes), `bit ${bit} of byte ${at}`)
      bytes[at] = (bytes[at] as number) ^ bit
    }
  }
  accepted(bytes)
})

test('a file of another service is refused; one without an address is accepted', () => {
  const [here, there] = ['https://keys.example.com/', 'https://keys.example.net/']
  const bytes = encodeSnapshot(filled(3), { ...scope, service: here }, facts)
  const elsewhere = decode(bytes, { ...scope, service: there })
  assert.equal('refused' in elsewhere && elsewhere.refused, 'foreign')
  accepted(bytes, { ...scope, service: here })
  accepted(encodeSnapshot(filled(3), scope, facts), { ...scope, service: here })
})

test('a file of another project or environment is refused; other tenants are a scope mismatch', () => {
  const bytes = encodeSnapshot(filled(3), scope, facts)
  const narrowed: Scope = { ...scope, tenantIds: [id(0xa000), id(0xa001)] }
  const narrowBytes = encodeSnapshot(filled(3), narrowed, facts)
  const cases: [Uint8Array, Scope, string][] = [
    [bytes, { ...scope, projectId: id(1) }, 'foreign'],
    [bytes, { ...scope, env: 'test' }, 'foreign'],
    [bytes, { ...scope, env: 'both' }, 'foreign'],
    [bytes, narrowed, 'scope'],
    [narrowBytes, scope, 'scope'],
    [narrowBytes, { ...scope, tenantIds: [id(0xa000)] }, 'scope'],
  ]
  for (const [file, reader, refused] of cases) {
    const loaded = decode(file, reader)
    assert.equal('refused' in loaded && loaded.refused, refused)
  }
  assert.equal(accepted(narrowBytes, narrowed).isWhole, true)
})

test('a file with more keys than the reader may hold is refused', () => {
  const loaded = decode(encodeSnapshot(filled(5), scope, facts), scope, 4)
  assert.equal('refused' in loaded && loaded.refused, 'scope')
})

/** The header of a file, and the same file with another header and a right checksum. */
function headerOf(bytes: Buffer) {
  const length = bytes.readInt32LE(24)
  return JSON.parse(bytes.toString('utf8', 28, 28 + length))
}
const withHeader = (more: Record<string, unknown>) => {
  const store = filled(3)
  const header = { ...headerOf(encodeSnapshot(store, scope, facts)), ...more }
  return assemble(header, (words, ids) => store.records.dump(words, ids))
}

test('the header has only the fields of the specification and of loading, and no secret', () => {
  const header = headerOf(encodeSnapshot(filled(3), scope, facts))
  assert.deepEqual(
    { ...header, tenants: 0, scopes: 0, rate_limits: 0 },
    {
      workspace_id: id(0xd000),
      project_id: id(0xc000),
      env: 'live',
      version: 7,
      fetched_at: facts.confirmedWall,
      fetched_uptime_ms: facts.confirmedUptime,
      service_at: facts.confirmedService,
      complete: true,
      scope: { tenant_ids: [] },
      evictions: 0,
      uses: 3,
      records: 3,
      other_ids: [],
      tenants: 0,
      scopes: 0,
      rate_limits: 0,
    },
  )
})

test('a file without a scope is loaded for a whole project, but not as complete', () => {
  const bytes = withHeader({ scope: undefined, complete: true })
  const loaded = accepted(bytes)
  assert.deepEqual([loaded.store.size, loaded.isWhole], [3, false])
  const narrowed = decode(bytes, { ...scope, tenantIds: [id(0xa000)] })
  assert.equal('refused' in narrowed && narrowed.refused, 'scope')
})

test('a file with unknown header fields is loaded', () => {
  assert.equal(accepted(withHeader({ colour: 'red' })).store.size, 3)
})

test('a file with a right checksum and wrong contents is refused without a crash', () => {
  const wrong: Record<string, unknown>[] = [
    { workspace_id: 7 },
    { project_id: undefined },
    { env: 'prod' },
    { version: -1 },
    { version: '7' },
    { fetched_at: null },
    { fetched_at: 'now' },
    { service_at: 'now' },
    { complete: 'yes' },
    { scope: null },
    { scope: {} },
    { scope: { tenant_ids: [7] } },
    { evictions: 0.5 },
    { uses: undefined },
    { other_ids: {} },
    { other_ids: [[9, 'x']] },
    { other_ids: [[0]] },
    { tenants: [] },
    { tenants: [null] },
    { scopes: [] },
    { scopes: ['read'] },
    { scopes: [[1]] },
    { rate_limits: [] },
    { rate_limits: [[], ['x']] },
    { suspended: 'all' },
    { suspended: [7] },
    { suspended: null },
    { features: { asked: [], known: ['suspended'] } },
    { features: { asked: [], known: ['cidr'] } },
    ...[
      null,
      [],
      {},
      { lists: [], keys: [] },
      { lists: [['192.0.2.1']], keys: [], tenants: [] },
      { lists: [['x']], keys: [], tenants: [] },
      { lists: [null], keys: [], tenants: [] },
      { lists: [[], []], keys: [], tenants: [] },
      { lists: [[]], keys: [[0, 1]], tenants: [] },
      { lists: [[]], keys: [[9, 0]], tenants: [] },
      { lists: [[]], keys: [[-1, 0]], tenants: [] },
      { lists: [[]], keys: [[0, null]], tenants: [] },
      { lists: [[]], keys: [7], tenants: [] },
      { lists: [[]], keys: [], tenants: [['x', 0]] },
      { lists: [['::/0']], keys: [], tenants: [['x', 1]] },
      { lists: [['::/0']], keys: [], tenants: [[7, 0]] },
      { lists: [['::/0']], keys: [], tenants: [null] },
    ].map(allowed_cidrs => ({ allowed_cidrs })),
  ]
  for (const more of wrong) assert.ok('refused' in decode(withHeader(more)), JSON.stringify(more))
  const sealed = (bytes: Buffer) =>
    Buffer.concat([bytes.subarray(0, -32), createHash('sha256').update(bytes.subarray(0, -32)).digest()])
  const bytes = encodeSnapshot(filled(3), scope, facts)
  for (const [at, value] of [
    [20, 0x0d0c0b0a],
    [24, -1],
    [24, 1 << 30],
    [24, 3],
  ] as const) {
    const odd = Buffer.from(bytes)
    odd.writeInt32LE(value, at)
    assert.ok('refused' in decode(sealed(odd)), `${value} at ${at}`)
  }
  // The environment and limits of the last record, its tenant and its scopes.
  const records = bytes.length - 32 - 3 * 16 - 64
  for (const [word, value] of [
    [14, 0],
    [14, 3],
    [14, 1 | (99 << 2)],
    [12, 99],
    [13, -1],
  ] as const) {
    const odd = Buffer.from(bytes)
    odd.writeInt32LE(value, records + word * 4)
    assert.ok('refused' in decode(sealed(odd)), `${value} in word ${word}`)
  }
})
