import { type Base, closeBase, openBase } from './base.ts'
import { type Authenticate, createAuthenticate } from './gate/authenticate.ts'
import { type AuthenticateEmbed, createAuthenticateEmbed } from './gate/authenticate-embed.ts'
import { openHotCredentials } from './gate/hot-credentials.ts'
import { type FindStanding, openLookup } from './gate/lookup.ts'
import { type FindMakers, openMakers } from './gate/makers.ts'
import { type FindTarget, openTargets } from './gate/targets.ts'
import { choresOf, closeRooms, figuresOf, lettersOf, type Opened, openRooms, readings } from './hall.ts'
import type { Outside } from './outside.ts'
import { systemClock } from './platform/clock.ts'
import { unbound } from './platform/db/db.ts'
import { startUpkeep } from './platform/db/upkeep.ts'
import { type Mail, openMail } from './platform/mail/mail.ts'
import { mailReading } from './platform/mail/reading.ts'
import { watchFigures } from './platform/observe/figures.ts'
import { platformFigures } from './platform/observe/platform-figures.ts'
import { recoveryReading, watchStore } from './platform/observe/readings.ts'

/** How a request shows who asks. */
interface Gate {
  readonly authenticate: Authenticate
  /** The same with a cache of a few seconds. */
  readonly authenticateHot: Authenticate
  /** The same with the head of the project that the URL names. */
  readonly authenticatePoll: Authenticate
  readonly authenticateEmbed: AuthenticateEmbed
  readonly embedStanding: FindStanding
  readonly makers: FindMakers
  readonly targets: FindTarget
}

/** Everything that the routes need from outside. */
export interface Deps extends Base, Opened, Gate {
  readonly mail: Mail
  close(): Promise<void>
}

/**
 * Opens everything that the service depends on. The database must be migrated.
 * @throws {UnknownKey} when secrets in the database are sealed with a key that is not configured.
 */
export async function openDeps(outside: Outside): Promise<Deps> {
  const base = await openBase(outside)
  const open = await openRooms(base).catch(async error => {
    await closeBase(base)
    throw error
  })
  const { gate, hotCredentials } = openGate(open)
  const mail = openLetters(open)
  const { config, connection, sealed, metrics, log, randomBytes, errands } = open
  const stopUpkeep = startUpkeep({
    connection,
    chores: choresOf({ ...open, signing: config.signingKey === null ? sealed : null }),
    log,
    randomBytes,
    clock: systemClock,
    observer: metrics,
  })
  watchStore({ connection, readings: [recoveryReading, mailReading, ...readings], metrics, log })
  watchFigures(metrics, [...platformFigures(open), ...figuresOf(open)])

  return {
    ...open,
    ...gate,
    mail,
    async close() {
      open.drain()
      errands.close()
      hotCredentials.close()
      await Promise.all([stopUpkeep(), mail.close()])
      await closeRooms(open)
      await closeBase(open)
    },
  }
}

function openGate({ config, lanes, clock, hints, policy, embedTokens }: Base & Opened) {
  const { bootstrapToken, publicUrl } = config
  const lookup = openLookup(lanes, config.sessionIdleS)
  const hotCredentials = openHotCredentials(lookup.find, config.hotAuthCacheMs, clock, hints)
  const authenticate = createAuthenticate(lookup, lookup.find, bootstrapToken)
  const gate: Gate = {
    authenticate,
    authenticateHot: createAuthenticate(lookup, hotCredentials, bootstrapToken),
    authenticatePoll: createAuthenticate(lookup, policy.pollKeys(lookup.find), bootstrapToken),
    authenticateEmbed: createAuthenticateEmbed({
      verifyToken: embedTokens.verify,
      standing: lookup.standing,
      authenticate,
      publicUrl,
    }),
    embedStanding: lookup.standing,
    makers: openMakers(lanes),
    targets: openTargets(lanes),
  }
  return { gate, hotCredentials }
}

function openLetters({ config, pool, directConnection, clock, randomBytes, log, metrics }: Base): Mail {
  const db = pool.bind({ ...unbound, party: { kind: 'service', name: 'letters' } })
  return openMail({
    ...config.mail,
    connection: directConnection,
    letters: lettersOf({ db, randomBytes, publicUrl: config.publicUrl }),
    clock,
    randomBytes,
    log,
    metrics,
  })
}
