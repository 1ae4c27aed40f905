import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../config.ts'
import { type Clock, systemClock } from '../../platform/clock.ts'
import { makeOwnKey, refuseRecipients } from '../../platform/db/dump/age.ts'
import { backup } from '../../platform/db/dump/backup.ts'
import { openDatabase } from '../database.ts'
import { CommandFailed, explain } from '../failure.ts'
import { inform, paintError, print, warn } from '../output.ts'
import { listenForStop, type StopSignals } from '../serve/stop-signals.ts'
import { firstPauseMs, pauseMs, spanText } from '../spans.ts'
import { checkBackup, refuseUncheckable } from './check.ts'
import type { CheckDatabase, CheckPlace } from './check-database.ts'
import { type BackupFigures, serveFigures, writeFigures } from './figures.ts'
import { type BackupFolder, openBackupFolder } from './folder.ts'

export interface Schedule {
  readonly everyMs: number
  readonly keep: number
  readonly recipients: readonly string[]
  readonly checkDatabase: string | undefined
  readonly metricsFile: string | undefined
  readonly metricsPort: number | undefined
}

/** What one run of the command knows. */
interface Run {
  readonly config: Config
  readonly folder: BackupFolder
  readonly schedule: Schedule
  readonly figures: BackupFigures
  readonly stop: StopSignals
  /** Set while a backup is checked, and not written. */
  check: { end?: CheckDatabase['end'] } | null
  hasFailed: boolean
}

/**
 * Makes and checks a backup again and again, until a signal. A failure is one line, and the next try follows.
 * @throws {CommandFailed} before the first one, if backups cannot be made, encrypted or checked.
 */
export async function backupEvery(path: string, config: Config, schedule: Schedule): Promise<void> {
  const stop = listenForStop()
  await refuseRecipients(schedule.recipients)
  const folder = await openBackupFolder(path)
  const { everyMs, metricsFile, metricsPort } = schedule
  const lastCheckedAt = folder.newestAt('checked')
  const figures = { lastSuccessAt: folder.newestAt('any'), lastCheckedAt, failures: 0, everyMs }
  const run: Run = { config, folder, schedule, figures, stop, check: null, hasFailed: false }
  process.once('exit', () => {
    folder.release()
    // A stop is the ordinary end: the code says how the last backup went.
    if (stop.asked) process.exitCode = run.hasFailed ? 1 : 0
  })
  void stop.first.then(() => {
    // What was being written is removed at the exit; a check must first remove its database.
    if (run.check === null) process.exit()
    void run.check.end?.().catch(() => {})
  })
  // A monitor must hear of a file that cannot be written now, and not in the first night.
  if (metricsFile !== undefined) writeFigures(metricsFile, figures)
  if (metricsPort !== undefined) await serveFigures(config, metricsPort, figures)
  await proveCheckable(run)
  await repeat(run, systemClock)
  process.exit()
}

async function proveCheckable(run: Run): Promise<void> {
  const database = await openDatabase(run.config)
  try {
    await whileChecking(run, database, refuseUncheckable)
  } finally {
    await database.close()
  }
}

async function repeat(run: Run, clock: Clock): Promise<void> {
  const { schedule, stop, figures } = run
  let pause = firstPauseMs(figures.lastCheckedAt, clock.now(), schedule.everyMs)
  if (pause > 0) print(`The newest backup is recent: the next one begins in ${spanText(pause)}.`)
  for (;;) {
    await Promise.race([sleep(pause), stop.first])
    if (stop.asked) return
    const began = clock.monotonic()
    await attempt(run, clock)
    if (stop.asked) return
    const tookMs = clock.monotonic() - began
    if (tookMs > schedule.everyMs) {
      warn(`The backup took ${spanText(tookMs)}, longer than the ${spanText(schedule.everyMs)} between two.`)
    }
    pause = pauseMs({ everyMs: schedule.everyMs, tookMs, hasFailed: run.hasFailed })
  }
}

async function attempt(run: Run, clock: Clock): Promise<void> {
  try {
    print(await makeOne(run, clock))
    run.hasFailed = false
  } catch (error) {
    if (run.stop.asked) return
    run.hasFailed = true
    run.figures.failures += 1
    failed(explain(error))
  }
  const { metricsFile } = run.schedule
  if (metricsFile === undefined) return
  try {
    writeFigures(metricsFile, run.figures)
  } catch (error) {
    failed(`The metrics file cannot be written: ${explain(error)}`)
  }
}

/** @returns the line about it. */
async function makeOne(run: Run, clock: Clock): Promise<string> {
  const { config, folder, figures, schedule } = run
  const { recipients, keep } = schedule
  const time = folder.freeTime(clock.now())
  const unchecked = folder.uncheckedPath(time)
  const own = await makeOwnKey(recipients)
  const database = await openDatabase(config)
  try {
    const made = await backup(database.direct, unchecked, { recipients: [...recipients, own.recipient] })
    figures.lastSuccessAt = clock.now()
    // A Postgres that was started for this command holds the data directory, which the service may want.
    if (database.kind === 'started') await database.close()
    try {
      await whileChecking(run, database, place => checkBackup(place, unchecked, made, [own.identity]))
    } catch (error) {
      tidy(run, time, false)
      throw new CommandFailed(`${unchecked} was written, but its check failed: ${explain(error)}`, {
        cause: error,
      })
    }
    const path = folder.accept(time)
    figures.lastCheckedAt = clock.now()
    tidy(run, time, true)
    const bytes = made.bytes.toLocaleString('en')
    return `Backed up and checked: ${path} (${bytes} bytes, SHA-256 ${made.sha256}); ${keep} are kept.`
  } finally {
    await database.close()
  }
}

function tidy({ folder, schedule }: Run, time: string, isChecked: boolean): void {
  const { later } = folder.prune(time, schedule.keep, isChecked)
  if (later.length > 0) {
    warn(
      `${later.join(', ')} has a later time than the backup of now. Is the clock right? It is never removed.`,
    )
  }
}

async function whileChecking(
  run: Run,
  database: CheckPlace['database'],
  work: (place: CheckPlace) => Promise<void>,
): Promise<void> {
  const check: NonNullable<Run['check']> = {}
  run.check = check
  const onOpen = ({ end }: CheckDatabase) => {
    if (run.stop.asked) throw new CommandFailed('Interrupted.')
    check.end = end
  }
  try {
    await work({ config: run.config, database, given: run.schedule.checkDatabase, onOpen })
  } finally {
    run.check = null
    if (run.stop.asked) process.exit()
  }
}

/** One line, whatever the message has. */
const failed = (message: string) =>
  inform(`${paintError('red', 'Error:')} ${message.replace(/\s*\n\s*/g, ' ')}`)
