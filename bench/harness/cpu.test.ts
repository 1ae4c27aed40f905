import assert from 'node:assert/strict'
import { test } from 'node:test'
import { meterCpu } from './cpu.ts'

test('the CPU time of work is divided by what was done, together and for each user', async () => {
  const used = { service: 5, Postgres: 1 }
  const user = (name: keyof typeof used) => ({ cpuSeconds: () => used[name] })
  const { result, values } = await meterCpu(
    { service: user('service'), Postgres: user('Postgres') },
    ['request', 'requests'],
    async () => {
      used.service += 3
      used.Postgres += 1
      return { answered: 2_000 }
    },
    ({ answered }) => answered,
  )
  assert.deepEqual(result, { answered: 2_000 })
  assert.deepEqual(values, {
    'requests/CPU s': 500,
    'CPU us a request': 2_000,
    'CPU us a request, service': 1_500,
    'CPU us a request, Postgres': 500,
  })
})
