import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { buildApp } from '../../server/src/app.ts'
import type { Config } from '../../server/src/config.ts'
import { openDashboard } from '../../server/src/dashboard/dashboard.ts'
import { readMailRoute } from '../../server/src/platform/mail/route.ts'
import { uncounted } from '../../server/src/platform/observe/metrics.ts'
import { launchBrowser } from '../../server/test/browser.ts'
import { type Harness, startHarness } from '../../server/test/harness.ts'
import type { MadePerson } from '../../server/test/people.ts'
import { type MailServer, startMailServer } from '../../server/test/smtp-server.ts'
import { until } from '../../server/test/until.ts'
import { copyBuild } from './copy-build.ts'
import { look } from './look.ts'

/** A listening service with the dashboard, a mail server and a browser, which all end with the test file. */
export interface Stage {
  readonly harness: Harness
  readonly url: string
  readonly browser: Browser
  /** Opens a page in a new, empty browser profile. */
  visit(path: string, options?: VisitOptions): Promise<Visit>
  /** The newest link with this path that was mailed to an address; waits for one after `after`, if given. */
  linkTo(address: string, path: string, after?: string): Promise<string>
  /** Ends the service, and starts another release at its address, whose dashboard has no file of the one before. */
  upgrade(): Promise<void>
  /** Ends the service, and starts it again at its address. From then on, only the browser can speak to it. */
  restart(meanwhile: () => Promise<void>): Promise<void>
}

interface VisitOptions extends BrowserContextOptions {
  /** Signed in from the start. */
  readonly as?: Pick<MadePerson, 'token' | 'userId'>
  /** Messages of the browser, with their addresses, that the test expects. */
  readonly mayFail?: RegExp
  /** The time that the page reads, and that does not pass; by default that of the machine. */
  readonly now?: Date
}

export interface Visit {
  readonly page: Page
  /** Another tab of the same profile, opened from nothing, as a link in a new tab is. */
  newTab(path: string): Promise<Page>
  /** Types into the field with this label. */
  fill(label: string, text: string): Promise<void>
  /** Presses the button with this name. */
  press(name: string): Promise<void>
  /** Waits for the title of a screen. */
  heading(text: string): Promise<void>
  /** Waits for a text anywhere. */
  text(text: string): Promise<void>
  /** Reads what the page shows once, such as a new key. */
  shownOnce(): Promise<string>
  /** Says that it is stored, and closes its dialog. */
  store(): Promise<void>
  /** In light and dark, on small and large screens: axe finds no fault, and nothing overflows the page. */
  look(name: string): Promise<void>
  /** Nothing of the page has this text: not its content, its storage, its address or its history. */
  assertForgotten(secret: string): Promise<void>
  /** Closes the profile. There was no error, no violation of the policy, no other host and no cookie. */
  leave(): Promise<void>
}

/** @param randomBytes what the service draws ids and secrets from. */
export async function openStage(
  settings: Partial<Config> = {},
  randomBytes?: (size: number) => Buffer,
): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'keyrail-dashboard-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  await copyBuild(folder)
  const browser = await launchBrowser()
  after(() => browser.close())
  const mail = await startMailServer()
  const own = {
    mail: {
      route: readMailRoute(`smtp://127.0.0.1:${mail.port}`),
      from: { name: 'Keyrail', address: 'no-reply@keys.example.com' },
    },
    ...settings,
  }
  const harness = await startHarness(own, null, undefined, {
    dashboard: { folder },
    ...(randomBytes && { randomBytes }),
  })
  const url = await harness.app.listen({ host: '127.0.0.1', port: 0 })
  harness.deps.mail.start()
  /** Serves at the same address again. The former app's metrics have its names, which can be registered once. */
  const listenAgain = async (changes: Partial<Harness['deps']> = {}): Promise<void> => {
    const app = await buildApp({ ...harness.deps, metrics: uncounted, ...changes })
    after(() => app.close())
    await app.listen({ host: '127.0.0.1', port: Number(new URL(url).port) })
  }
  return {
    harness,
    url,
    browser,
    visit: (path, options) => openVisit(browser, url, path, options),
    linkTo: (address, path, before) => newestLink(mail, address, path, before),
    async upgrade() {
      const next = mkdtempSync(join(tmpdir(), 'keyrail-dashboard-'))
      after(() => rmSync(next, { recursive: true, force: true }))
      renameAssets(folder, next)
      await harness.app.close()
      const { log } = harness.deps
      await listenAgain({ dashboard: openDashboard(next, { kind: 'built' }, log) })
    },
    async restart(meanwhile) {
      await harness.app.close()
      await meanwhile()
      await listenAgain()
    },
  }
}

/** Copies a build, with another name for each hashed file. */
function renameAssets(from: string, to: string): void {
  cpSync(from, to, { recursive: true })
  const names = readdirSync(join(to, 'assets'))
  const newName = (name: string) => name.replace(/(?=\.\w+$)/, '-next')
  for (const path of ['index.html', 'widget.json', ...names.map(name => join('assets', name))]) {
    const text = names.reduce((all, name) => all.replaceAll(name, newName(name)), readText(join(to, path)))
    writeFileSync(join(to, path), text)
  }
  for (const name of names) renameSync(join(to, 'assets', name), join(to, 'assets', newName(name)))
}

const readText = (path: string) => readFileSync(path, 'utf8')

async function openVisit(
  browser: Browser,
  url: string,
  path: string,
  { as, mayFail, now, ...options }: VisitOptions = {},
): Promise<Visit> {
  const context = await browser.newContext({ baseURL: url, reducedMotion: 'reduce', ...options })
  const faults: string[] = []
  context.on('page', page => watch(page, url, faults, mayFail))
  await context.addInitScript(
    `addEventListener('securitypolicyviolation', event => console.error('CSP', event.violatedDirective, event.blockedURI, event.sample))`,
  )
  if (now !== undefined) await context.clock.setFixedTime(now)
  const page = await context.newPage()
  if (as !== undefined) {
    const held = JSON.stringify(JSON.stringify({ token: as.token, userId: as.userId }))
    // Only in this tab, and only before its first page.
    await page.addInitScript(
      `if (name === '') { name = 'signed in'; sessionStorage.setItem('keyrail.session', ${held}) }`,
    )
  }
  await page.goto(path)
  return {
    page,
    async newTab(path) {
      const tab = await context.newPage()
      await tab.goto(path)
      return tab
    },
    fill: (label, text) => page.getByLabel(label, { exact: true }).fill(text),
    press: name => page.getByRole('button', { name, exact: true }).click(),
    heading: text => page.getByRole('heading', { name: text, exact: true, level: 1 }).waitFor(),
    text: text => page.getByText(text, { exact: false }).first().waitFor(),
    shownOnce: async () => String(await page.locator('[data-secret]').textContent()),
    async store() {
      await page.getByLabel('I have stored it').check()
      await page.getByRole('button', { name: 'Done', exact: true }).click()
      await page.locator('[data-secret]').waitFor({ state: 'detached' })
    },
    look: name => look(page, name),
    async assertForgotten(secret) {
      const held = String(
        await page.evaluate(
          `document.documentElement.outerHTML + JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href]) + [...document.querySelectorAll('input, textarea')].map(one => one.value)`,
        ),
      )
      assert.ok(!held.includes(secret), 'the page still has the secret')
    },
    async leave() {
      assert.deepEqual(faults, [])
      assert.deepEqual(await context.cookies(), [])
      await context.close()
    },
  }
}

/** Credentials of people and of vendors, whole API keys, and the tokens of links. */
const secretInAddress = /krses_|krsk_|_(?:live|test)_\w{20,}|token=/

/** Notes what must not happen. A refused call is no fault: the page says why. */
function watch(page: Page, url: string, faults: string[], mayFail?: RegExp): void {
  page.on('pageerror', error => faults.push(String(error)))
  page.on('console', message => {
    const from = message.location().url
    const isRefusal = from.startsWith(`${url}/v1/`) || mayFail?.test(`${from} ${message.text()}`)
    // Chromium itself may fetch the icon again while a test has taken the network away.
    const isIconOffline =
      from === `${url}/app/icon.svg` && message.text().includes('ERR_INTERNET_DISCONNECTED')
    if (['error', 'warning'].includes(message.type()) && !isRefusal && !isIconOffline)
      faults.push(`${message.type()}: ${message.text()} (${from})`)
  })
  page.on('request', request => {
    if (new URL(request.url()).origin !== url) faults.push(`asked another host: ${request.url()}`)
    if (secretInAddress.test(request.url())) faults.push(`a secret in an address: ${request.url()}`)
  })
}

async function newestLink(mail: MailServer, address: string, path: string, before?: string): Promise<string> {
  const find = () => {
    const letters = mail.received.filter(({ to }) => to.includes(address))
    const links = letters.flatMap(({ parsed }) => parsed.text?.match(/http\S+#token=\S+/g) ?? [])
    const link = links
      .map(one => one.slice(new URL(one).origin.length))
      .findLast(one => one.startsWith(`${path}#`))
    return link === before ? undefined : link
  }
  await until(() => find() !== undefined, `a link with ${path} is mailed to ${address}`)
  return find() ?? ''
}
