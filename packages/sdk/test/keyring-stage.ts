import { afterEach, beforeEach } from 'node:test'
import { type Keyring, openKeyring } from '../src/keyring/keyring.ts'
import type { KeyringOptions } from '../src/keyring/options.ts'
import type { KeyrailError } from '../src/runtime/errors.ts'
import type { Notice } from '../src/runtime/reports.ts'
import { type FeedService, project, secretKey, startFeedService } from './feed-service.ts'
import { drawKey, policyKey } from './keys.ts'

/** Each test of a file that imports this has its own feed, and its keyrings close with it. */

/** The feed of the present test. */
export let service: FeedService
const open: Keyring[] = []
beforeEach(async () => {
  service = await startFeedService()
})
afterEach(async () => {
  for (const keyring of open.splice(0)) await keyring.close()
  await service.close()
})

/** A keyring on the test's clock that polls often. */
export function start(options: Partial<KeyringOptions> = {}, random = Math.random) {
  const time = { monotonic: () => performance.now() }
  const errors: KeyrailError[] = []
  const notices: Notice[] = []
  const keyring = openKeyring(
    {
      url: service.url,
      secretKey,
      project,
      pollIntervalMs: 100,
      onError: error => errors.push(error),
      onNotice: notice => notices.push(notice),
      ...options,
    },
    { clock: { wall: () => Date.now(), monotonic: () => time.monotonic() }, random },
  )
  open.push(keyring)
  return { keyring, time, errors, notices, code: (key: string) => keyring.verify(key).code }
}

/** Puts a new key into the feed. */
export function issue(number = 1): string {
  const key = drawKey()
  service.upsert(policyKey(key, number))
  return key
}
