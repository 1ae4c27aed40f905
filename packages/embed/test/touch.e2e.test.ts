import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf } from './stage.ts'
import { makeKey } from './vendor-side.ts'

const stage = await openStage()

test('on a phone, a finger hits every button and box, and no field makes the page zoom in', async () => {
  const vendor = await stage.makeVendor()
  await makeKey(stage, vendor, 'Build server')
  const visit = await stage.visit({ token: () => tokenOf(stage, vendor) })
  const { page } = visit
  const protocol = await page.context().newCDPSession(page)
  const phone = { width: 375, height: 667, deviceScaleFactor: 2, mobile: true }
  await protocol.send('Emulation.setDeviceMetricsOverride', phone)
  await protocol.send('Emulation.setTouchEmulationEnabled', { enabled: true })
  assert.equal(await page.evaluate(`matchMedia('(pointer: coarse)').matches`), true)
  const assertFit = async (what: string) => {
    const faults = await page.evaluate(`[...document.querySelector('keyrail-keys').shadowRoot
      .querySelectorAll('button, select, label, input:not([type=checkbox])')].flatMap(one => {
        const { height } = one.getBoundingClientRect()
        const size = parseFloat(getComputedStyle(one).fontSize)
        return [
          ...(height < 44 && one.localName !== 'input' ? [one.textContent + ' is ' + height + ' high'] : []),
          // Below 16 pixels, Safari zooms in and does not zoom out again.
          ...(size < 16 && /input|select/.test(one.localName) ? ['a field has text of ' + size] : []),
        ]
      })`)
    assert.deepEqual(faults, [], what)
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false, what)
  }
  await visit.button('Rotate Build server').waitFor()
  await assertFit('the list')
  for (const name of ['Create key', 'Edit Build server', 'Rotate Build server', 'Revoke Build server']) {
    await visit.button(name).click()
    await page.getByRole('dialog').waitFor()
    await assertFit(name)
    await visit.button('Cancel').click()
  }
  await visit.leave()
})
