import { serveGenerator } from '../harness/generator.ts'
import { openBetterAuth } from './better-auth.ts'
import { checkVerdicts, type IssuedKeys } from './key-verdicts.ts'
import type { VerifyingCounts } from './keyring-process.ts'

/** The peer in the vendor's process: concurrent verifications, each with its own connection. */
export type BetterAuthPlan = { databaseUrl: string; inFlight: number; keys: IssuedKeys; seconds: number }

await serveGenerator<BetterAuthPlan, VerifyingCounts>(async ({ databaseUrl, inFlight, keys, seconds }) => {
  const { verify } = openBetterAuth(databaseUrl, inFlight)
  const answer = await checkVerdicts(verify, keys, inFlight)

  const { valid } = keys
  const began = performance.now()
  const deadline = began + seconds * 1_000
  let done = 0
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (performance.now() < deadline) {
        const { key, id } = valid[done++ % valid.length] as (typeof valid)[number]
        if ((await verify(key)) !== id) throw new Error(`key ${id} was refused`)
      }
    }),
  )
  return { perSecond: done / ((performance.now() - began) / 1_000), answer }
})
