import axe, { type AxeResults } from 'axe-core'
import type { Frame, Page } from 'playwright-core'

/**
 * What axe finds wrong in a page and in its frames: the rule, and the elements that break it. A page that is looked at again
 * loads axe once.
 *
 * @param within looks only inside the elements of this selector
 */
export async function accessibilityFaults(page: Page, within = 'html'): Promise<string[]> {
  // A frame that leaves meanwhile has nothing to look at.
  await Promise.allSettled(page.frames().map(loadAxe))
  // Axe would spend more time on selectors for all that is well than on its rules.
  const { violations } = (await page.evaluate(
    `axe.run(${JSON.stringify(within)}, { resultTypes: ['violations'] })`,
  )) as AxeResults
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

async function loadAxe(frame: Frame): Promise<void> {
  if (!(await frame.evaluate(`typeof axe === 'object'`))) await frame.evaluate(axe.source)
}
