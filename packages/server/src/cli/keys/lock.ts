import { open, readFile, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { CommandFailed } from '../failure.ts'

/** Who holds a lock. */
interface Holder {
  readonly pid: number
  readonly host: string
  /** When its process started, as its system counts. Null: the system does not say. */
  readonly started: string | null
}

/**
 * Does work that no other process may do at the same time. The lock of a process that was killed is taken over.
 * @throws {CommandFailed} while another process holds the lock
 */
export async function locked<T>(path: string, work: () => Promise<T>): Promise<T> {
  const at = `${path}.lock`
  if (!(await take(at))) {
    await removeLeft(at)
    if (!(await take(at))) throw await refusal(at)
  }
  try {
    return await work()
  } finally {
    await rm(at, { force: true })
  }
}

/** @returns whether nobody had it */
async function take(at: string): Promise<boolean> {
  const started = (await lookUp(process.pid))?.started ?? null
  const holder: Holder = { pid: process.pid, host: hostname(), started }
  try {
    await using file = await open(at, 'wx', 0o600)
    // A lock that is not whole would be nobody's, and stay.
    await file.writeFile(JSON.stringify(holder)).catch(async error => {
      await rm(at, { force: true })
      throw error
    })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw new CommandFailed(`${at} cannot be written: ${(error as Error).message}`)
  }
}

/** Removes the lock of a process that has ended. */
async function removeLeft(at: string): Promise<void> {
  const holder = await readHolder(at)
  if (holder === null || (await isAlive(holder))) return
  // Of two that find it, one moves it. The other may move the lock that the first has taken since, and gives it back.
  const away = `${at}.${process.pid}`
  const isMoved = await rename(at, away).then(
    () => true,
    () => false,
  )
  if (!isMoved) return
  const moved = await readHolder(away)
  // One that is not whole yet is new.
  if (moved !== null && !(await isAlive(moved))) await rm(away, { force: true })
  else await rename(away, at)
}

async function refusal(at: string): Promise<CommandFailed> {
  const holder = await readHolder(at)
  const who = holder === null ? 'Another process' : `Process ${holder.pid} on ${holder.host}`
  return new CommandFailed(`${who} works on this file. If there is none, remove ${at}.`)
}

/** Null: it is gone, or no lock of this form. */
async function readHolder(at: string): Promise<Holder | null> {
  try {
    const { pid, host, started } = JSON.parse(await readFile(at, 'utf8'))
    return Number.isSafeInteger(pid) && pid > 0 && typeof host === 'string'
      ? { pid, host, started: started ?? null }
      : null
  } catch {
    return null
  }
}

/** Whether the process lives, as far as this machine can tell. */
async function isAlive({ pid, host, started }: Holder): Promise<boolean> {
  if (host !== hostname()) return true
  const found = await lookUp(pid)
  // A number is given again: the time of the start tells the processes apart.
  if (found !== null) return !found.isEnded && found.started === started
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** When a process started, as Linux counts, and whether only its entry is left. Null: the system shows none. */
async function lookUp(pid: number): Promise<{ started: string | null; isEnded: boolean } | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  if (text === null) return null
  // The name of the program stands in brackets, and may have any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { started: fields[19] ?? null, isEnded: fields[0] === 'Z' || fields[0] === 'X' }
}
