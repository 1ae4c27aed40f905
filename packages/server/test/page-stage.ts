import assert from 'node:assert/strict'
import { after } from 'node:test'
import type { Page } from 'playwright-core'
import { accessibilityFaults } from './accessibility.ts'
import { launchBrowser } from './browser.ts'
import { type Harness, startHarness } from './harness.ts'

/** A listening service and a browser, which end with the test file. For pages without a dashboard; those have a stage. */
export interface Stage {
  readonly harness: Harness
  /** Opens a page in a new, empty browser profile. */
  visit(path: string): Promise<Visit>
}

interface Visit {
  readonly page: Page
  /** Waits for a text anywhere. */
  text(text: string): Promise<void>
  /** axe finds no fault, and nothing overflows the page. */
  assertAccessible(): Promise<void>
  /** Closes the profile. There was no error, no other host and no cookie, no request had a token, and nothing is stored. */
  leave(): Promise<void>
}

export async function openStage(outside: Parameters<typeof startHarness>[3]): Promise<Stage> {
  const browser = await launchBrowser()
  after(() => browser.close())
  const harness = await startHarness({}, null, undefined, outside)
  const url = await harness.app.listen({ host: '127.0.0.1', port: 0 })

  return {
    harness,
    async visit(path) {
      const context = await browser.newContext({ baseURL: url })
      const page = await context.newPage()
      const faults: string[] = []
      page.on('pageerror', error => faults.push(String(error)))
      page.on('console', message => {
        // The pages are answers with status 503.
        const isAnswer = message.text().includes('status of 503')
        if (['error', 'warning'].includes(message.type()) && !isAnswer)
          faults.push(`${message.type()}: ${message.text()}`)
      })
      page.on('request', request => {
        if (new URL(request.url()).origin !== url) faults.push(`asked another host: ${request.url()}`)
        if (/token/.test(request.url().split('#')[0] ?? '')) faults.push(`a secret: ${request.url()}`)
      })
      await page.addInitScript(
        `addEventListener('securitypolicyviolation', event => console.error('CSP', event.violatedDirective))`,
      )
      await page.goto(path)
      return {
        page,
        text: text => page.getByText(text, { exact: false }).first().waitFor(),
        assertAccessible: () => assertAccessible(page),
        async leave() {
          assert.deepEqual(faults, [])
          assert.deepEqual(await context.cookies(), [])
          assert.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0)
          await context.close()
        },
      }
    },
  }
}

async function assertAccessible(page: Page): Promise<void> {
  // The colours during a change of theme are not chosen by anyone.
  await page.evaluate('Promise.allSettled(document.getAnimations().map(one => one.finished))')
  assert.deepEqual(await accessibilityFaults(page), [])
  assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
}
