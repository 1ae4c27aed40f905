import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** A process, identified by its pid and start time. */
export type Running = { pid: number; start: string }

/**
 * The start time of a process as text, which differs for a later process with the same pid; undefined if it does
 * not exist or is a zombie. Linux: clock ticks since boot (`/proc`); elsewhere the text of `ps`.
 */
export function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return startByPs(pid)
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The command name, field 2, may contain blanks and parentheses; the fields after the last one do not.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state] = fields
    return state === 'Z' || state === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

/** The process that has this pid now. */
export function findProcess(pid: number): Running | undefined {
  const start = startOf(pid)
  return start === undefined ? undefined : { pid, start }
}

/** Whether it still runs. An uncollected zombie does not, although a signal to it would succeed. */
export function isAlive({ pid, start }: Running): boolean {
  return startOf(pid) === start
}

export function sendSignal(running: Running, signal: NodeJS.Signals): void {
  if (!isAlive(running)) return
  try {
    process.kill(running.pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/**
 * The Postgres processes of a data directory: the postmaster and its children have it as their working
 * directory. A pid alone is no proof, because another process may have it by now.
 *
 * @param dataDirectory its real path, without symbolic links
 */
export function processesIn(dataDirectory: string): Running[] {
  const pids = process.platform === 'linux' ? pidsByProc(dataDirectory) : pidsByPs(dataDirectory)
  return pids.flatMap(pid => findProcess(pid) ?? [])
}

/** The program that a process runs, if known; with ` (deleted)` if the file was removed or replaced. */
export function executableOf(pid: number): string | undefined {
  return linkOf(pid, 'exe')
}

function pidsByProc(dataDirectory: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => linkOf(pid, 'cwd') === dataDirectory && commandOf(pid) === 'postgres')
}

/**
 * The name of a process. A person's shell may be in the data directory too, so the name counts as well. Not the
 * link to the program: a killed process loses that before it releases the shared memory, and its working
 * directory afterwards.
 */
function commandOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
  } catch {
    return undefined
  }
}

function linkOf(pid: number, name: 'cwd' | 'exe'): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/${name}`)
  } catch {
    // It is gone, or belongs to another account and so is not our Postgres.
    return undefined
  }
}

function startByPs(pid: number): string | undefined {
  const [state, ...start] = ps(['-o', 'stat=,lstart=', '-p', String(pid)])
    .trim()
    .split(/\s+/)
  return !state || state.startsWith('Z') ? undefined : start.join(' ')
}

/**
 * Without /proc only the postmaster shows its data directory, on its command line; its children are found by
 * their parent.
 */
function pidsByPs(dataDirectory: string): number[] {
  const rows = ps(['-axo', 'pid=,ppid=,command='])
    .split('\n')
    .flatMap(line => {
      const match = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)
      return match ? [{ pid: Number(match[1]), parent: Number(match[2]), command: match[3] ?? '' }] : []
    })
  const heads = rows.filter(row => row.command.includes(`postgres -D ${dataDirectory} `)).map(row => row.pid)
  return rows.filter(row => heads.includes(row.pid) || heads.includes(row.parent)).map(row => row.pid)
}

function ps(args: string[]): string {
  try {
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return ''
  }
}
