import { test } from 'node:test'
import { walkScreens } from './every-screen.ts'
import { openStage } from './stage.ts'

test('each screen in test: no fault of axe or the console, nothing too wide, no secret', async () => {
  await walkScreens(await openStage(), 'test', [
    ['light', 1_280],
    ['light', 375],
    ['dark', 1_280],
    ['dark', 375],
  ])
})
