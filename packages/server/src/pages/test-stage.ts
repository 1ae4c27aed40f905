import assert from 'node:assert/strict'
import { after } from 'node:test'
import AxeBuilder from '@axe-core/playwright'
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { type Harness, startHarness } from '../../test/harness.ts'
import type { Config } from '../config.ts'
import { readMailRoute } from '../platform/mail/route.ts'
import { type MailServer, startMailServer } from '../platform/mail/test-smtp.ts'

/** A listening service with a mail server and a browser beside it, all gone when the test file ends. */
export interface Stage {
  readonly harness: Harness
  readonly mail: MailServer
  readonly url: string
  /** Opens a page as one person does: with a browser profile of its own, empty before and after. */
  visit(path: string, options?: BrowserContextOptions): Promise<Visit>
  /** Where a letter to an address leads, of those that lead to a path: the newest, which may have to come after another. */
  linkTo(address: string, path: string, after?: string): Promise<string>
}

export interface Visit {
  readonly page: Page
  /** Tabs on until something of this name has the focus, as somebody does who has no mouse. */
  tabTo(name: string): Promise<void>
  /** Tabs to a field, and types in place of what it has. */
  fill(name: string, text: string): Promise<void>
  /** Tabs to a button and presses it. */
  press(name: string): Promise<void>
  /** Waits for a heading, which has the focus then. */
  heading(text: string): Promise<void>
  /** Waits for a text anywhere. */
  text(text: string): Promise<void>
  /** Nothing that axe finds fault with, and nothing beyond the edge. */
  assertAccessible(): Promise<void>
  /** Closes the browser's profile. It has met no error, no other host and no cookie, and no URL has held a token. */
  leave(): Promise<void>
}

/** Of Debian's package `chromium`, or wherever there is one. */
const browserPath = process.env.KEYRAIL_TEST_CHROMIUM ?? '/usr/bin/chromium'

export async function openStage(settings: Partial<Config> = {}): Promise<Stage> {
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox'] })
  after(() => browser.close())
  const mail = await startMailServer()
  const harness = await startHarness({
    mail: {
      route: readMailRoute(`smtp://127.0.0.1:${mail.port}`),
      from: { name: 'Keyrail', address: 'no-reply@keys.example.com' },
    },
    ...settings,
  })
  const url = await harness.app.listen({ host: '127.0.0.1', port: 0 })
  harness.deps.mail.start()

  return {
    harness,
    mail,
    url,
    async visit(path, options) {
      const context = await browser.newContext({ baseURL: url, ...options })
      const page = await context.newPage()
      const faults: string[] = []
      const requests: string[] = []
      page.on('pageerror', error => faults.push(String(error)))
      page.on('console', message => {
        const isRefusal = message.location().url.startsWith(`${url}/v1/`)
        if (['error', 'warning'].includes(message.type()) && !isRefusal)
          faults.push(`${message.type()}: ${message.text()}`)
      })
      page.on('request', request => requests.push(request.url()))
      await page.addInitScript(
        `addEventListener('securitypolicyviolation', event => console.error('CSP', event.violatedDirective))`,
      )
      await page.goto(path)
      const visit = visitOf(page)
      return {
        ...visit,
        async leave() {
          assert.deepEqual(faults, [])
          for (const asked of requests) {
            assert.equal(new URL(asked).origin, url)
            assert.doesNotMatch(asked.split('#')[0] ?? '', /token|[A-Za-z0-9_-]{43}/)
          }
          assert.deepEqual(await context.cookies(), [])
          assert.doesNotMatch(page.url(), /#|token/)
          assert.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0)
          await context.close()
        },
      }
    },
    async linkTo(address, path, after) {
      for (;;) {
        const letters = mail.received.filter(({ to }) => to.includes(address))
        const links = letters.flatMap(({ parsed }) => parsed.text?.match(/http\S+#token=\S+/g) ?? [])
        const link = links
          .map(one => one.slice(new URL(one).origin.length))
          .findLast(one => one.startsWith(`${path}#`))
        if (link !== undefined && link !== after) return link
        await mail.untilReceived(mail.received.length + 1)
      }
    },
  }
}

/** The name by which the focused element is announced, near enough. */
const focusedName = `(() => {
  const { activeElement: at } = document
  const own = at?.labels?.[0] ?? at
  return (own?.textContent ?? '').trim()
})()`

function visitOf(page: Page): Omit<Visit, 'leave'> {
  const tabTo = async (name: string) => {
    const met: string[] = []
    for (let i = 0; i < 30; i++) {
      const focused = String(await page.evaluate(focusedName))
      if (focused === name) return
      met.push(focused)
      await page.keyboard.press('Tab')
    }
    throw new Error(`nothing called ${name} has the focus: ${met.join(', ')}`)
  }
  return {
    page,
    tabTo,
    async fill(name, text) {
      await tabTo(name)
      await page.keyboard.press('Control+A')
      await page.keyboard.press('Delete')
      await page.keyboard.type(text)
    },
    async press(name) {
      await tabTo(name)
      await page.keyboard.press('Enter')
    },
    async heading(text) {
      const focused = page.locator(':focus')
      await page.getByRole('heading', { name: text, exact: true, level: 1 }).and(focused).waitFor()
      assert.equal(await page.title(), `${text} · Keyrail`)
    },
    text: text => page.getByText(text, { exact: false }).first().waitFor(),
    async assertAccessible() {
      // A change of colours takes its 120 ms, and half-way through it no pair of colours is one that anybody chose.
      await page.evaluate('Promise.allSettled(document.getAnimations().map(one => one.finished))')
      const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
      assert.deepEqual(
        violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
        [],
      )
      assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false)
    },
  }
}
