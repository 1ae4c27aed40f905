import { setImmediate as turn } from 'node:timers/promises'
import { createKeyring } from '../../packages/sdk/src/keyring/keyring.ts'
import { createUsageReporter } from '../../packages/sdk/src/usage/reporter.ts'
import { serveGenerator } from '../harness/generator.ts'
import { checkVerdicts, type IssuedKeys, type KeyVerdicts } from './key-verdicts.ts'

/**
 * A vendor's process in normal operation: a keyring that follows the service, and a reporter that sends usage. Between
 * batches the event loop turns, so that polls and reports go on, and are part of the measurement.
 */
export type KeyringPlan = {
  url: string
  token: string
  projectId: string
  keys: IssuedKeys
  seconds: number
}
export type VerifyingCounts = { perSecond: number; answer: KeyVerdicts }

/** Verifications between two turns of the loop, about 5 ms: the longest that a request may have to wait. */
const BATCH = 5_000
const required = { scopes: ['orders:read'] }

await serveGenerator<KeyringPlan, VerifyingCounts>(async ({ url, token, projectId, keys, seconds }) => {
  const fail = (error: Error) => {
    console.error(error.message)
    process.exit(1)
  }
  const connection = { url, secretKey: token, onError: fail }
  const keyring = createKeyring({ ...connection, project: projectId, maxCachedKeys: keys.valid.length * 2 })
  const usage = createUsageReporter(connection)
  await keyring.ready()
  const verify = (key: string) => {
    const verdict = keyring.verify(key, required)
    return verdict.valid ? verdict.keyId : null
  }
  const answer = await checkVerdicts(verify, keys, 1)

  const texts = keys.valid.map(({ key }) => key)
  const began = performance.now()
  const deadline = began + seconds * 1_000
  let done = 0
  while (performance.now() < deadline) {
    for (let i = 0; i < BATCH; i++) {
      const verdict = keyring.verify(texts[(done + i) % texts.length], required)
      if (!verdict.valid) throw new Error(`a key was refused: ${verdict.code}`)
      usage.count(verdict)
    }
    done += BATCH
    await turn()
  }
  await usage.flush()
  const perSecond = done / ((performance.now() - began) / 1_000)
  const { reported } = usage.stats()
  if (reported !== done) throw new Error(`${reported} of ${done} verifications were reported`)
  return { perSecond, answer }
})
