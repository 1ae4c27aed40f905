import { availableParallelism } from 'node:os'
import { verify } from '@node-rs/argon2'
import { serveGenerator } from '../harness/generator.ts'

/** The least that sign-ins must do: the library alone, on as many threads at once as the service uses. */
export type RawArgon2Plan = { hash: string; password: string; seconds: number }
export type RawArgon2Counts = { verified: number; perSecond: number; cpuSeconds: number }

await serveGenerator<RawArgon2Plan, RawArgon2Counts>(async ({ hash, password, seconds }) => {
  if (await verify(hash, `${password}.`)) throw new Error('a wrong password was accepted')
  const cpuBefore = process.cpuUsage()
  const began = performance.now()
  const deadline = began + seconds * 1_000
  let verified = 0
  const verifyOn = async () => {
    while (performance.now() < deadline) {
      if (!(await verify(hash, password))) throw new Error('the right password was refused')
      verified++
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, verifyOn))
  const { user, system } = process.cpuUsage(cpuBefore)
  const spent = (performance.now() - began) / 1_000
  return { verified, perSecond: verified / spent, cpuSeconds: (user + system) / 1e6 }
})
