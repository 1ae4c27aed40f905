import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { buildDashboard, openBrowser, openTab, signInScript, type Tab } from './service/browser.ts'
import { fillKeys } from './service/keys-fill.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/**
 * The first load of the dashboard by a new browser, over a line of 1.6 Mbit/s with 150 ms of latency, until the figures of the
 * overview stand there; against the least that such a line needs for as many bytes.
 */

const KEYS = 1_000
/** What browsers' tools call "slow 4G". */
const LINE = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8 }
const USABLE_MS = 4_000
/** The page notes the time by itself. */
const LOOK_MS = 50
/** A minute: many times what the goal allows. */
const LOOKS_MOST = 1_200

/** What the page shows once a person can read it, and how many milliseconds after the start of the navigation. */
interface Shown {
  text: string
  ms: number
}
/** Looks at each frame, so that the line decides, not the protocol between bench and browser. */
const WATCH = `(() => {
  const look = () => {
    const found = window.findShown?.()
    if (found) window.shown = { text: found, ms: performance.now() }
    else requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
})()`
const FIND_FIGURE = `window.findShown = () =>
  [...document.querySelectorAll('dt')].find(one => one.textContent === 'Active keys')?.nextElementSibling?.firstElementChild?.textContent`

export const bench: Bench = {
  name: 'G27',
  title: 'The first load of the dashboard over 1.6 Mbit/s and 150 ms, against as many bytes in one file',
  goal: [
    { metric: 'usable ms', compare: 'value', direction: 'at most', floor: USABLE_MS, moonshot: 3_000 },
    { metric: 'ms', direction: 'at most', floor: 2, moonshot: 1.25 },
    { metric: 'KB', compare: 'value', direction: 'at most', floor: 400, moonshot: null },
  ],
  async arms(run) {
    buildDashboard()
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    await fillKeys(postgres, vendor, KEYS)
    const browser = await run.use(openBrowser())
    const signIn = await signInScript(postgres, vendor.workspaceId)
    const ours = () => load(browser, `${server.url}/app/`, `${signIn};${FIND_FIGURE};${WATCH}`)
    const first = await ours()
    if (first.text !== '1,000') throw new BenchFault(`the overview shows ${first.text} active keys`)
    const bare = await run.use(serveBytes(first.bytes, first.text))
    run.note(
      `${first.requests} requests with ${Math.round(first.bytes / 1_000)} KB; a new profile for each load`,
    )
    return [
      arm('the dashboard', 'subject', ours),
      arm('as many bytes in one file', 'control', () => load(browser, bare.url, WATCH)),
    ]
  },
}

const arm = (name: string, role: Arm['role'], once: () => Promise<Loaded>): Arm => ({
  name,
  role,
  async measure() {
    const { text, ms, bytes } = await once()
    return { values: { 'usable ms': ms, ms, KB: bytes / 1_000 }, answer: text }
  },
})

interface Loaded extends Shown {
  /** Compressed, with headers. */
  bytes: number
  requests: number
}

async function load(browser: Browser, url: string, script: string): Promise<Loaded> {
  const tab = await openTab(browser)
  try {
    return await loadIn(tab, url, script)
  } finally {
    await tab.close()
  }
}

async function loadIn({ page, protocol }: Tab, url: string, script: string): Promise<Loaded> {
  let bytes = 0
  let requests = 0
  protocol.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
    requests += 1
  })
  await protocol.send('Network.enable')
  await protocol.send('Network.emulateNetworkConditions', LINE)
  await page.addInitScript(script)
  await page.goto(url, { waitUntil: 'commit' })
  for (let looks = 0; looks < LOOKS_MOST; looks += 1) {
    await sleep(LOOK_MS)
    const shown = (await page.evaluate('window.shown')) as Shown | undefined
    if (shown !== undefined) return { ...shown, bytes, requests }
  }
  throw new BenchFault(`${url} shows nothing after ${(LOOK_MS * LOOKS_MOST) / 1_000} s`)
}

/** A page that loads so many bytes at once and then shows the text, which it asks for as an API. */
async function serveBytes(bytes: number, text: string) {
  // No compression makes it smaller.
  const body = randomBytes(bytes)
  const page = `<!doctype html><title>Bytes</title><script>
    fetch('/bytes').then(answer => answer.arrayBuffer()).then(() => fetch('/text')).then(answer => answer.text())
      .then(text => { window.findShown = () => text })
  </script>`
  const server = createServer(({ url }, answer) => {
    if (url === '/') answer.setHeader('content-type', 'text/html')
    answer.end(url === '/bytes' ? body : url === '/text' ? text : page)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
