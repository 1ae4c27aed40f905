import { setTimeout as sleep } from 'node:timers/promises'
import { createKeyrail, type Keyrail } from '@keyrail/sdk'
import manifest from '../package.json' with { type: 'json' }
import { Guard, type Log } from './guard.ts'
import { listen } from './listen.ts'
import { type Environment, type GuardSettings, readSettings, SettingsError, settings } from './settings.ts'

/** How long requests in flight are waited for, and how long counts are sent. */
const CLOSE_WITHIN_MS = 10_000
const FLUSH_WITHIN_MS = 10_000

const usage = (): string =>
  `keyrail-guard verifies API keys for proxies and programs, in memory.\n\nSettings, from the environment:\n${Object.entries(
    settings,
  )
    .map(
      ([name, { default: value, why }]) => `  ${name.padEnd(25)}${why}${value === null ? '' : ` (${value})`}`,
    )
    .join(
      '\n',
    )}\n\nSIGHUP reads the table of routes and the files with secrets again; SIGTERM and SIGINT stop it.\n`

/** The process: starts, listens for signals, and resolves with the exit code. */
export async function runGuard(args: readonly string[], env: Environment): Promise<number> {
  const [first] = args
  if (first === '--help' || first === '-h') return print(usage())
  if (first === '--version' || first === '-v') return print(`${manifest.version}\n`)
  if (first !== undefined)
    return complain([`${first} is unknown: keyrail-guard takes settings from the environment`])
  let guard: Guard
  let keyrail: Keyrail
  let read: GuardSettings
  try {
    read = readSettings(env)
    keyrail = openKeyrail(read, () => guard.secretKey)
    guard = new Guard(read, keyrail, log)
  } catch (error) {
    return complain(error instanceof SettingsError ? error.faults : [named((error as Error).message)])
  }
  const stopped = untilStopped(() => guard.reload())
  const wrong = keyrail.ready().then(
    () => log('info', 'the keys are loaded'),
    (error: { code?: string; message: string }) => (error.code === 'closed' ? undefined : error.message),
  )
  try {
    log('info', `answers at ${await listen(guard.server, read.address)}`)
  } catch (error) {
    await keyrail.close()
    return complain([`GUARD_LISTEN cannot be used: ${(error as Error).message}`])
  }
  const fault = await Promise.race([stopped, wrong.then(message => message ?? stopped)])
  if (fault === undefined) {
    guard.drain()
    await sleep(read.drainDelayS * 1_000)
  }
  await guard.close(CLOSE_WITHIN_MS)
  await keyrail.close({ timeoutMs: FLUSH_WITHIN_MS })
  return fault === undefined ? 0 : complain([fault])
}

/** Everything that the SDK takes. @throws TypeError naming an option */
function openKeyrail(read: GuardSettings, secretKey: () => string): Keyrail {
  const { url, project, insecure, directory, node, limits, first } = read
  const ownEnv = first.secretKey.startsWith('krsk_test_') ? 'test' : 'live'
  // Checked here, because a function is only called with the first poll.
  const checked = { url, project, insecure, secretKey: first.secretKey }
  createKeyrail(checked)
  const keyrail = createKeyrail({
    ...checked,
    secretKey,
    keys: {
      env: read.env ?? ownEnv,
      maxAutoCachedKeys: 'memory',
      ...(directory !== undefined && { cacheDir: directory }),
      ...(node !== undefined && { node }),
      onNotice: ({ code, message }) => log('warn', `${code}: ${message}`),
    },
    limiter: {
      onUnavailable: read.limitsUnavailable,
      ...(limits === 'prepay' && { prepay: {} }),
    },
    onError: new Repeated(log).say,
  })
  // A wrong option of a part shows when it is made.
  void keyrail.keys
  return keyrail
}

/** The same failure is logged once a minute. */
class Repeated {
  readonly #log: Log
  readonly #last = new Map<string, number>()

  constructor(log: Log) {
    this.#log = log
  }

  readonly say = ({ code, message }: { code: string; message: string }): void => {
    const now = performance.now()
    if (now - (this.#last.get(code) ?? Number.NEGATIVE_INFINITY) < 60_000) return
    this.#last.set(code, now)
    this.#log('warn', `${code}: ${message}`)
  }
}

const ofOption: Readonly<Record<string, string>> = {
  url: 'KEYRAIL_URL',
  project: 'KEYRAIL_PROJECT',
  secretKey: 'KEYRAIL_SECRET_KEY',
  node: 'GUARD_NODE',
  cacheDir: 'GUARD_DIRECTORY',
}

/** The SDK names its options; a person sets variables. */
const named = (message: string): string =>
  message
    .replace(/^\w+/, option => ofOption[option] ?? option)
    .replace('set insecure: true', 'set GUARD_INSECURE=on')

function untilStopped(reload: () => void): Promise<undefined> {
  process.on('SIGHUP', reload)
  return new Promise(resolve => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve(undefined))
  })
}

const log: Log = (level, message) => {
  process.stderr.write(`${JSON.stringify({ time: new Date().toISOString(), level, message })}\n`)
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

function complain(faults: readonly string[]): number {
  for (const fault of faults) process.stderr.write(`Error: ${fault}\n`)
  return 1
}
