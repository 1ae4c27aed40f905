import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Heard, startHarness } from '../../test/harness.ts'
import { madePassword, makePerson } from '../../test/people.ts'
import { systemClock } from '../platform/clock.ts'
import { createSignInGuard, type SignInGuard } from '../platform/throttle/sign-in-guard.ts'

const harness = await startHarness()
const { ask, query } = harness
/** Answers that are held, until they are let go. */
const held: (() => void)[] = []
const guard = createSignInGuard({
  clock: systemClock,
  sleep: () => new Promise<void>(resolve => held.push(resolve)),
  perNetworkMinute: null,
})
let asked = 0
const signIns: SignInGuard = {
  check(...call) {
    asked += 1
    return guard.check(...call)
  },
}
Object.assign(harness.deps, { signIns })

const next = 'another long enough word'
const until = async (holds: () => boolean) => {
  while (!holds()) await setImmediate()
}
const signIn = (email: string, password: string) =>
  ask('POST', '/v1/auth/sessions', { body: { email, password } })

/** Four wrong passwords that are held, with which every turn is taken. */
async function floodedBy(email: string): Promise<Promise<Heard>[]> {
  for (let i = 0; i < 10; i++) await signIn(email, 'wrong')
  const wrong = Array.from({ length: 4 }, () => signIn(email, 'wrong'))
  await until(() => held.length === wrong.length)
  return wrong
}

/** Lets go what is held, long after every request under way should have had its answer from the store. */
function letGoLate(): void {
  const late = performance.now() + 60_000
  mock.method(performance, 'now', () => late)
  for (const letGo of held.splice(0)) letGo()
}

test('a right password that had to wait long for its turn is not refused for it', async () => {
  const { email, token } = await makePerson(query)
  const wrong = await floodedBy(email)
  const right = signIn(email, madePassword)
  const change = ask('POST', '/v1/auth/me/password', {
    token,
    body: { current_password: madePassword, password: next },
  })
  await until(() => asked === 16)
  letGoLate()
  for (const { status } of await Promise.all(wrong)) assert.equal(status, 401)
  assert.deepEqual([(await right).status, (await change).status], [201, 200])
  mock.restoreAll()
})
