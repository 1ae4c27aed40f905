import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FleetPage } from './fleet-page.ts'

/** Feeds a body to the page for a node, in pieces of these sizes, one piece at each turn. */
function* walk(page: FleetPage, body: Buffer, sizes: readonly number[]): Generator<undefined> {
  let offset = 0
  for (let n = 0; offset < body.length; n++) {
    const piece = body.subarray(offset, offset + (sizes[n % sizes.length] ?? 1))
    page.take(piece, offset)
    offset += piece.length
    yield
  }
  page.end(body.length)
}

function takeTurns(walks: Generator<undefined>[]): void {
  for (let left = walks; left.length > 0; ) left = left.filter(one => one.next().done !== true)
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 })
const body = fc.uint8Array({ minLength: 1, maxLength: 200 }).map(bytes => Buffer.from(bytes))

test('a page that all nodes received alike matches, whichever node is ahead', () => {
  fc.assert(
    fc.property(body, fc.array(sizes, { minLength: 1, maxLength: 4 }), (bytes, nodes) => {
      const page = new FleetPage()
      takeTurns(nodes.map(own => walk(page, bytes, own)))
      assert.ok(page.isOne)
      assert.equal(page.text(), bytes.toString())
    }),
  )
})

test('one different or missing byte at another node is found', () => {
  fc.assert(
    fc.property(body, sizes, sizes, fc.nat(), (bytes, one, other, place) => {
      const changed = Buffer.from(bytes)
      changed[place % bytes.length] = (changed[place % bytes.length] ?? 0) ^ 1
      for (const second of [changed, bytes.subarray(0, -1)]) {
        const page = new FleetPage()
        takeTurns([walk(page, bytes, one), walk(page, second, other)])
        assert.equal(page.isOne, false)
      }
    }),
  )
})

test('bytes at the end that each answer has for itself may differ, and no others', () => {
  const pageOf = (...bodies: string[]) => {
    const page = new FleetPage(4)
    takeTurns(bodies.map(text => walk(page, Buffer.from(text), [3])))
    return page
  }
  assert.equal(pageOf('keys 0001', 'keys 0002').isOne, true)
  assert.equal(pageOf('keys 0001', 'keyz 0002').isOne, false)
  assert.equal(pageOf('keys 0001', 'keys 00002').isOne, false)
})

test('the cursor is read from the part before the keys', () => {
  const page = new FleetPage()
  takeTurns([walk(page, Buffer.from('{"version":1,"next_cursor":"abc","keys":[]}'), [7])])
  assert.equal(page.nextCursor(), 'abc')
  const last = new FleetPage()
  takeTurns([walk(last, Buffer.from('{"version":1,"next_cursor":null,"keys":[]}'), [7])])
  assert.equal(last.nextCursor(), null)
})
