import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * Says when a process began, as text that differs for another process under the same pid; undefined when there is
 * no such process or it is a zombie. Linux: clock ticks since boot (`/proc`); elsewhere what `ps` prints.
 */
export function startTimeOf(pid: number): string | undefined {
  if (process.platform !== 'linux') return startTimeByPs(pid)
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

/** Whether the process is there and did not end as a zombie that nobody collected. */
export function isAlive(pid: number): boolean {
  return startTimeOf(pid) !== undefined
}

/**
 * The Postgres processes that work in a data directory: the postmaster and its children have it as their working
 * directory. A pid alone proves nothing, it may belong to somebody else by now.
 */
export function processesIn(dataDirectory: string): number[] {
  if (process.platform !== 'linux') return processesByPs(dataDirectory)
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => linkOf(pid, 'cwd') === dataDirectory && isPostgres(linkOf(pid, 'exe')) && isAlive(pid))
}

/** A person's shell may stand in the data directory too. An upgrade removes the file of a running program. */
function isPostgres(executable: string | undefined): boolean {
  return executable !== undefined && /\/postgres( \(deleted\))?$/.test(executable)
}

function linkOf(pid: number, name: 'cwd' | 'exe'): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/${name}`)
  } catch {
    // Gone, or not ours to look at, and then it is not our Postgres either.
    return undefined
  }
}

function startTimeByPs(pid: number): string | undefined {
  const [state, ...start] = ps(['-o', 'stat=,lstart=', '-p', String(pid)])
    .trim()
    .split(/\s+/)
  return !state || state.startsWith('Z') ? undefined : start.join(' ')
}

/** Without /proc only the postmaster tells its data directory, on its command line; its children name it. */
function processesByPs(dataDirectory: string): number[] {
  const rows = ps(['-axo', 'pid=,ppid=,command='])
    .split('\n')
    .flatMap(line => {
      const match = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line)
      return match ? [{ pid: Number(match[1]), parent: Number(match[2]), command: match[3] ?? '' }] : []
    })
  const heads = rows.filter(row => row.command.includes(`-D ${dataDirectory} `)).map(row => row.pid)
  return rows.filter(row => heads.includes(row.pid) || heads.includes(row.parent)).map(row => row.pid)
}

function ps(args: string[]): string {
  try {
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return ''
  }
}
