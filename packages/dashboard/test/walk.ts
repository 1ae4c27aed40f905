import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
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
  /** The part of the page that is shown, with some ground around; without it, what the window shows. */
  readonly part?: (page: Page) => Locator
  readonly width?: number
  readonly height?: number
}

const text = (page: Page, shown: string) => page.getByText(shown).filter({ visible: true }).first().waitFor()
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first().click()
const select = (page: Page, name: string) => page.getByRole('checkbox', { name: `Select ${name}` }).click()
const sectionOf = (page: Page, name: string) => page.getByRole('region', { name, exact: true })

/** Asks why a request is refused, with what a customer says of it. */
async function testPausedKey(page: Page): Promise<void> {
  const scopes = page.getByRole('combobox', { name: 'Scopes that the request needs (optional)' })
  await scopes.fill('routes:read')
  await page.keyboard.press('Enter')
  await page.getByLabel('Address of the caller (optional)').fill('198.51.100.24')
  await press(page, 'Test key')
  await page.getByRole('list', { name: 'Reasons for a refusal' }).waitFor()
}

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
  {
    name: 'attention',
    path: () => '/app/',
    height: 1_600,
    part: page => sectionOf(page, 'Needs attention'),
    steps: page => text(page, 'older than Geocoding API allows'),
  },
  {
    name: 'keys-selected',
    path: ({ geocodingId }) => `/app/keys?project=${geocodingId}`,
    async steps(page) {
      await select(page, 'Trip search')
      await select(page, 'Store finder')
      await text(page, 'that match')
    },
  },
  {
    name: 'keys-pause',
    path: ({ geocodingId }) => `/app/keys?project=${geocodingId}`,
    async steps(page) {
      await select(page, 'Trip search')
      await page.getByRole('button', { name: /^Select all \d+ that match$/ }).click()
      await press(page, 'Pause')
      await text(page, 'as the service counts.')
    },
  },
  {
    name: 'paused',
    path: ({ pausedKeyId }) => `/app/keys/${pausedKeyId}`,
    steps: page => text(page, 'Ten times the usual requests'),
  },
  {
    name: 'paused-phone',
    path: ({ pausedKeyId }) => `/app/keys/${pausedKeyId}`,
    width: 375,
    height: 720,
    steps: page => text(page, 'Ten times the usual requests'),
  },
  {
    name: 'explain',
    path: ({ pausedKeyId }) => `/app/keys/${pausedKeyId}`,
    height: 1_800,
    part: page => sectionOf(page, 'Test this key'),
    steps: testPausedKey,
  },
  {
    name: 'explain-phone',
    path: ({ pausedKeyId }) => `/app/keys/${pausedKeyId}`,
    width: 375,
    height: 3_200,
    part: page => sectionOf(page, 'Test this key'),
    steps: testPausedKey,
  },
  {
    name: 'suspended',
    path: ({ suspendedTenantId }) => `/app/tenants/${suspendedTenantId}`,
    steps: page => text(page, 'Delivery estimates'),
  },
]

/** The customer portal of the examples. */
interface PortalPicture {
  readonly name: string
  /** The customer who signs in. */
  readonly email: string
  /** The customer may say from where keys work, which the portal of the examples does not let them. */
  readonly isRestricting?: boolean
  readonly steps?: (page: Page) => Promise<void>
  readonly width?: number
  readonly height: number
}

/** Globex keeps its keys within its own networks. */
const restricting = {
  email: 'ann@globex.example',
  isRestricting: true,
  async steps(page: Page) {
    await page.getByRole('button', { name: 'Edit: Keys work from' }).click()
    await page.getByRole('textbox', { name: 'Works from' }).fill('203.0.113.0/24\n2001:db8:40::/44')
  },
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
  { ...restricting, name: 'widget-networks', height: 720 },
  { ...restricting, name: 'widget-networks-phone', width: 320, height: 640 },
]

const schemes = ['light', 'dark'] as const
const settings = {
  deviceScaleFactor: scale,
  locale: 'en-GB',
  timezoneId: 'UTC',
}

/** Around a part of a page, in pixels. */
const ground = 16

async function take(page: Page, name: string, part?: Locator): Promise<void> {
  await page.waitForLoadState('networkidle')
  await page.evaluate('document.activeElement?.blur()')
  const browser = await page.context().newCDPSession(page)
  const box = await part?.boundingBox()
  const clip = box && {
    x: box.x - ground,
    y: box.y - ground,
    width: box.width + 2 * ground,
    height: box.height + 2 * ground,
    scale: 1,
  }
  const { data } = await browser.send('Page.captureScreenshot', {
    format: 'webp',
    quality,
    ...(clip && { clip }),
  })
  writeFileSync(join(folder, `${name}.webp`), Buffer.from(data, 'base64'))
}

mkdirSync(folder, { recursive: true })

test('every picture of the dashboard is taken, in light and dark', async () => {
  const stage = await openStage({}, drawSame(1))
  const story = await tellStory(stage.harness)
  for (const { name, path, steps, part, width = 1_280, height = 800 } of pictures) {
    for (const colorScheme of schemes) {
      const visit = await stage.visit(path(story), {
        ...settings,
        as: story.owner,
        now: storyNow,
        colorScheme,
        viewport: { width, height },
      })
      await steps(visit.page)
      await take(visit.page, `${name}-${colorScheme}`, part?.(visit.page))
      await visit.leave()
    }
  }
})

test('every picture of the widget is taken, in light and dark', async () => {
  const stage = await openStage({}, drawSame(2))
  const portal = await openPortal(stage)
  after(() => portal.stop())
  for (const { name, email, steps, isRestricting, width = 960, height } of portalPictures) {
    const page = await stage.browser.newPage({ ...settings, viewport: { width, height } })
    await page.context().grantPermissions(['clipboard-write'])
    await page.clock.setFixedTime(storyNow)
    if (isRestricting)
      await page.route('**/keyrail-token', async one => one.fulfill({ json: await portal.mint() }))
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
