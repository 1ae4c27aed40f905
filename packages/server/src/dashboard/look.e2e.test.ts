import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeBuild } from '../../test/dashboard-folder.ts'
import { openStage } from '../../test/page-stage.ts'

const stage = await openStage({ dashboard: { folder: makeBuild(), state: { kind: 'building' } } })
const { dashboard } = stage.harness.deps

test('the waiting page opens the same address by itself once the dashboard is built', async () => {
  dashboard.report({ kind: 'building' })
  const visit = await stage.visit('/app/keys?env=test')
  await visit.text('The dashboard is being built')
  await visit.assertAccessible()
  dashboard.report({ kind: 'built' })
  await visit.page.locator('meta[name=csp-nonce]').waitFor({ state: 'attached' })
  assert.equal(await visit.page.evaluate('location.pathname + location.search'), '/app/keys?env=test')
  await visit.leave()
})

test('a mailed link that is opened during the build still has its token afterwards', async () => {
  dashboard.report({ kind: 'building' })
  const visit = await stage.visit('/verify-email#token=x.y')
  await visit.text('The dashboard is being built')
  dashboard.report({ kind: 'built' })
  await visit.page.locator('meta[name=csp-nonce]').waitFor({ state: 'attached' })
  assert.equal(await visit.page.evaluate('location.pathname + location.hash'), '/verify-email#token=x.y')
  await visit.leave()
})

test('the waiting page shows a build that fails meanwhile', async () => {
  dashboard.report({ kind: 'building' })
  const visit = await stage.visit('/app')
  await visit.text('The dashboard is being built')
  dashboard.report({ kind: 'failed' })
  await visit.text('The dashboard could not be built')
  await visit.leave()
})

test('each page is accessible, in light and dark, on small and large screens', async () => {
  const failed = { kind: 'failed' } as const
  for (const [state, path] of [
    [{ kind: 'building' }, '/app'],
    [failed, '/app'],
    [failed, '/verify-email'],
    [failed, '/accept-invite'],
  ] as const) {
    dashboard.report(state)
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
