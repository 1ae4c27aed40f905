import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage } from './test-stage.ts'

const stage = await openStage({ authPerIp: 1 })
const paths = ['/verify-email', '/reset-password', '/accept-invite'].flatMap(path => [
  path,
  `${path}#token=x.y`,
])

test('every page can be read by everybody: in light and in dark, on a small screen and a large one', async () => {
  for (const path of paths) {
    const visit = await stage.visit(path)
    for (const [colorScheme, width] of [
      ['light', 320],
      ['dark', 320],
      ['dark', 1_280],
    ] as const) {
      await visit.page.emulateMedia({ colorScheme })
      await visit.page.setViewportSize({ width, height: 800 })
      await visit.assertAccessible()
    }
    await visit.leave()
  }
})

test('nothing moves for whoever wants nothing to move', async () => {
  const visit = await stage.visit('/reset-password', { reducedMotion: 'reduce' })
  const moving = await visit.page.evaluate(
    `[...document.querySelectorAll('*')].filter(one => getComputedStyle(one).transitionDuration !== '0s').length`,
  )
  assert.equal(moving, 0)
  await visit.leave()
})

test('who is told to wait is told how long, and who cannot reach the service that nothing is lost', async () => {
  const visit = await stage.visit('/accept-invite#token=x.y')
  await visit.fill('E-mail address', 'ann@example.com')
  await visit.fill('Password', 'a wrong word')
  await visit.press('Sign in and accept')
  await visit.text('E-mail address or password is wrong.')
  await visit.press('Sign in and accept')
  await visit.text('Keyrail is busy. Nothing has changed; try again in')
  await visit.assertAccessible()
  await stage.harness.app.close()
  await visit.press('Sign in and accept')
  await visit.text('Keyrail cannot be reached.')
  await visit.leave()
})
