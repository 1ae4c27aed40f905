import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sourceFiles } from '../../server/test/source-files.ts'
import { titles, walkScreens } from './every-screen.ts'
import { declaredRoutes } from './screens.ts'
import { openStage } from './stage.ts'

/** `every-screen-dark` and `every-screen-test` walk the same screens, beside this file. */

test('the list has every route of the router, and no other', () => {
  assert.deepEqual(declaredRoutes.map(({ path }) => path).toSorted(), Object.keys(titles).toSorted())
  const declared = sourceFiles('packages/dashboard/src/**/*.{ts,tsx}').flatMap(
    ({ code }) => code.match(/\bcreateRoute\(/g) ?? [],
  )
  // The shell is a route without an address.
  assert.equal(declared.length - 1, declaredRoutes.length)
})

test('each light screen: no fault of axe or the console, nothing too wide, no secret', async () => {
  await walkScreens(await openStage(), 'live', [
    ['light', 1_280],
    ['light', 375],
  ])
})
