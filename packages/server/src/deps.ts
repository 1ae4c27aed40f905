import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { Exports } from './audit/exports.ts'
import { createSignHeads, type SignHeads } from './audit/signed-head.ts'
import { createDeriveChain } from './audit/verify.ts'
import { choresOf } from './chores.ts'
import type { Config } from './config.ts'
import { countedMetrics } from './counted-metrics.ts'
import { type Dashboard, openDashboard } from './dashboard/dashboard.ts'
import { type EmbedTokens, openEmbedTokens } from './embed/signed-token.ts'
import { type Authenticate, createAuthenticate } from './gate/authenticate.ts'
import { type AuthenticateEmbed, createAuthenticateEmbed } from './gate/authenticate-embed.ts'
import { openHotCredentials } from './gate/hot-credentials.ts'
import { type FindStanding, openLookup } from './gate/lookup.ts'
import { type FindMakers, openMakers } from './gate/makers.ts'
import { type FindTarget, openTargets } from './gate/targets.ts'
import { watchDepths } from './gauges.ts'
import { type Idempotency, openIdempotency } from './idempotency/service.ts'
import { openStoredBytes } from './idempotency/stored-bytes.ts'
import { claimVerdicts } from './idempotency/verdict.ts'
import { type FindInvited, openFindInvited } from './invites/find-invited.ts'
import { createEndedRoom, type EndedRoom } from './keys/ended-room.ts'
import { createIdentifyTurns, type IdentifyTurns } from './keys/identify.ts'
import { type CodehostKeys, openCodehostKeys } from './leaks/codehost-keys.ts'
import { type FindLeaked, openFindLeaked } from './leaks/find-leaked.ts'
import { readKeysFrom } from './leaks/read-keys.ts'
import { lettersOf } from './letters.ts'
import type { Outside } from './outside.ts'
import { type FindAccount, openFindAccount } from './people/find-account.ts'
import { type FirstAccount, openFirstAccount } from './people/first-account.ts'
import { createSignInGuard, type SignInGuard } from './people/sign-in-guard.ts'
import { type Budgets, serviceBudgets } from './platform/budgets.ts'
import { type Clock, sleepUnless, systemClock } from './platform/clock.ts'
import { openPasswords, type Passwords } from './platform/crypto/password.ts'
import { openSigningKeys } from './platform/crypto/signing-keys.ts'
import { type Cursors, createCursors } from './platform/cursor.ts'
import { type Connection, withConnectMs } from './platform/db/connection.ts'
import { unbound } from './platform/db/db.ts'
import { Errands } from './platform/db/errands.ts'
import { openHints } from './platform/db/hints.ts'
import { type Lanes, openLanes } from './platform/db/lanes.ts'
import { openPool, type Pool } from './platform/db/pool.ts'
import { openReadiness, type Readiness } from './platform/db/readiness.ts'
import { watchStore } from './platform/db/readings.ts'
import { openSealedStore } from './platform/db/sealed-store.ts'
import { serviceSecret } from './platform/db/service-secret.ts'
import { startUpkeep } from './platform/db/upkeep.ts'
import { checkout } from './platform/host/reach.ts'
import { type JsonThread, openJsonThread } from './platform/http/json-thread.ts'
import { createLargeBodies, type LargeBodies, signedBytesMax } from './platform/http/large-bodies.ts'
import { idMaker, type MakeId } from './platform/ids.ts'
import type { Logger } from './platform/log.ts'
import { type Mail, openMail } from './platform/mail/mail.ts'
import { type Metrics, uncounted } from './platform/metrics.ts'
import { flushTracing, openTracing } from './platform/tracing.ts'
import { openPolicyFeed, type PolicyFeed } from './policy/service.ts'
import { openCounters } from './ratelimit/open-counters.ts'
import type { CounterStore } from './ratelimit/store.ts'
import { readings } from './readings.ts'
import { type Endings, openEndings } from './secret-keys/endings.ts'
import { openSecurityEvents, type SecurityEvents } from './security-events/writer.ts'
import { openReports, type Reports } from './usage/reports.ts'
import { version } from './version.ts'
import { proveBillingAddress } from './workspace/billing.ts'
import { type Disownings, openDisownings } from './workspace/disownings.ts'
import { WorkspaceLoads } from './workspace/loads.ts'

/** Everything that the rooms need from outside: database, clock, randomness, logs and metrics. */
export interface Deps {
  readonly config: Config
  readonly log: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly randomBytes: (size: number) => Buffer
  readonly makeId: MakeId
  /** How long requests and connections may take. */
  readonly budgets: Budgets
  /** The connection pool; each call gets a separate `Db` of it, with its deadline. */
  readonly pool: Pool
  readonly lanes: Lanes
  /** For long reads that must not take a connection of the pool. */
  readonly connection: Connection
  readonly cursors: Cursors
  readonly identifyTurns: IdentifyTurns
  readonly endedRoom: EndedRoom
  readonly authenticate: Authenticate
  /** The same with a cache of a few seconds. */
  readonly authenticateHot: Authenticate
  /** The same with the head of the project that the URL names. */
  readonly authenticatePoll: Authenticate
  readonly authenticateEmbed: AuthenticateEmbed
  readonly embedTokens: EmbedTokens
  readonly embedStanding: FindStanding
  readonly makers: FindMakers
  readonly targets: FindTarget
  readonly readiness: Readiness
  readonly auditHeads: SignHeads
  readonly auditExports: Exports
  readonly policy: PolicyFeed
  readonly counters: CounterStore
  readonly idempotency: Idempotency
  readonly countRateLimit: (verdict: string) => void
  readonly countClaim: (verdict: string) => void
  readonly usageReports: Reports
  readonly codehostKeys: CodehostKeys
  readonly findLeaked: FindLeaked
  readonly securityEvents: SecurityEvents
  readonly endings: Endings
  readonly disownings: Disownings
  readonly workspaceLoads: WorkspaceLoads
  readonly largeBodies: LargeBodies
  /** The same for bodies that only a signature authenticates. */
  readonly signedBodies: LargeBodies
  /** Parses large bodies off the event loop. */
  readonly jsonThread: JsonThread
  readonly accounts: FindAccount
  readonly firstAccount: FirstAccount
  readonly invitedAddresses: FindInvited
  readonly proveBillingAddress: typeof proveBillingAddress
  readonly passwords: Passwords
  readonly signIns: SignInGuard
  readonly mail: Mail
  readonly dashboard: Dashboard
  /** Aborted when the process is about to stop: it serves on, but is not ready. */
  readonly leaving: AbortSignal
  leave(): void
  /** Aborted when the service closes, so that held requests are answered. */
  readonly closing: AbortSignal
  /** Answers held requests, and holds no further ones. */
  drain(): void
  close(): Promise<void>
}

/**
 * Opens everything that the service depends on. The database must be migrated.
 * @throws {UnknownKey} when secrets in the database are sealed with a key that is not configured.
 */
export async function openDeps(outside: Outside): Promise<Deps> {
  const { config, log, clock = systemClock, budgets = serviceBudgets } = outside
  const { connectMs, requestMs } = budgets
  const connection = withConnectMs(outside.connection, connectMs)
  const directConnection = withConnectMs(outside.directConnection ?? outside.connection, connectMs)
  const draw = outside.randomBytes ?? randomBytes
  if (config.isTraced) await openTracing(version, log)
  const metrics = config.metricsPort === null ? uncounted : await countedMetrics()
  const lanes = openLanes(connection, budgets, metrics)
  const errands = new Errands(connection)
  // First, because it may refuse while nothing else is open: a lane opens its connection with its first item.
  const counters = await openCounters(config, { lanes, errands, requestMs }, log, metrics)
  const sealed = await openSealedStore(connection, config, draw, requestMs)
  const cursorSecret = await serviceSecret(sealed, 'cursor', draw)
  const hints = openHints({ connection: directConnection, lanes, clock, metrics })
  const workspaceLoads = new WorkspaceLoads(lanes)
  const { databasePool: size } = config
  const pool = openPool({ connection, size, budgets, hints, lanes, observer: metrics, loads: workspaceLoads })
  const lookup = openLookup(lanes, config.sessionIdleS)
  const hotCredentials = openHotCredentials(lookup.find, config.hotAuthCacheMs, clock, hints)
  const authenticate = createAuthenticate(lookup, lookup.find, config.bootstrapToken)
  const signingKeys = openSigningKeys(sealed, config.signingKey, clock)
  const embedTokens = openEmbedTokens(signingKeys, config.publicUrl, clock)
  const heldMax = { all: config.maxHeldPolls, ofWorkspace: config.maxHeldPollsPerWorkspace }
  const observer = config.metricsPort === null ? null : metrics
  const policy = openPolicyFeed(lanes, clock, hints, budgets, heldMax, observer, log)
  const storedBytes = openStoredBytes(errands, config.maxStoredAnswerBytesPerWorkspace, systemClock, log)
  const idempotency = openIdempotency(lanes, storedBytes)
  const usageReports = openReports(lanes)
  const makeId = idMaker(clock, draw)
  const securityEvents = openSecurityEvents(lanes, clock, makeId, metrics)
  const largeBodies = createLargeBodies()
  const signedBodies = createLargeBodies(signedBytesMax)
  const jsonThread = openJsonThread(log)
  const passwords = openPasswords({ randomBytes: draw, log, metrics })
  const [leaving, closing] = [new AbortController(), new AbortController()]
  const signIns = createSignInGuard({
    clock,
    sleep: sleepUnless(closing.signal),
    perNetworkMinute: config.authPerIp,
  })
  const ofLetters = pool.bind({ ...unbound, line: { kind: 'service', name: 'letters' } })
  const mail = openMail({
    ...config.mail,
    connection: directConnection,
    letters: lettersOf({ db: ofLetters, randomBytes: draw, publicUrl: config.publicUrl }),
    clock,
    randomBytes: draw,
    log,
    metrics,
  })
  const endings = openEndings({ pool, clock, makeId, randomBytes: draw, log })
  const disownings = openDisownings({ pool, endings, clock, makeId, log })
  const stopUpkeep = startUpkeep({
    connection,
    chores: choresOf(config.signingKey === null ? sealed : null, {
      connection,
      log,
      monotonic: systemClock.monotonic,
      errands,
    }),
    log,
    randomBytes: draw,
    clock: systemClock,
    observer: metrics,
  })

  const { dashboard = {} } = outside
  const { folder = join(checkout, 'packages/dashboard/dist'), state = { kind: 'built' as const } } = dashboard
  const readiness = openReadiness(lanes, clock)
  watchStore({ connection, readings, metrics, log })
  watchDepths({
    metrics,
    config,
    pool,
    lanes,
    readiness,
    policy,
    counters,
    idempotency,
    largeBodies,
    signedBodies,
    passwords,
  })

  return {
    config,
    log,
    metrics,
    clock,
    randomBytes: draw,
    makeId,
    budgets,
    pool,
    lanes,
    connection,
    cursors: createCursors(cursorSecret),
    identifyTurns: createIdentifyTurns(clock),
    endedRoom: createEndedRoom(config, clock),
    authenticate,
    authenticateHot: createAuthenticate(lookup, hotCredentials, config.bootstrapToken),
    authenticatePoll: createAuthenticate(lookup, policy.pollKeys(lookup.find), config.bootstrapToken),
    authenticateEmbed: createAuthenticateEmbed({
      verifyToken: embedTokens.verify,
      standing: lookup.standing,
      authenticate,
      publicUrl: config.publicUrl,
    }),
    embedTokens,
    embedStanding: lookup.standing,
    makers: openMakers(lanes),
    targets: openTargets(lanes),
    readiness,
    auditExports: new Exports(clock.monotonic),
    auditHeads: createSignHeads(sealed, config.publicUrl, draw, createDeriveChain(connection, errands)),
    policy,
    counters,
    idempotency,
    countRateLimit: metrics.verdictCounter('rate_limit', ['allowed', 'denied']),
    countClaim: metrics.verdictCounter('idempotency', claimVerdicts),
    usageReports,
    codehostKeys: openCodehostKeys(readKeysFrom(config), clock),
    findLeaked: openFindLeaked(lanes),
    securityEvents,
    endings,
    disownings,
    workspaceLoads,
    largeBodies,
    signedBodies,
    jsonThread,
    accounts: openFindAccount(lanes),
    firstAccount: openFirstAccount(connection, budgets.silenceMs),
    invitedAddresses: openFindInvited(lanes),
    proveBillingAddress,
    passwords,
    signIns,
    mail,
    dashboard: openDashboard(folder, state, log),
    leaving: leaving.signal,
    leave: () => leaving.abort(),
    closing: closing.signal,
    drain: () => closing.abort(),
    async close() {
      closing.abort()
      errands.close()
      hotCredentials.close()
      await Promise.all([stopUpkeep(), mail.close(), disownings.close(), endings.close()])
      await Promise.all([
        counters.close(),
        storedBytes.close(),
        securityEvents.close(),
        passwords.close(),
        jsonThread.close(),
      ])
      await pool.close()
      await workspaceLoads.close()
      // After everything that sends items to them.
      await Promise.all([lanes.close(), hints.close()])
      await flushTracing()
    },
  }
}
