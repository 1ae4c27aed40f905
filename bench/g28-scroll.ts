import type { CDPSession, Page } from 'playwright-core'
import { type Arm, type Bench, BenchFault } from './harness/bench.ts'
import { buildDashboard, openBrowser, openTab, signInScript, type Tab } from './service/browser.ts'
import { fillKeys } from './service/keys-fill.ts'
import { migratedPostgres, startKeyrail } from './service/start.ts'
import { makeVendor } from './service/vendor.ts'

/**
 * Scrolling the list of keys with 1,000 loaded rows from its start to its end, in a trace of the browser; against the same rows
 * and styles as a page without a script.
 */

const ROWS = 1_000
const PAGE = 50
const FRAME_MS = 50
/** In pixels a second, as a fast turn of a wheel. */
const SPEED = 8_000

export const bench: Bench = {
  name: 'G28',
  title: 'Scrolling 1,000 loaded keys, in a trace, against the same rows without a script',
  goal: [
    { metric: 'longest task ms', compare: 'value', direction: 'at most', floor: FRAME_MS, moonshot: 16 },
    { metric: 'longest frame ms', compare: 'value', direction: 'at most', floor: FRAME_MS, moonshot: 33 },
    { metric: 'busy ms', direction: 'at most', floor: 1.5, moonshot: 1.1 },
  ],
  async arms(run) {
    buildDashboard()
    const postgres = await run.use(migratedPostgres())
    const server = await run.use(startKeyrail(postgres))
    const vendor = await makeVendor(server.url)
    await fillKeys(postgres, vendor, ROWS)
    const browser = await run.use(openBrowser())
    const ours = await run.use(openTab(browser))
    await ours.page.addInitScript(await signInScript(postgres, vendor.workspaceId))
    await ours.page.goto(`${server.url}/app/keys`)
    await loadRows(ours.page)
    const bare = await run.use(openTab(browser))
    await bare.page.setContent(await withoutScripts(ours.page))
    run.note(`${SPEED} pixels a second; tasks on the main thread, and the time between two drawn frames`)
    return [arm('the dashboard', 'subject', ours), arm('the same rows without a script', 'control', bare)]
  },
}

async function loadRows(page: Page): Promise<void> {
  const rows = page.locator('tbody tr')
  await rows.nth(PAGE - 1).waitFor()
  for (let shown = PAGE; shown < ROWS; shown += PAGE) {
    await page.getByRole('button', { name: 'Load more' }).click()
    await rows.nth(shown + PAGE - 1).waitFor()
  }
  if ((await rows.count()) !== ROWS) throw new BenchFault(`the list has ${await rows.count()} rows`)
}

/** The document as it stands, with its styles in it. */
const withoutScripts = async (page: Page) =>
  String(
    await page.evaluate(`(() => {
      const styles = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules].map(rule => rule.cssText))
      const root = document.documentElement.cloneNode(true)
      root.querySelectorAll('script, link, style, meta').forEach(one => one.remove())
      root.querySelector('head').innerHTML = '<style>' + styles.join('\\n') + '</style>'
      return '<!doctype html>' + root.outerHTML
    })()`),
  )

const arm = (name: string, role: Arm['role'], { page, protocol }: Tab): Arm => ({
  name,
  role,
  async measure() {
    await page.bringToFront()
    await page.evaluate('scrollTo(0, 0)')
    const height = Number(await page.evaluate('document.documentElement.scrollHeight - innerHeight'))
    const events = await trace(protocol, () =>
      protocol.send('Input.synthesizeScrollGesture', {
        x: 700,
        y: 400,
        yDistance: -height,
        speed: SPEED,
        preventFling: true,
      }),
    )
    const rows = await page.locator('tbody tr').count()
    const isAtEnd = await page.evaluate(
      'scrollY > 0.9 * (document.documentElement.scrollHeight - innerHeight)',
    )
    return { values: figuresOf(events), answer: { rows, isAtEnd } }
  },
})

/** As the trace format has it, in microseconds. */
interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur?: number
  readonly args: { readonly name?: string }
}

async function trace(protocol: CDPSession, work: () => Promise<unknown>): Promise<TraceEvent[]> {
  const events: TraceEvent[] = []
  const collect = ({ value }: { value: object[] }) => void events.push(...(value as TraceEvent[]))
  protocol.on('Tracing.dataCollected', collect)
  const ended = new Promise<void>(resolve => protocol.once('Tracing.tracingComplete', () => resolve()))
  const categories = ['disabled-by-default-devtools.timeline', 'disabled-by-default-devtools.timeline.frame']
  await protocol.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: categories },
  })
  await work()
  await protocol.send('Tracing.end')
  await ended
  protocol.off('Tracing.dataCollected', collect)
  return events
}

function figuresOf(events: readonly TraceEvent[]): Record<string, number> {
  const mains = events.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
  const isMain = ({ pid, tid }: TraceEvent) => mains.some(main => main.pid === pid && main.tid === tid)
  const tasks = events.filter(event => event.name === 'RunTask' && isMain(event))
  const took = tasks.map(({ dur = 0 }) => dur / 1_000)
  const frames = events.filter(({ name }) => name === 'DrawFrame').map(({ ts }) => ts / 1_000)
  const drawn = frames.toSorted((a, b) => a - b)
  if (tasks.length === 0 || drawn.length < 10) throw new BenchFault('the trace shows no scrolling')
  return {
    'longest task ms': Math.max(...took),
    'longest frame ms': Math.max(...drawn.slice(1).map((at, index) => at - (drawn[index] ?? at))),
    'busy ms': took.reduce((sum, ms) => sum + ms, 0),
  }
}
