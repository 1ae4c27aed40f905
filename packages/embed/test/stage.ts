import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { addWidget } from '../../dashboard/bundle.ts'
import type { Config } from '../../server/src/config.ts'
import { accessibilityFaults } from '../../server/test/accessibility.ts'
import { launchBrowser } from '../../server/test/browser.ts'
import { makeBuild } from '../../server/test/dashboard-folder.ts'
import { mintToken, setOrigins } from '../../server/test/embed.ts'
import { type Harness, startHarness } from '../../server/test/harness.ts'
import { makeVendor, type Vendor } from '../../server/test/vendor.ts'

/** A service, a browser, and the server of a vendor, whose pages have another origin than the service. */
export interface Stage {
  readonly harness: Harness
  /** Where the service listens. */
  readonly url: string
  /** The origin of the vendor's pages. */
  readonly site: string
  /** The newest version of the widget that the service has. */
  readonly served: { readonly file: string; readonly integrity: string }
  /** A vendor that has registered the site. */
  makeVendor(): Promise<Vendor>
  /** An empty page in a new profile. */
  newPage(): Promise<Page>
  /** Opens a page of the site in a new profile, and waits for nothing. */
  visit(options: VisitOptions): Promise<Visit>
}

export interface VisitOptions {
  /** What the vendor's server answers when the page asks for a token: 401 where it throws, or the `status` of the error. */
  readonly token: (name: string) => Promise<string>
  /** Replaces the page's body; `<keyrail-keys>` by default. */
  readonly body?: string
  /** Runs in the page after the widget's script is loaded, as a module. */
  readonly script?: string
  readonly style?: string
  /** More scripts of the page, by name. */
  readonly files?: Readonly<Record<string, Buffer>>
  /** Replaces the tag of the widget's script. */
  readonly widget?: string
  readonly mayFail?: RegExp
  /** Whether the test moves the clock of the page. */
  readonly hasClock?: boolean
  /** How far the clock of the person's machine is ahead. */
  readonly aheadMs?: number
  readonly lang?: string
  /** The language of the browser; English without it. */
  readonly locale?: string
  readonly timeZone?: string
  readonly dir?: string
  readonly csp?: string
}

export interface Visit {
  readonly page: Page
  /** The events of the elements, in order: `created {"id":…}`. */
  events(): Promise<string[]>
  /** Their names, in order. */
  eventNames(): Promise<string[]>
  button(name: string | RegExp): ReturnType<Page['getByRole']>
  text(text: string | RegExp): Promise<void>
  /** Axe finds no fault in light and dark, at 1,280 and 320 px, and nothing overflows. */
  look(name: string): Promise<void>
  /** Neither the page, its shadow roots, its storage nor its address have this text. */
  assertForgotten(secret: string): Promise<void>
  /** Closes the profile. There was no error, no violation of the policy, and no request to another host. */
  leave(): Promise<void>
}

/** The texts of the document and of all shadow roots in it, with the values of fields. */
const everything = `(() => {
  const parts = [JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href])]
  const visit = root => {
    parts.push(root.innerHTML ?? '')
    for (const one of root.querySelectorAll('*')) {
      if ('value' in one) parts.push(String(one.value))
      if (one.shadowRoot) visit(one.shadowRoot)
    }
  }
  visit(document.documentElement)
  return parts.join(' ')
})()`

const defaultScript = `
  const element = document.querySelector('keyrail-keys')
  element.getToken = () => getToken('first')`

export async function openStage(settings: Partial<Config> = {}): Promise<Stage> {
  const folder = makeBuild()
  await addWidget(folder)
  const { file, integrity } = JSON.parse(readFileSync(join(folder, 'widget.json'), 'utf8'))
  const widget = readFileSync(join(folder, 'assets', file))
  const browser = await launchBrowser()
  after(() => browser.close())
  const harness = await startHarness(settings, null, undefined, { dashboard: { folder } })
  const url = await harness.app.listen({ host: '127.0.0.1', port: 0 })
  const visits = new Map<string, VisitOptions>()
  const server = await listen((path, visit) => respond(path, visit, { widget, url }), visits)
  const site = `http://localhost:${(server.address() as AddressInfo).port}`
  return {
    harness,
    url,
    site,
    served: { file, integrity },
    async makeVendor() {
      const vendor = await makeVendor(harness)
      await setOrigins(harness, vendor, [site])
      return vendor
    },
    newPage: () => browser.newPage(),
    visit: options => openVisit(browser, { url, site, visits }, options),
  }
}

/** A token for the vendor's first tenant. */
export const tokenOf = (stage: Stage, vendor: Vendor, more: Record<string, unknown> = {}) =>
  mintToken(stage.harness, vendor, more)

interface Answer {
  readonly type: string
  readonly body: string | Buffer
  readonly headers?: Record<string, string>
}

async function listen(
  answer: (path: string, visit: VisitOptions) => Promise<Answer | null>,
  visits: Map<string, VisitOptions>,
): Promise<Server> {
  const server = createServer(async (request, response) => {
    const [, id = '', path = ''] = /^\/(\d+)\/(.*)$/.exec(request.url ?? '') ?? []
    const visit = visits.get(id)
    try {
      const found = visit && (await answer(path, visit))
      if (found == null) {
        response.writeHead(404).end()
        return
      }
      response.writeHead(200, { 'content-type': found.type, 'cache-control': 'no-store', ...found.headers })
      response.end(found.body)
    } catch (error) {
      const { status = 401, headers } = error as { status?: number; headers?: Record<string, string> }
      response.writeHead(status, headers).end(String(error))
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return server
}

async function respond(
  path: string,
  visit: VisitOptions,
  { widget, url }: { widget: Buffer; url: string },
): Promise<Answer | null> {
  const script = 'text/javascript; charset=utf-8'
  if (path === 'widget.js') return { type: script, body: widget }
  if (path.startsWith('token/'))
    return { type: 'application/json', body: JSON.stringify({ token: await visit.token(path.slice(6)) }) }
  if (path === 'page.css')
    return { type: 'text/css', body: `html { background: Canvas; color: CanvasText }\n${visit.style ?? ''}` }
  if (path === 'page.js')
    return {
      type: script,
      body: `
        globalThis.events = []
        for (const name of ['created', 'updated', 'rotated', 'revoked', 'session-ended', 'error'])
          addEventListener('keyrail-' + name, event => events.push(name + ' ' + JSON.stringify(event.detail)))
        globalThis.getToken = async name => {
          const answer = await fetch('token/' + name, { method: 'POST' })
          if (!answer.ok) throw answer
          return (await answer.json()).token
        }
        ${visit.script ?? defaultScript}`,
    }
  const file = visit.files?.[path]
  if (file !== undefined) return { type: script, body: file }
  if (path === 'icon.svg') return { type: 'image/svg+xml', body: '<svg xmlns="http://www.w3.org/2000/svg"/>' }
  if (path !== '') return null
  return {
    type: 'text/html; charset=utf-8',
    headers: {
      'content-security-policy':
        visit.csp ??
        `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' ${url}; frame-src 'self'`,
    },
    body: `<!doctype html><html lang="${visit.lang ?? 'en'}" dir="${visit.dir ?? 'ltr'}"><head><title>Portal</title>
      <meta name="viewport" content="width=device-width"><link rel="icon" href="icon.svg">
      <link rel="stylesheet" href="page.css">
      ${visit.widget ?? '<script type="module" src="widget.js"></script>'}
      <script type="module" src="page.js"></script></head>
      <body><main><h1>Portal</h1>${visit.body ?? `<keyrail-keys base-url="${url}"></keyrail-keys>`}</main></body></html>`,
  }
}

interface Places {
  readonly url: string
  readonly site: string
  readonly visits: Map<string, VisitOptions>
}

async function openVisit(browser: Browser, places: Places, options: VisitOptions): Promise<Visit> {
  const { url, site, visits } = places
  const id = String(visits.size + 1)
  visits.set(id, options)
  const context = await browser.newContext({
    reducedMotion: 'reduce',
    locale: options.locale ?? 'en-US',
    ...(options.timeZone !== undefined && { timezoneId: options.timeZone }),
  })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: site })
  await context.addInitScript(
    `addEventListener('securitypolicyviolation', event => console.error('CSP', event.violatedDirective, event.blockedURI))`,
  )
  const page = await context.newPage()
  // A browser's own clock may be wrong by years.
  if (options.hasClock) await page.clock.install({ time: '2001-02-03T04:05:06Z' })
  if (options.aheadMs !== undefined) await page.clock.install({ time: Date.now() + options.aheadMs })
  const faults: string[] = []
  page.on('pageerror', error => faults.push(String(error)))
  page.on('console', message => {
    const from = message.location().url
    const isRefusal = from.startsWith(`${url}/v1/`) || options.mayFail?.test(`${from} ${message.text()}`)
    if (['error', 'warning'].includes(message.type()) && !isRefusal)
      faults.push(`${message.type()}: ${message.text()} (${from})`)
  })
  page.on('request', request => {
    const { origin, protocol } = new URL(request.url())
    if (protocol !== 'data:' && origin !== url && origin !== site)
      faults.push(`asked another host: ${request.url()}`)
  })
  await page.goto(`${site}/${id}/`)
  return {
    page,
    events: () => page.evaluate('events'),
    eventNames: () => page.evaluate(`events.map(line => line.split(' ')[0])`),
    button: name => page.getByRole('button', { name, exact: true }),
    text: text => page.getByText(text).first().waitFor(),
    look: name => look(page, name),
    async assertForgotten(secret) {
      assert.ok(!String(await page.evaluate(everything)).includes(secret), 'the page still has the text')
    },
    async leave() {
      assert.deepEqual(faults, [])
      assert.deepEqual(await context.cookies(), [])
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await context.close()
    },
  }
}

const views = [
  ['light', 1_280],
  ['dark', 1_280],
  ['light', 320],
  ['dark', 320],
] as const

async function look(page: Page, name: string): Promise<void> {
  const pictures = process.env.KEYRAIL_TEST_PICTURES
  for (const [colorScheme, width] of views) {
    await page.evaluate(`document.documentElement.style.colorScheme = '${colorScheme}'`)
    await page.setViewportSize({ width, height: 800 })
    if (pictures !== undefined)
      await page.screenshot({ path: join(pictures, `${name}-${colorScheme}-${width}.png`) })
    const faults = await accessibilityFaults(page, 'keyrail-keys')
    assert.deepEqual(faults, [], `${name}, ${colorScheme}, ${width} px`)
    assert.equal(
      await page.evaluate('document.documentElement.scrollWidth > innerWidth'),
      false,
      `${name} is wider than ${width} px`,
    )
  }
  await page.setViewportSize({ width: 1_280, height: 720 })
}
