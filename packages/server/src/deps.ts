import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { Exports } from './audit/export.ts'
import { createSignHeads, type SignHeads } from './audit/signed-head.ts'
import { createDeriveChain } from './audit/verify.ts'
import type { Config } from './config.ts'
import { type Authenticate, createAuthenticate } from './gate/authenticate.ts'
import { type AuthenticateEmbed, createAuthenticateEmbed } from './gate/authenticate-embed.ts'
import { openHotCredentials } from './gate/hot-credentials.ts'
import { type FindStanding, openLookup } from './gate/lookup.ts'
import { type Idempotency, openIdempotency } from './idempotency/service.ts'
import { pruneBodies, pruneClaims } from './idempotency/upkeep.ts'
import { inviteLetters } from './invites/letters.ts'
import { type FindAccount, openFindAccount } from './people/find-account.ts'
import { personLetters } from './people/letters.ts'
import { pruneSessions, pruneTokens } from './people/upkeep.ts'
import { type Clock, systemClock } from './platform/clock.ts'
import { type EmbedTokens, openEmbedTokens } from './platform/crypto/embed-token.ts'
import { openPasswords, type Passwords } from './platform/crypto/password.ts'
import { openSigningKeys } from './platform/crypto/signing-keys.ts'
import { type Cursors, createCursors } from './platform/cursor.ts'
import type { Connection } from './platform/db/connection.ts'
import { openHints } from './platform/db/hints.ts'
import { type Db, openDb } from './platform/db/pool.ts'
import { openReadiness, type Readiness } from './platform/db/readiness.ts'
import { pruneReplays } from './platform/db/replay.ts'
import { serviceSecret } from './platform/db/service-secret.ts'
import { pruneSigningKeys } from './platform/db/signing-keys.ts'
import { startUpkeep } from './platform/db/upkeep.ts'
import { createLargeBodies, type LargeBodies, signedBytesMax } from './platform/http/large-bodies.ts'
import { idMaker, type MakeId } from './platform/ids.ts'
import type { Logger } from './platform/log.ts'
import { type Mail, openMail } from './platform/mail/mail.ts'
import { freeStuckMail, pruneFailedMail, pruneMailThrottles } from './platform/mail/upkeep.ts'
import { type Metrics, uncounted } from './platform/metrics.ts'
import { createSignInGuard, type SignInGuard } from './platform/throttle/sign-in-guard.ts'
import { openPolicyFeed, type PolicyFeed } from './policy/service.ts'
import { pruneChanges, pruneNodes } from './policy/upkeep.ts'
import { openPostgresCounters } from './ratelimit/postgres.ts'
import type { CounterStore } from './ratelimit/store.ts'
import { pruneCounters } from './ratelimit/upkeep.ts'
import { openReports, type Reports } from './usage/reports.ts'
import { pruneUsageHours, pruneUsageMonths, pruneUsageReports } from './usage/upkeep.ts'
import { version } from './version.ts'
import { type CodehostKeys, openCodehostKeys } from './webhooks/codehost-keys.ts'
import { type FindLeaked, openFindLeaked } from './webhooks/find-leaked.ts'
import { leakLetters } from './webhooks/letters.ts'
import { readKeysFrom } from './webhooks/read-keys.ts'
import { pruneLeaks } from './webhooks/upkeep.ts'

/** All that the rooms are given from outside: the store, time, chance, and where to tell what happens. */
export interface Deps {
  readonly config: Config
  readonly log: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly randomBytes: (size: number) => Buffer
  readonly makeId: MakeId
  readonly db: Db
  /** For long reads that must not hold a connection of the pool. */
  readonly connection: Connection
  readonly cursors: Cursors
  readonly authenticate: Authenticate
  /** The same, from what was found a few seconds ago. */
  readonly authenticateHot: Authenticate
  readonly authenticateEmbed: AuthenticateEmbed
  readonly embedTokens: EmbedTokens
  readonly embedStanding: FindStanding
  readonly readiness: Readiness
  readonly auditHeads: SignHeads
  readonly auditExports: Exports
  readonly policy: PolicyFeed
  readonly counters: CounterStore
  readonly idempotency: Idempotency
  readonly usageReports: Reports
  readonly codehostKeys: CodehostKeys
  readonly findLeaked: FindLeaked
  readonly largeBodies: LargeBodies
  /** The same for bodies whose signature is all that their sender has. */
  readonly signedBodies: LargeBodies
  readonly accounts: FindAccount
  readonly passwords: Passwords
  readonly signIns: SignInGuard
  readonly mail: Mail
  /** Aborted when the service is about to close: who is kept waiting is answered. */
  readonly closing: AbortSignal
  /** Answers those who are kept waiting, and keeps nobody waiting from now on. */
  drain(): void
  close(): Promise<void>
}

export interface Outside {
  config: Config
  log: Logger
  connection: Connection
  /** The same database past a pooler, where there is one: LISTEN needs a session of its own. */
  directConnection?: Connection
  clock?: Clock
  randomBytes?: (size: number) => Buffer
}

/** The library takes a tenth of the time in which the service starts; only a port brings it in. */
async function countedMetrics(): Promise<Metrics> {
  const { createMetrics } = await import('./platform/prometheus.ts')
  return createMetrics({ version, node: process.version })
}

/** The library is read only where there is a Redis. */
async function openCounters({ redisUrl }: Config, connection: Connection, log: Logger, metrics: Metrics) {
  if (redisUrl === null) return openPostgresCounters(connection, metrics)
  const { openRedisCounters } = await import('./ratelimit/redis.ts')
  return await openRedisCounters(redisUrl, { log, observer: metrics })
}

/** Opens what the service stands on. The database must be migrated. */
export async function openDeps(outside: Outside): Promise<Deps> {
  const { config, log, connection, clock = systemClock } = outside
  const draw = outside.randomBytes ?? randomBytes
  const metrics = config.metricsPort === null ? uncounted : await countedMetrics()
  // First, for it may refuse, and nothing else is open then.
  const counters = await openCounters(config, connection, log, metrics)
  const cursorSecret = await serviceSecret(connection, 'cursor', draw)
  const hints = openHints(outside.directConnection ?? connection, metrics)
  const db = openDb(connection, config.databasePool, hints, metrics)
  const lookup = openLookup(connection, config.sessionIdleS, metrics)
  const hotCredentials = openHotCredentials(lookup.find, config.hotAuthCacheMs, clock, hints)
  const authenticate = createAuthenticate(lookup, lookup.find, config.bootstrapToken)
  const signingKeys = openSigningKeys(connection, config.signingKey, clock)
  const embedTokens = openEmbedTokens(signingKeys, config.publicUrl, clock)
  const readiness = openReadiness(connection, metrics)
  const policy = openPolicyFeed(connection, clock, hints, metrics)
  const idempotency = openIdempotency(connection, metrics)
  const usageReports = openReports(connection, metrics)
  const findLeaked = openFindLeaked(connection, metrics)
  const largeBodies = createLargeBodies()
  const signedBodies = createLargeBodies(signedBytesMax)
  const accounts = openFindAccount(connection, metrics)
  const passwords = openPasswords({ randomBytes: draw, log, metrics })
  const closing = new AbortController()
  const signIns = createSignInGuard({
    clock,
    // Nobody is kept waiting by a service that closes.
    sleep: milliseconds => setTimeout(milliseconds, undefined, { signal: closing.signal }).catch(() => {}),
    perNetworkMinute: config.authPerIp,
  })
  const letterParts = { db, randomBytes: draw, publicUrl: config.publicUrl }
  const mail = openMail({
    ...config.mail,
    connection: outside.directConnection ?? connection,
    letters: { ...personLetters(letterParts), ...inviteLetters(letterParts), ...leakLetters(letterParts) },
    clock,
    randomBytes: draw,
    log,
    metrics,
  })
  const stopUpkeep = startUpkeep(
    connection,
    [
      pruneChanges,
      pruneNodes,
      pruneReplays,
      pruneCounters,
      pruneClaims,
      pruneBodies,
      pruneUsageReports,
      pruneUsageHours,
      pruneUsageMonths,
      pruneSessions,
      pruneTokens,
      pruneLeaks,
      pruneMailThrottles,
      pruneFailedMail,
      freeStuckMail,
      pruneSigningKeys,
    ],
    log,
    draw,
  )

  metrics.watch('keyrail_pool_connections', 'Connections of the management pool.', () => {
    const { total, idle } = db.depth()
    return [
      { labels: { state: 'busy' }, value: total - idle },
      { labels: { state: 'idle' }, value: idle },
    ]
  })
  metrics.watch('keyrail_pool_waiting', 'Callers that wait for a connection.', () => [
    { value: db.depth().waiting },
  ])
  metrics.watch('keyrail_large_bytes', 'Bytes of large bodies and answers under way.', () => [
    { value: largeBodies.held() + signedBodies.held() },
  ])
  metrics.watch('keyrail_passwords_waiting', 'Callers that wait for a thread that hashes.', () => [
    { value: passwords.waiting() },
  ])
  metrics.watch('keyrail_lane_waiting', 'Items that wait for a statement of a lane.', () => [
    { labels: { lane: 'credential' }, value: lookup.find.depth() },
    { labels: { lane: 'last_used' }, value: lookup.touch.depth() },
    { labels: { lane: 'session' }, value: lookup.sessions.depth() },
    { labels: { lane: 'session_seen' }, value: lookup.touchSession.depth() },
    { labels: { lane: 'embed_standing' }, value: lookup.standing.depth() },
    { labels: { lane: 'account' }, value: accounts.depth() },
    { labels: { lane: 'policy_head' }, value: policy.heads.depth() },
    { labels: { lane: 'policy_nodes' }, value: policy.nodes.depth() },
    { labels: { lane: 'ratelimit' }, value: counters.depth() },
    { labels: { lane: 'idempotency_claim' }, value: idempotency.claims.depth() },
    { labels: { lane: 'idempotency_end' }, value: idempotency.ends.depth() },
    { labels: { lane: 'idempotency_answer' }, value: idempotency.answers.depth() },
    { labels: { lane: 'usage_report' }, value: usageReports.depth() },
    { labels: { lane: 'leaked' }, value: findLeaked.depth() },
  ])

  return {
    config,
    log,
    metrics,
    clock,
    randomBytes: draw,
    makeId: idMaker(clock, draw),
    db,
    connection,
    cursors: createCursors(cursorSecret),
    authenticate,
    authenticateHot: createAuthenticate(lookup, hotCredentials, config.bootstrapToken),
    authenticateEmbed: createAuthenticateEmbed({
      embedTokens,
      standing: lookup.standing,
      authenticate,
      publicUrl: config.publicUrl,
    }),
    embedTokens,
    embedStanding: lookup.standing,
    readiness,
    auditExports: new Exports(),
    auditHeads: createSignHeads(connection, config.publicUrl, draw, createDeriveChain(connection)),
    policy,
    counters,
    idempotency,
    usageReports,
    codehostKeys: openCodehostKeys(readKeysFrom(config), clock),
    findLeaked,
    largeBodies,
    signedBodies,
    accounts,
    passwords,
    signIns,
    mail,
    closing: closing.signal,
    drain: () => closing.abort(),
    async close() {
      closing.abort()
      hotCredentials.close()
      await Promise.all([stopUpkeep(), mail.close()])
      await Promise.all([
        lookup.find.close(),
        lookup.touch.close(),
        lookup.sessions.close(),
        lookup.touchSession.close(),
        lookup.standing.close(),
        readiness.close(),
        policy.close(),
        counters.close(),
        idempotency.close(),
        usageReports.close(),
        findLeaked.close(),
        accounts.close(),
        passwords.close(),
      ])
      await db.close()
      await hints.close()
    },
  }
}
