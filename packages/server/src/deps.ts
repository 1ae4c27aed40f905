import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { Exports } from './audit/exports.ts'
import { createSignHeads, type SignHeads } from './audit/signed-head.ts'
import { createDeriveChain } from './audit/verify.ts'
import { choresOf } from './chores.ts'
import type { Config } from './config.ts'
import { type Authenticate, createAuthenticate } from './gate/authenticate.ts'
import { type AuthenticateEmbed, createAuthenticateEmbed } from './gate/authenticate-embed.ts'
import { openHotCredentials } from './gate/hot-credentials.ts'
import { type FindStanding, openLookup } from './gate/lookup.ts'
import { watchDepths } from './gauges.ts'
import { type Idempotency, openIdempotency } from './idempotency/service.ts'
import { openStoredBytes } from './idempotency/stored-bytes.ts'
import { type FindInvited, openFindInvited } from './invites/find-invited.ts'
import { inviteLetters } from './invites/letters.ts'
import { type FindAccount, openFindAccount } from './people/find-account.ts'
import { personLetters } from './people/letters.ts'
import { type Clock, systemClock } from './platform/clock.ts'
import { type EmbedTokens, openEmbedTokens } from './platform/crypto/embed-token.ts'
import { openPasswords, type Passwords } from './platform/crypto/password.ts'
import { openSigningKeys } from './platform/crypto/signing-keys.ts'
import { type Cursors, createCursors } from './platform/cursor.ts'
import type { Connection } from './platform/db/connection.ts'
import { openHints } from './platform/db/hints.ts'
import { type Db, openDb } from './platform/db/pool.ts'
import { openReadiness, type Readiness } from './platform/db/readiness.ts'
import { openSealedStore } from './platform/db/sealed-store.ts'
import { serviceSecret } from './platform/db/service-secret.ts'
import { startUpkeep } from './platform/db/upkeep.ts'
import { type JsonThread, openJsonThread } from './platform/http/json-thread.ts'
import { createLargeBodies, type LargeBodies, signedBytesMax } from './platform/http/large-bodies.ts'
import { idMaker, type MakeId } from './platform/ids.ts'
import type { Logger } from './platform/log.ts'
import { type Mail, openMail } from './platform/mail/mail.ts'
import { type Metrics, uncounted } from './platform/metrics.ts'
import { createSignInGuard, type SignInGuard } from './platform/throttle/sign-in-guard.ts'
import { openPolicyFeed, type PolicyFeed } from './policy/service.ts'
import { openCounterRows } from './ratelimit/counter-rows.ts'
import { openPostgresCounters } from './ratelimit/postgres.ts'
import type { CounterStore } from './ratelimit/store.ts'
import { ownerLetters } from './security-events/letters.ts'
import { openSecurityEvents, type SecurityEvents } from './security-events/writer.ts'
import { openReports, type Reports } from './usage/reports.ts'
import { version } from './version.ts'
import { type CodehostKeys, openCodehostKeys } from './webhooks/codehost-keys.ts'
import { type FindLeaked, openFindLeaked } from './webhooks/find-leaked.ts'
import { leakLetters } from './webhooks/letters.ts'
import { readKeysFrom } from './webhooks/read-keys.ts'

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
  readonly securityEvents: SecurityEvents
  readonly largeBodies: LargeBodies
  /** The same for bodies whose signature is all that their sender has. */
  readonly signedBodies: LargeBodies
  /** Reads what is large, so that nobody waits for it. */
  readonly jsonThread: JsonThread
  readonly accounts: FindAccount
  readonly invitedAddresses: FindInvited
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
async function openCounters(config: Config, connection: Connection, log: Logger, metrics: Metrics) {
  const { redisUrl, maxCountersPerWorkspace } = config
  if (redisUrl === null) {
    const rows = openCounterRows(connection, maxCountersPerWorkspace, systemClock, log)
    return openPostgresCounters(connection, metrics, rows)
  }
  const { openRedisCounters } = await import('./ratelimit/redis.ts')
  return await openRedisCounters(redisUrl, { log, observer: metrics })
}

/**
 * Opens what the service stands on. The database must be migrated.
 * @throws {UnknownKey} when secrets in the database are sealed by a key that is not given.
 */
export async function openDeps(outside: Outside): Promise<Deps> {
  const { config, log, connection, clock = systemClock } = outside
  const draw = outside.randomBytes ?? randomBytes
  const metrics = config.metricsPort === null ? uncounted : await countedMetrics()
  // First, for it may refuse, and nothing else is open then.
  const counters = await openCounters(config, connection, log, metrics)
  const sealed = await openSealedStore(connection, config, draw)
  const cursorSecret = await serviceSecret(sealed, 'cursor', draw)
  const hints = openHints(outside.directConnection ?? connection, metrics)
  const db = openDb(connection, config.databasePool, hints, metrics)
  const lookup = openLookup(connection, config.sessionIdleS, metrics)
  const hotCredentials = openHotCredentials(lookup.find, config.hotAuthCacheMs, clock, hints)
  const authenticate = createAuthenticate(lookup, lookup.find, config.bootstrapToken)
  const signingKeys = openSigningKeys(sealed, config.signingKey, clock)
  const embedTokens = openEmbedTokens(signingKeys, config.publicUrl, clock)
  const readiness = openReadiness(connection, metrics)
  const policy = openPolicyFeed(connection, clock, hints, metrics, {
    all: config.maxHeldPolls,
    ofWorkspace: config.maxHeldPollsPerWorkspace,
  })
  const storedBytes = openStoredBytes(connection, config.maxStoredAnswerBytesPerWorkspace, systemClock, log)
  const idempotency = openIdempotency(connection, metrics, storedBytes)
  const usageReports = openReports(connection, metrics)
  const findLeaked = openFindLeaked(connection, metrics)
  const makeId = idMaker(clock, draw)
  const securityEvents = openSecurityEvents(connection, clock, makeId, metrics)
  const largeBodies = createLargeBodies()
  const signedBodies = createLargeBodies(signedBytesMax)
  const jsonThread = openJsonThread(log)
  const accounts = openFindAccount(connection, metrics)
  const invitedAddresses = openFindInvited(connection, metrics)
  const passwords = openPasswords({ randomBytes: draw, log, metrics })
  const closing = new AbortController()
  const signIns = createSignInGuard({
    clock,
    // Nobody is kept waiting by a service that closes.
    sleep: milliseconds => setTimeout(milliseconds, undefined, { signal: closing.signal }).catch(() => {}),
    perNetworkMinute: config.authPerIp,
  })
  const letterParts = { db: db.forService('letters'), randomBytes: draw, publicUrl: config.publicUrl }
  const mail = openMail({
    ...config.mail,
    connection: outside.directConnection ?? connection,
    letters: {
      ...personLetters(letterParts),
      ...inviteLetters(letterParts),
      ...leakLetters(letterParts),
      ...ownerLetters(letterParts),
    },
    clock,
    randomBytes: draw,
    log,
    metrics,
  })
  const stopUpkeep = startUpkeep(connection, choresOf(config.signingKey === null ? sealed : null), log, draw)

  watchDepths({
    metrics,
    config,
    db,
    lookup,
    policy,
    counters,
    idempotency,
    largeBodies,
    signedBodies,
    passwords,
    accounts,
    usageReports,
    findLeaked,
    securityEvents,
  })

  return {
    config,
    log,
    metrics,
    clock,
    randomBytes: draw,
    makeId,
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
    auditExports: new Exports(clock.monotonic),
    auditHeads: createSignHeads(sealed, config.publicUrl, draw, createDeriveChain(connection)),
    policy,
    counters,
    idempotency,
    usageReports,
    codehostKeys: openCodehostKeys(readKeysFrom(config), clock),
    findLeaked,
    securityEvents,
    largeBodies,
    signedBodies,
    jsonThread,
    accounts,
    invitedAddresses,
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
        securityEvents.close(),
        accounts.close(),
        invitedAddresses.close(),
        passwords.close(),
        jsonThread.close(),
      ])
      await db.close()
      await hints.close()
    },
  }
}
