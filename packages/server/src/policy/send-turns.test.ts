import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextPass } from 'node:timers/promises'
import { createSendTurns } from './service.ts'

const large = 64 * 1_024

test('one large answer is sent in each pass of the event loop, the workspaces in turn', async () => {
  const take = createSendTurns()
  const sent: string[] = []
  const send = (workspaceId: string) => void take(workspaceId, large).then(() => sent.push(workspaceId))
  for (let number = 0; number < 4; number++) send('busy')
  send('other')
  const passes: number[] = []
  while (sent.length < 5) {
    await nextPass()
    passes.push(sent.length)
  }
  assert.deepEqual(passes, [1, 2, 3, 4, 5])
  assert.ok(sent.indexOf('other') <= 2, sent.join(' '))
})

test('small answers wait for no turn', async () => {
  const take = createSendTurns()
  const sent: number[] = []
  const all = Array.from({ length: 50 }, (_, i) => take('busy', large - 1).then(() => sent.push(i)))
  await Promise.resolve()
  await Promise.resolve()
  assert.equal(sent.length, 50)
  await Promise.all(all)
})
