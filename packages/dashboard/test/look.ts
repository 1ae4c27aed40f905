import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { accessibilityFaults } from '../../server/test/accessibility.ts'

/** Where a person wants to see what the tests see; nothing is kept without it. */
const pictures = process.env.KEYRAIL_TEST_PICTURES

/** A theme, and a width in pixels. */
export type View = readonly ['light' | 'dark', number]

const allViews: readonly View[] = [
  ['light', 1_280],
  ['dark', 1_280],
  ['light', 375],
  ['dark', 375],
]

/** Looks at a screen, by default in both themes and two widths: axe finds no fault, and nothing overflows the page. */
export async function look(page: Page, name: string, views: readonly View[] = allViews): Promise<void> {
  const size = page.viewportSize()
  for (const [colorScheme, width] of views) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 800 })
    // The colours during a change of theme are not chosen by anyone.
    await page.evaluate(
      'Promise.allSettled(document.getAnimations().filter(one => one.effect.getTiming().iterations !== Infinity).map(one => one.finished))',
    )
    if (pictures !== undefined) {
      mkdirSync(pictures, { recursive: true })
      await page.screenshot({ fullPage: true, path: join(pictures, `${name}-${colorScheme}-${width}.png`) })
    }
    assert.deepEqual(await accessibilityFaults(page), [], `${name}, ${colorScheme}, ${width} px`)
    assert.equal(
      await page.evaluate('document.documentElement.scrollWidth > innerWidth'),
      false,
      `${name} is wider than ${width} px`,
    )
  }
  await page.emulateMedia({ colorScheme: null })
  if (size !== null) await page.setViewportSize(size)
}
