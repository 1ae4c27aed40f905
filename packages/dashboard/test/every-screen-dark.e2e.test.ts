import { test } from 'node:test'
import { walkScreens } from './every-screen.ts'
import { openStage } from './stage.ts'

test('each dark screen: no fault of axe or the console, nothing too wide, no secret', async () => {
  await walkScreens(await openStage(), 'live', [
    ['dark', 1_280],
    ['dark', 375],
  ])
})
