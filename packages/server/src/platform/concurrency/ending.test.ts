import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Ending } from './ending.ts'

const never = new Promise<never>(() => {})
const broken = new Error('broken')

test('work has its own result until the end, and then the error of the end', async () => {
  const ending = new Ending()
  assert.equal(await ending.during(Promise.resolve(1)), 1)
  await assert.rejects(ending.during(Promise.reject(new Error('own'))), /own/)
  const two = [ending.during(never), ending.during(never)]
  ending.fail(broken)
  ending.fail(new Error('later'))
  for (const work of [...two, ending.during(never)]) await assert.rejects(work, broken)
})

test('work that fails after the end is no unhandled rejection', async () => {
  const ending = new Ending()
  const work = Promise.withResolvers<never>()
  const bounded = ending.during(work.promise)
  ending.fail(broken)
  await assert.rejects(bounded, broken)
  work.reject(new Error('late'))
  await turn()
})

test('a result is not kept until the end', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const ending = new Ending()
  const results = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const result = await ending.during(Promise.resolve({ rows: [] }))
      return new WeakRef(result)
    }),
  )
  await turn()
  collect()
  assert.equal(results.filter(result => result.deref() !== undefined).length, 0)
  assert.equal(await ending.during(Promise.resolve(1)), 1)
})
