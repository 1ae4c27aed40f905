import { createAdmin } from '../packages/sdk/src/admin.ts'
import { createKeyring, type KeyringOptions } from '../packages/sdk/src/index.ts'
import { type FeedService, project, secretKey, startFeedService } from '../packages/sdk/test/feed-service.ts'
import { deltaOf, openWitness, snapshotOf } from '../packages/sdk/test/hostile/node.ts'
import { drawKey, policyKey } from '../packages/sdk/test/keys.ts'
import { until } from '../packages/sdk/test/until.ts'
import { nothing, type Said, type Situation, thrownBy } from './sdk-said.ts'
import { answering } from './sdk-servers.ts'

/** Answers of a service that works, and what a node says of them. */

/**
 * The first thing that a working node says, to `onError` or `onNotice`, after the answers change.
 *
 * @param at which of the errors, from 0
 */
async function answered(
  begin: (feed: FeedService) => void,
  options: KeyringOptions = {},
  at = 0,
): Promise<Said> {
  const feed = await startFeedService()
  feed.upsert(policyKey(drawKey(), 1))
  feed.upsert(policyKey(drawKey(), 2))
  const { keyring, errors, notices } = openWitness(feed, options)
  await using _closed = keyring
  await keyring.ready().catch(() => {})
  begin(feed)
  await until(() => errors.length > at || notices.length > 0, 'a message arrives')
  await feed.close()
  return errors[at] ?? notices[0] ?? nothing
}

function withoutEnd(feed: FeedService): void {
  let page = 0
  feed.misbehave = () =>
    snapshotOf(feed, { keys: [policyKey(drawKey(), 10 + page)], next_cursor: `c${page++}` })
}

const longAgo = '2020-01-01T00:00:00Z'
export const answers: readonly Situation[] = [
  [
    'a clock that was set back',
    "The time of the service's answers went back by … s: a cache returned an old answer, or a clock was set back",
    () => answered(feed => feed.instead.push(deltaOf(feed, [], { generated_at: longAgo }))),
  ],
  [
    'a cache',
    'The answer is old, as from a cache: …. Do not cache answers between this node and the service. Still trying',
    () => answered(feed => feed.instead.push(snapshotOf(feed, { keys: [], generated_at: longAgo })), {}, 1),
  ],
  [
    'a restored database',
    "The policy version went back from … to …: the service's database was restored or failed over, or a cache returned an old answer",
    () =>
      answered(feed => {
        feed.version = 1
      }),
  ],
  [
    'a key of a newer kind',
    'The API key … cannot be read and is refused: …. A newer version of @keyrail/sdk may be able to read it',
    () =>
      answered(feed => {
        const odd = { ...policyKey(drawKey(), 3), env: 'preview' }
        feed.instead.push(snapshotOf(feed, { keys: [odd] }))
      }),
  ],
  [
    'a snapshot whose pages do not end',
    'A snapshot has taken … s and … pages so far and goes on; meanwhile the keys held go stale',
    () => answered(withoutEnd, { cachedTtlMs: 1_000 }),
  ],
  [
    'the end of its time',
    'A snapshot has taken … s and … pages so far, which is too long, and was given up: the keys would be stale before they are served. Still trying',
    () => answered(withoutEnd, { cachedTtlMs: 1_000 }, 1),
  ],
  [
    'too many keys',
    'There are more than … keys, the most this node may hold: narrow the keyring with tenantIds, or raise maxCachedKeys',
    () => answered(() => {}, { maxCachedKeys: 1, maxAutoCachedKeys: 0 }),
  ],
  [
    'a node that is nearly full',
    "This node holds … keys of the … that it may hold. Beyond these it refuses keys as not_held, and a new process does not start. Set maxAutoCachedKeys to 'memory', or raise it",
    () => answered(() => {}, { maxCachedKeys: 2, maxAutoCachedKeys: 2 }),
  ],
  [
    'more keys than expected',
    'There are more keys than maxCachedKeys: this node may now hold …',
    () => answered(() => {}, { maxCachedKeys: 1 }),
  ],
  [
    'a secret key without a permission for names',
    'The feed leaves out names, and the meta of tenants: the secret key lacks the permission policy:labels. Verdicts are without them',
    () =>
      answered(
        feed => {
          feed.instead.push(snapshotOf(feed, { features: ['external_id'], keys: [] }))
        },
        { names: true },
      ),
  ],
  [
    'a directory that is a file',
    'cacheDir is not used: …',
    () => answered(() => {}, { cacheDir: import.meta.filename }),
  ],
  [
    'a service that hangs',
    'GET … was not answered in time by …',
    async () => {
      const { url } = await answering(() => {})
      return thrownBy(() => createAdmin({ url, secretKey, maxRetries: 0, timeoutMs: 50 }).workspace.get())
    },
  ],
  [
    'a function that hangs',
    'GET … was not sent: the function secretKey did not return in time',
    () => {
      const hanging = () => new Promise<string>(() => {})
      const url = 'https://keys.example.com'
      return thrownBy(() =>
        createAdmin({ url, secretKey: hanging, maxRetries: 0, timeoutMs: 50 }).workspace.get(),
      )
    },
  ],
  [
    'a close before the start',
    'The keyring was closed',
    async () => {
      const keyring = createKeyring({ ...(await answering(() => {})), secretKey, project })
      const ended = thrownBy(() => keyring.ready())
      await keyring.close()
      return ended
    },
  ],
]
