import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { startHarness } from '../../test/harness.ts'
import { type ChainRow, ChainVerifier, canonicalRow, genesisHash, nextHash } from './chain.ts'

const harness = await startHarness()

const name = fc.stringMatching(/^[a-z_]{1,20}$/)
const row: fc.Arbitrary<ChainRow> = fc.record({
  seq: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  workspaceId: fc.uuid(),
  action: fc.tuple(name, name).map(parts => parts.join('.')),
  actorType: name,
  actorId: fc.option(fc.stringMatching(/^[A-Za-z0-9._:-]{1,128}$/)),
  targetType: name,
  targetId: fc.uuid(),
  env: fc.option(fc.constantFrom('live', 'test')),
  createdAt: fc
    .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
    .map(date => date.toISOString()),
  payload: fc
    .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ stringUnit: 'grapheme' }))
    .map(payload => JSON.parse(JSON.stringify(payload).replaceAll('\\u0000', '')))
    .map(payload => canonicalize(payload) ?? '{}'),
})

test('the hash of a row covers its RFC 8785 form', () => {
  fc.assert(
    fc.property(row, row => {
      const { workspaceId, actorType, actorId, targetType, targetId, createdAt, payload, ...same } = row
      const object = {
        ...same,
        workspace_id: workspaceId,
        actor_type: actorType,
        actor_id: actorId,
        target_type: targetType,
        target_id: targetId,
        created_at: createdAt,
        payload: JSON.parse(payload),
      }
      assert.equal(canonicalRow(row), canonicalize(object))
    }),
  )
})

test('Postgres and the verifier derive the same bytes for every row', async () => {
  await fc.assert(
    fc.asyncProperty(row, async row => {
      const [{ canonical }] = await harness.query(
        'select audit_canonical($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as canonical',
        [
          row.workspaceId,
          row.seq,
          row.action,
          row.actorType,
          row.actorId,
          row.targetType,
          row.targetId,
          row.env,
          row.createdAt,
          row.payload,
        ],
      )
      assert.equal(canonical, canonicalRow(row))
    }),
  )
})

test('the first hash covers the domain and the workspace, every other the hash before it', () => {
  const id = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
  assert.equal(genesisHash(id).toString('hex'), hash('sha256', `keyrail-audit-v1\n${id}`))
  const bytes = Buffer.concat([Buffer.from('keyrail-audit-v1\n'), genesisHash(id), Buffer.from('{}')])
  assert.equal(nextHash(genesisHash(id), '{}').toString('hex'), hash('sha256', bytes))
})

const toLink = ({ seq, text, prev, hash }: { seq: number; text: string; prev: Buffer; hash: Buffer }) => ({
  seq,
  canonical: Buffer.from(text).toString('latin1'),
  prevHash: prev.toString('latin1'),
  hash: hash.toString('latin1'),
})

test('any chain verifies, and any one change of it is found at its first position', () => {
  const chain = fc.array(fc.string(), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(
      chain,
      fc.nat(),
      fc.constantFrom('content', 'hash', 'prev', 'drop', 'cut', 'swap', 'none'),
      (texts, at, how) => {
        const id = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
        let previous = genesisHash(id)
        const rows = texts.map((text, i) => {
          const own = { seq: i + 1, text, prev: previous, hash: nextHash(previous, text) }
          previous = own.hash
          return own
        })
        const head = { seq: rows.length, hash: previous }
        const index = at % rows.length
        const other = rows[(index + 1) % rows.length]
        const victim = rows[index]
        assert.ok(victim && other)
        let expected: number | null = index + 1
        let reason: string | null = 'hash_mismatch'
        if (how === 'content') victim.text += '!'
        if (how === 'hash') victim.hash = genesisHash('x')
        if (how === 'prev') victim.prev = genesisHash('x')
        if (how === 'drop') {
          rows.splice(index, 1)
          reason = index === rows.length ? 'head_mismatch' : 'gap'
        }
        if (how === 'cut') {
          rows.length = index
          reason = 'head_mismatch'
        }
        if (how === 'swap' && rows.length > 1 && victim.text !== other.text) {
          ;[victim.text, other.text] = [other.text, victim.text]
          expected = Math.min(victim.seq, other.seq)
        } else if (how === 'swap' || how === 'none') [expected, reason] = [null, null]

        const verifier = new ChainVerifier(id)
        for (const row of rows) if (!verifier.take(toLink(row))) break
        const { fault } = verifier.end(head)
        assert.deepEqual([fault?.seq ?? null, fault?.reason ?? null], [expected, reason])
      },
    ),
  )
})

test('a head that differs from the last row, and a missing head, are found', () => {
  const id = '01930c3e-8f5a-7c31-9b0e-2f1a6f0c9d11'
  const first = nextHash(genesisHash(id), 'a')
  const second = nextHash(first, 'b')
  const verify = (head: { seq: number; hash: Buffer } | null) => {
    const verifier = new ChainVerifier(id)
    verifier.take(toLink({ seq: 1, text: 'a', prev: genesisHash(id), hash: first }))
    verifier.take(toLink({ seq: 2, text: 'b', prev: first, hash: second }))
    return verifier.end(head).fault
  }
  assert.equal(verify({ seq: 2, hash: second }), null)
  assert.deepEqual(verify({ seq: 1, hash: first }), { seq: 2, reason: 'head_mismatch' })
  assert.deepEqual(verify({ seq: 3, hash: second }), { seq: 3, reason: 'head_mismatch' })
  assert.deepEqual(verify({ seq: 2, hash: first }), { seq: 2, reason: 'head_mismatch' })
  assert.deepEqual(verify(null), { seq: 3, reason: 'head_mismatch' })
})
