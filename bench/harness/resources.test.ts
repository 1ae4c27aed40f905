import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Resources } from './resources.ts'

test('resources are closed last first, each even if another fails, and once', async () => {
  const resources = new Resources()
  const closed: string[] = []
  for (const name of ['a', 'b', 'c']) {
    await resources.use({
      close: async () => {
        closed.push(name)
        if (name === 'b') throw new Error('b is stuck')
      },
    })
  }
  await assert.rejects(resources.close(), (error: AggregateError) => error.errors.length === 1)
  await resources.close()
  assert.deepEqual(closed, ['c', 'b', 'a'])
})

test('a resource that starts after the end is closed at once', async () => {
  const resources = new Resources()
  const starting = Promise.withResolvers<{ close(): void }>()
  const used = resources.use(starting.promise)
  await resources.close()
  let closed = 0
  starting.resolve({ close: () => void closed++ })
  await assert.rejects(used, /the run is over/)
  assert.equal(closed, 1)
})
