import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** A process, told from a later one with the same pid by when it began. */
export type Running = { pid: number; start: string }

/**
 * Says when a process began, as text that differs for another process under the same pid; undefined when there is
 * no such process or it is a zombie. Linux: clock ticks since boot (`/proc`); elsewhere what `ps` prints.
 */
export function startOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return startByPs(pid)
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The command name, field 2, may hold blanks and parentheses; what follows the last one is plain.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [state] = fields
    return state === 'Z' || state === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}

/** The process with this pid as it is now. */
export function findProcess(pid: number): Running | undefined {
  const start = startOf(pid)
  return start === undefined ? undefined : { pid, start }
}

/** Whether it still runs. A zombie that nobody collects does not, though a signal to it would succeed. */
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
 * The Postgres processes that work in a data directory: the postmaster and its children have it as their working
 * directory. A pid alone proves nothing, it may belong to somebody else by now.
 *
 * @param dataDirectory its real path, without symbolic links
 */
export function processesIn(dataDirectory: string): Running[] {
  const pids = process.platform === 'linux' ? pidsByProc(dataDirectory) : pidsByPs(dataDirectory)
  return pids.flatMap(pid => findProcess(pid) ?? [])
}

/** The program a process runs, where that can be told; with ` (deleted)` when the file is gone or replaced. */
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
 * A person's shell may stand in the data directory too, so the name counts as well. Not the link to the program:
 * that goes before a killed process has let go of the shared memory, the working directory goes after.
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
    // Gone, or not ours to look at, and then it is not our Postgres either.
    return undefined
  }
}

function startByPs(pid: number): string | undefined {
  const [state, ...start] = ps(['-o', 'stat=,lstart=', '-p', String(pid)])
    .trim()
    .split(/\s+/)
  return !state || state.startsWith('Z') ? undefined : start.join(' ')
}

/** Without /proc only the postmaster tells its data directory, on its command line; its children name it. */
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
