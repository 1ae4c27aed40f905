import type { Browser } from 'playwright-core'
import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { openBrowser, openTab, type Tab } from './service/browser.ts'
import { lastName, serveWidgetPages, type WidgetPage, type WidgetPages } from './service/widget-pages.ts'

/**
 * The widget in a page that has nothing else, on a processor slowed down four times, until ten keys are painted, and until all
 * is drawn that it leaves for idle time, which are the dates; against the widget for API keys of WorkOS with the React that it
 * needs, bundled in the same way, with the same keys. Plain rows show what the browser needs for any page.
 */

const SLOWER = 4
const BUSY_MS = 50

export const bench: Bench = {
  name: 'G26',
  title: 'The widget from its script to painted keys, against that of WorkOS: main thread at 4× and bytes',
  goal: [
    { metric: 'busy ms', direction: 'at most', floor: 0.2, moonshot: 0.1 },
    {
      metric: 'main thread ms',
      compare: 'value',
      direction: 'at most',
      floor: BUSY_MS,
      moonshot: null,
    },
    { metric: 'with dates ms', direction: 'at most', floor: 0.2, moonshot: 0.1 },
    { metric: 'KB', direction: 'at most', floor: 0.2, moonshot: 0.1 },
  ],
  async arms(run) {
    const pages = await run.use(serveWidgetPages())
    const browser = await run.use(openBrowser())
    run.note(
      `a new profile for each load, the processor ${SLOWER} times slower; the answers come from memory`,
    )
    return [
      arm('<keyrail-keys>', 'subject', () => load(browser, pages, 'ours')),
      arm('@workos-inc/widgets', 'control', () => load(browser, pages, 'peer')),
      arm('plain rows', 'peer', () => load(browser, pages, 'plain')),
    ]
  },
}

interface Loaded {
  readonly busyMs: number
  readonly withDatesMs: number
  readonly bytes: number
}

const arm = (name: string, role: Arm['role'], once: () => Promise<Loaded>): Arm => ({
  name,
  role,
  async measure() {
    const { busyMs, withDatesMs, bytes } = await once()
    const values = { 'busy ms': busyMs, 'main thread ms': busyMs, 'with dates ms': withDatesMs }
    return { values: { ...values, KB: bytes / 1_000 }, answer: lastName }
  },
})

/** Draws the widget, and resolves after the frame with the last key. It asks for no frame before: each costs some time. */
const DRAW = `new Promise(async (resolve, reject) => {
  setTimeout(() => reject(new Error('the page shows: ' + root().textContent)), 120_000)
  const look = () => {
    if (!root().textContent.includes('${lastName}')) return
    changes.disconnect()
    requestAnimationFrame(() => setTimeout(resolve))
  }
  const changes = new MutationObserver(look)
  await draw().catch(reject)
  changes.observe(root(), { subtree: true, childList: true, characterData: true })
  look()
})`

/** Does what the page has left for idle time, and resolves after the frame with it. */
const FINISH = `new Promise(resolve => {
  for (const call of later) call()
  requestAnimationFrame(() => setTimeout(resolve))
})`

async function load(browser: Browser, pages: WidgetPages, page: WidgetPage): Promise<Loaded> {
  const tab = await openTab(browser)
  try {
    await tab.page.goto(`${pages.url}/${page}`)
    return { ...(await timesOf(tab)), bytes: pages.bytesOf(page) }
  } finally {
    await tab.close()
  }
}

/** What the main thread does while the page draws. */
async function timesOf({ protocol }: Tab): Promise<Omit<Loaded, 'bytes'>> {
  // Time on the processor, so that other work on the machine hardly counts.
  await protocol.send('Performance.enable', { timeDomain: 'threadTicks' })
  await protocol.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
  const before = await busyMs()
  await run(DRAW)
  const busy = (await busyMs()) - before
  await run(FINISH)
  return { busyMs: busy, withDatesMs: (await busyMs()) - before }

  async function run(expression: string): Promise<void> {
    const done = await protocol.send('Runtime.evaluate', { expression, awaitPromise: true })
    if (done.exceptionDetails) throw new BenchFault(String(done.exceptionDetails.exception?.description))
  }

  async function busyMs(): Promise<number> {
    const { metrics } = await protocol.send('Performance.getMetrics')
    const { value = Number.NaN } = metrics.find(({ name }) => name === 'TaskDuration') ?? {}
    return value * 1_000
  }
}
