import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core'
import { makePerson } from '../../packages/server/test/people.ts'
import { BenchFault, type Resource } from '../harness/bench.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'

/** Debian's Chromium by default, as in the tests of the dashboard. */
const executablePath = process.env.KEYRAIL_TEST_CHROMIUM ?? '/usr/bin/chromium'
const build = join(import.meta.dirname, '..', '..', 'packages', 'dashboard', 'build.ts')

export const openBrowser = (): Promise<Browser> => chromium.launch({ executablePath, args: ['--no-sandbox'] })

/** Builds the dashboard if its sources are newer, so that the service serves it from its first request on. */
export function buildDashboard(): void {
  const { status } = spawnSync(process.execPath, [build], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new BenchFault('the dashboard could not be built')
}

/** A script that signs a tab in as a new owner of the workspace, before the page's own scripts run. */
export async function signInScript({ query }: ScratchPostgres, workspaceId: string): Promise<string> {
  const { token, userId } = await makePerson(query, { workspaceId, role: 'owner' })
  return `sessionStorage.setItem('keyrail.session', ${JSON.stringify(JSON.stringify({ token, userId }))})`
}

/** A page in a new, empty profile. */
export interface Tab extends Resource {
  readonly context: BrowserContext
  readonly page: Page
  readonly protocol: CDPSession
}

export async function openTab(browser: Browser): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, locale: 'en-GB' })
  const page = await context.newPage()
  return { context, page, protocol: await context.newCDPSession(page), close: () => context.close() }
}
