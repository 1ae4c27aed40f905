import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deadline } from '../platform/concurrency/deadline.ts'
import { Refusal } from '../platform/refusal.ts'
import { createPages } from './pages.ts'

const isUnavailable = (error: unknown) => error instanceof Refusal && error.code === 'unavailable'
const page = { bytes: 1, isLasting: true }
const hour = () => new Deadline(3_600_000)

test('the caller that began a page is refused at its own deadline, and later ones get the page', async () => {
  const pages = createPages<typeof page>()
  const built = Promise.withResolvers<typeof page>()
  const first = pages.share('a', new Deadline(1), () => built.promise)
  const second = pages.share('a', hour(), () => assert.fail('it is being built'))
  await assert.rejects(first, isUnavailable)
  built.resolve(page)
  assert.equal(await second, page)
  assert.equal(await pages.share('a', hour(), () => assert.fail('it is kept')), page)
})

test('a page that could not be built is built by the next caller', async () => {
  const pages = createPages<typeof page>()
  const broken = () => Promise.reject(new Error('no'))
  await assert.rejects(pages.share('a', hour(), broken), /no/)
  assert.equal(await pages.share('a', hour(), () => Promise.resolve(page)), page)
})
