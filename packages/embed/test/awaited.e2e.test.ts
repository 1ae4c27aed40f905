import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStage, tokenOf } from './stage.ts'

const stage = await openStage()

/** A page whose function for tokens answers when the test says so. */
async function visitSlow() {
  const vendor = await stage.makeVendor()
  const answers: PromiseWithResolvers<string>[] = []
  const visit = await stage.visit({
    token() {
      const answer = Promise.withResolvers<string>()
      answers.push(answer)
      return answer.promise
    },
    hasClock: true,
    mayFail: /getToken.. is awaited/,
  })
  const logged: string[] = []
  visit.page.on('console', message => logged.push(message.text()))
  const asked = async (times: number) => {
    while (answers.length < times) await visit.page.waitForTimeout(20)
  }
  return { visit, vendor, answers, logged, asked, clock: visit.page.clock }
}

test('a token that does not come is said after five seconds, and its coming shows the keys', async () => {
  const { visit, vendor, answers, logged, asked, clock } = await visitSlow()
  await asked(1)
  await clock.fastForward(5_000)
  await visit.text('This page has not answered yet')
  assert.deepEqual(logged, ['<keyrail-keys>: getToken() is awaited.'])
  assert.deepEqual(await visit.events(), [
    'error {"code":"token_awaited","message":"getToken() is awaited.","request_id":null}',
  ])
  await visit.look('awaited')
  answers[0]?.resolve(await tokenOf(stage, vendor))
  await visit.text('No keys yet')
  assert.equal(answers.length, 1)
  await visit.leave()
})

test('while a token is awaited, Try again asks the page once more, and the first answer counts', async () => {
  const { visit, vendor, answers, asked, clock } = await visitSlow()
  await asked(1)
  await clock.fastForward(5_000)
  await visit.button('Try again').click()
  await asked(2)
  answers[0]?.resolve(await tokenOf(stage, vendor))
  await visit.text('No keys yet')
  assert.equal(answers.length, 2)
  await visit.leave()
})

test('a widget whose first question hangs for ever asks again by itself', async () => {
  const { visit, vendor, answers, asked, clock } = await visitSlow()
  await asked(1)
  await clock.fastForward(5_000)
  await visit.text('This page has not answered yet')
  await clock.runFor(10_000)
  await asked(2)
  answers[1]?.resolve(await tokenOf(stage, vendor))
  await visit.text('No keys yet')
  await visit.leave()
})
