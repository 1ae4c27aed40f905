import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { BenchFault } from '../harness/bench.ts'
import type { HttpRequest } from '../harness/request.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'

/** Accounts with one password, hashed by the service itself. */
export type People = { emails: readonly string[]; password: string; hash: string }

const json = { 'content-type': 'application/json' }
const password = 'correct horse battery staple'

/** One signs up over the API, the others are copies: hashing each would take longer than the bench. */
export async function makePeople(url: string, { query }: ScratchPostgres, count: number): Promise<People> {
  const group = randomUUID()
  const emailOf = (n: number) => `${group}-${n}@bench.example`
  const body = JSON.stringify({ email: emailOf(0), password })
  const answer = await fetch(`${url}/v1/auth/users`, { method: 'POST', headers: json, body })
  if (answer.status !== 202) throw new BenchFault(`a sign-up was answered ${answer.status}`)
  const [first] = await query(
    'select hash from user_passwords join users on id = user_id where address_key = $1',
    [emailOf(0)],
  )
  if (first === undefined) throw new BenchFault('the sign-up created no account')
  const emails = Array.from({ length: count }, (_, n) => emailOf(n))
  await query(
    `with made as (
       insert into users (id, email, address_key, created_at, updated_at)
       select gen_random_uuid(), email, email, service_now(), service_now() from unnest($1::text[]) email
       returning id
     )
     insert into user_passwords (user_id, hash) select id, $2 from made`,
    [emails.slice(1), first.hash],
  )
  return { emails, password, hash: String(first.hash) }
}

/** The right password for each account in turn. */
export const signIns = ({ emails }: People): HttpRequest[] =>
  emails.map(email => ({
    method: 'POST' as const,
    path: '/v1/auth/sessions',
    headers: json,
    body: JSON.stringify({ email, password }),
  }))

/** Longer than a sign-in takes once its turn comes. */
const LOOK_EVERY_MS = 250

/** How many sessions were ever opened, once the sign-ins cut off by the end of a load have ended. */
export async function settledSessions({ query }: ScratchPostgres): Promise<number> {
  const count = async () => Number((await query('select count(*) as rows from sessions'))[0]?.rows)
  let before = await count()
  for (;;) {
    await sleep(LOOK_EVERY_MS)
    const after = await count()
    if (after === before) return after
    before = after
  }
}
