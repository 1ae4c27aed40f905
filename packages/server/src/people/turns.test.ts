import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { type Heard, startHarness } from '../../test/harness.ts'
import { type MadePerson, madePassword, makePerson } from '../../test/people.ts'
import { until } from '../../test/until.ts'
import { systemClock } from '../platform/clock.ts'
import { createSignInGuard, type SignInGuard } from './sign-in-guard.ts'

const harness = await startHarness()
const { ask, query } = harness
/** Delayed responses, until the test releases them. */
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
const signIn = (email: string, password: string) =>
  ask('POST', '/v1/auth/sessions', { body: { email, password } })

/** Four wrong passwords whose responses are held back, which take every turn. */
async function floodedBy(email: string): Promise<Promise<Heard>[]> {
  for (let i = 0; i < 10; i++) await signIn(email, 'wrong')
  const wrong = Array.from({ length: 4 }, () => signIn(email, 'wrong'))
  await until(() => held.length === wrong.length, 'every wrong answer is delayed')
  return wrong
}

/** Releases them, long after the database deadline of every pending request. */
function letGoLate(): void {
  const late = performance.now() + 60_000
  mock.method(performance, 'now', () => late)
  for (const letGo of held.splice(0)) letGo()
}

const requests: Record<string, { status: number; ask: (person: MadePerson) => Promise<Heard> }> = {
  'sign-in': { status: 201, ask: ({ email }) => signIn(email, madePassword) },
  'change of password': {
    status: 200,
    ask: ({ token }) =>
      ask('POST', '/v1/auth/me/password', {
        token,
        body: { current_password: madePassword, password: next },
      }),
  },
}

for (const [what, request] of Object.entries(requests)) {
  test(`${what}: a right password succeeds after a long wait for its turn`, async () => {
    const person = await makePerson(query)
    const before = asked
    const wrong = await floodedBy(person.email)
    const right = request.ask(person)
    await until(() => asked === before + 15, 'the right password waits for its turn')
    letGoLate()
    for (const { status } of await Promise.all(wrong)) assert.equal(status, 401)
    assert.equal((await right).status, request.status)
    mock.restoreAll()
  })
}
