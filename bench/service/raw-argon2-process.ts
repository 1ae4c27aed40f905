import { availableParallelism } from 'node:os'
import { verify } from '@node-rs/argon2'
import { serveGenerator } from '../harness/generator.ts'

/** The least that sign-ins must do: the library alone, on as many of its threads at once as the service has. */
export type RawArgon2Plan = { hash: string; password: string; seconds: number }
export type RawArgon2Counts = { verified: number; perSecond: number }

await serveGenerator<RawArgon2Plan, RawArgon2Counts>(async ({ hash, password, seconds }) => {
  if (await verify(hash, `${password}.`)) throw new Error('a wrong password was found right')
  const began = performance.now()
  const deadline = began + seconds * 1_000
  let verified = 0
  const verifyOn = async () => {
    while (performance.now() < deadline) {
      if (!(await verify(hash, password))) throw new Error('the right password was found wrong')
      verified++
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, verifyOn))
  return { verified, perSecond: verified / ((performance.now() - began) / 1_000) }
})
