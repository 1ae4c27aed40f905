import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Base } from './base.ts'
import { openRooms } from './hall.ts'

test('where a room cannot open, those before it are closed, the last one first', async () => {
  const closed: string[] = []
  const roomOf = (name: string) => ({
    open: () => ({ [name]: name }),
    close: async (open: object) => void closed.push(`${name} of ${Object.keys(open).join(', ')}`),
  })
  const failure = new Error('this server is no Redis')
  const broken = { ...roomOf('broken'), open: () => Promise.reject(failure) }
  const rooms = [roomOf('first'), roomOf('second'), broken, roomOf('never')]
  await assert.rejects(openRooms({} as Base, rooms), failure)
  assert.deepEqual(closed, ['second of first, second', 'first of first, second'])
})
