import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Page } from 'playwright-core'
import { openPortal } from './portal-story.ts'
import { openStage } from './stage.ts'
import { drawSame, type Story, storyNow, tellStory } from './story.ts'

/** Takes the pictures of README and docs, on services that it starts. `npm run pictures` runs it. */
const folder = join(import.meta.dirname, '..', '..', '..', 'docs', 'pictures')
/** Twice the pixels, so that text is sharp; lossy, so that a picture stays below 150 KB. */
const scale = 2
const quality = 80

interface Picture {
  readonly name: string
  readonly path: (story: Story) => string
  /** Comes to the state of the picture. */
  readonly steps: (page: Page) => Promise<void>
  readonly width?: number
  readonly height?: number
}

const text = (page: Page, shown: string) => page.getByText(shown).filter({ visible: true }).first().waitFor()
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first().click()

const pictures: readonly Picture[] = [
  {
    name: 'overview',
    path: () => '/app/',
    steps: page =>
      page.getByRole('region', { name: 'Newest rows of the audit log' }).getByRole('row').nth(4).waitFor(),
  },
  { name: 'keys', path: () => '/app/keys', steps: page => text(page, 'Fernway Logistics') },
  {
    name: 'key',
    path: ({ rotatedKeyId }) => `/app/keys/${rotatedKeyId}`,
    height: 1_240,
    steps: page => page.getByRole('heading', { name: 'Changes' }).waitFor(),
  },
  {
    name: 'revoke',
    path: ({ busiestKeyId }) => `/app/keys/${busiestKeyId}`,
    async steps(page) {
      await press(page, 'Revoke key')
      await page.getByRole('dialog').getByText(/nodes/).first().waitFor()
    },
  },
  {
    name: 'project',
    path: ({ projectId }) => `/app/projects/${projectId}`,
    height: 1_800,
    steps: page => text(page, 'us-east-1'),
  },
  { name: 'usage', path: () => '/app/usage', steps: page => text(page, 'Fernway Logistics') },
  {
    name: 'audit-log',
    path: () => '/app/audit-log',
    async steps(page) {
      await press(page, 'Tenant changed')
      await page.getByRole('region', { name: /^What changed in row/ }).waitFor()
    },
  },
  {
    name: 'phone',
    path: () => '/app/keys',
    width: 375,
    height: 720,
    steps: page => text(page, 'Dispatch backend'),
  },
]

/** The customer portal of the examples. */
interface PortalPicture {
  readonly name: string
  /** The customer who signs in. */
  readonly email: string
  readonly steps?: (page: Page) => Promise<void>
  readonly width?: number
  readonly height: number
}

const portalPictures: readonly PortalPicture[] = [
  { name: 'widget', email: 'ann@globex.example', height: 720 },
  { name: 'widget-empty', email: 'bob@initech.example', height: 320 },
  {
    name: 'widget-secret',
    email: 'bob@initech.example',
    height: 480,
    async steps(page) {
      await press(page, 'Create key')
      await page.getByLabel('Name').fill('Build server')
      await page.getByLabel('payments:read').check()
      await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('button', { name: 'Copy key' }).click()
      await text(page, 'Copied')
    },
  },
  { name: 'widget-phone', email: 'ann@globex.example', width: 320, height: 640 },
]

const schemes = ['light', 'dark'] as const
const settings = {
  deviceScaleFactor: scale,
  locale: 'en-GB',
  timezoneId: 'UTC',
}

async function take(page: Page, name: string): Promise<void> {
  await page.waitForLoadState('networkidle')
  await page.evaluate('document.activeElement?.blur()')
  const browser = await page.context().newCDPSession(page)
  const { data } = await browser.send('Page.captureScreenshot', { format: 'webp', quality })
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, 'base64'))
}

mkdirSync(folder, { recursive: true })

test('every picture of the dashboard is taken, in light and dark', async () => {
  const stage = await openStage({}, drawSame(1))
  const story = await tellStory(stage.harness)
  for (const { name, path, steps, width = 1_280, height = 800 } of pictures) {
    for (const colorScheme of schemes) {
      const visit = await stage.visit(path(story), {
        ...settings,
        as: story.owner,
        now: storyNow,
        colorScheme,
        viewport: { width, height },
      })
      await steps(visit.page)
      await take(visit.page, `${name}-${colorScheme}`)
      await visit.leave()
    }
  }
})

test('every picture of the widget is taken, in light and dark', async () => {
  const stage = await openStage({}, drawSame(2))
  const portal = await openPortal(stage)
  after(() => portal.stop())
  for (const { name, email, steps, width = 960, height } of portalPictures) {
    const page = await stage.browser.newPage({ ...settings, viewport: { width, height } })
    await page.context().grantPermissions(['clipboard-write'])
    await page.clock.setFixedTime(storyNow)
    await page.goto(portal.url)
    await page.getByLabel('E-mail').fill(email)
    await press(page, 'Sign in')
    await page
      .getByText(/No keys yet|requests in 30 days/)
      .first()
      .waitFor()
    await steps?.(page)
    // A key is created once for both.
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      await take(page, `${name}-${colorScheme}`)
    }
    await page.context().close()
  }
})
