import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TurnTree } from './turn-tree.ts'

/** Adds callers named after their path, such as `a/b`, each with a number. */
function fill(tree: TurnTree<string>, ...paths: string[]): (string | null)[] {
  const counts = new Map<string, number>()
  return paths.map(path => {
    const nth = (counts.get(path) ?? 0) + 1
    counts.set(path, nth)
    return tree.add(path === '' ? [] : path.split('/'), `${path}${nth}`)
  })
}
const serveAll = (tree: TurnTree<string>): string[] => {
  const served: string[] = []
  for (let next = tree.next(); next !== undefined; next = tree.next()) served.push(next)
  return served
}
const times = (count: number, path: string): string[] => Array.from({ length: count }, () => path)

test('names take turns, and in each name those below it', () => {
  const tree = new TurnTree<string>(100)
  fill(tree, 'a', 'a', 'a', 'b', 'c/x', 'c/x', 'c/y', '')
  assert.deepEqual(serveAll(tree), ['a1', 'b1', 'c/x1', '1', 'a2', 'c/y1', 'a3', 'c/x2'])
  assert.equal(tree.size, 0)
})

test('a maker never waits behind what its descendants send, at any depth', () => {
  const tree = new TurnTree<string>(10_000)
  const flood = Array.from({ length: 50 }, (_, i) => times(20, `p/k/stolen/made${i}-`)).flat()
  fill(tree, ...flood, ...times(100, 'p/k/stolen'), 'p/k', 'p', 'q')
  const served = serveAll(tree)
  for (const [who, atMost] of [
    ['q1', 2],
    ['p1', 4],
    ['p/k1', 8],
  ] as const)
    assert.ok(served.indexOf(who) < atMost, `${who} came ${served.indexOf(who)}.`)
})

test('where too many wait, the newest of the largest name has to go', () => {
  const tree = new TurnTree<string>(6)
  assert.deepEqual(
    fill(tree, 'a', 'a', 'a/x', 'a/x', 'b', 'c'),
    times(6, '').map(() => null),
  )
  assert.equal(tree.add(['d'], 'd'), 'a2')
  assert.equal(tree.add(['a'], 'a again'), 'a again')
  assert.equal(tree.add(['a', 'y'], 'y'), 'a/x2')
  assert.equal(tree.size, 6)
})

test('a name has a separate bound at each level, and its own largest name has to go', () => {
  const tree = new TurnTree<string>(100, 4)
  assert.deepEqual(fill(tree, 'a/x', 'a/x', 'a/x', 'a/x', 'b').at(-1), null)
  assert.equal(tree.add(['a', 'x'], 'more'), 'more')
  assert.equal(tree.add(['a', 'y'], 'y'), 'a/x4')
  assert.equal(tree.add(['a'], 'maker'), 'a/x3')
  assert.deepEqual(
    times(50, '').map((_, i) => tree.add([], i as never)),
    times(50, '').map(() => null),
    'callers without a name have the bound of all',
  )
})

const path = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 })
const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.record({ add: path }) },
    { weight: 3, arbitrary: fc.constant({ next: true as const }) },
    { weight: 1, arbitrary: fc.record({ remove: fc.nat() }) },
  ),
  { maxLength: 120, size: 'max' },
)

test('over any history each is served once or dropped, within a name in order of arrival', () => {
  fc.assert(
    fc.property(
      steps,
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 8 }),
      (taken, most, mostOfName) => {
        const tree = new TurnTree<{ path: string; nth: number }>(most, mostOfName)
        const waiting = new Set<{ path: string; nth: number }>()
        let nth = 0
        const served = (one: { path: string; nth: number } | undefined) => {
          assert.equal(one === undefined, waiting.size === 0)
          if (one === undefined) return
          assert.ok(waiting.delete(one))
          for (const other of waiting) assert.ok(other.path !== one.path || other.nth > one.nth)
        }
        for (const step of taken) {
          if ('add' in step) {
            const caller = { path: step.add.join('/'), nth: nth++ }
            waiting.add(caller)
            const dropped = tree.add(step.add, caller)
            if (dropped !== null) assert.ok(waiting.delete(dropped))
          } else if ('next' in step) served(tree.next())
          else {
            const one = [...waiting][step.remove % Math.max(1, waiting.size)]
            if (one !== undefined) {
              waiting.delete(one)
              assert.equal(tree.remove(one), true)
              assert.equal(tree.remove(one), false)
            }
          }
          assert.equal(tree.size, waiting.size)
          assert.ok(waiting.size <= most)
        }
        while (waiting.size > 0) served(tree.next())
        assert.equal(tree.next(), undefined)
      },
    ),
  )
})
