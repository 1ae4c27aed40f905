import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { sep } from 'node:path'

/**
 * Fields of `/proc/<pid>/stat` by their number in proc(5); undefined when the process does not exist. The command name,
 * field 2, may contain spaces; the fields after its closing parenthesis are plain.
 */
function statFields(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return ['', '', '', ...stat.slice(stat.lastIndexOf(')') + 2).split(' ')]
  } catch {
    return undefined
  }
}

/**
 * Distinguishes a process from a later one with the same pid by its start, in clock ticks since boot, on Linux. Other
 * systems have the pid alone. Undefined when the process does not exist or is a zombie.
 */
export function startOf(pid) {
  if (process.platform === 'linux') {
    const fields = statFields(pid)
    return fields && fields[3] !== 'Z' ? fields[22] : undefined
  }
  try {
    process.kill(pid, 0)
    return 'alive'
  } catch (error) {
    return error.code === 'EPERM' ? 'alive' : undefined
  }
}

/** Whether a Ctrl-C at our terminal reaches us: our process group is the one in the foreground. */
export function isInForeground() {
  if (process.platform !== 'linux') return Boolean(process.stdin.isTTY)
  const fields = statFields('self')
  return fields !== undefined && fields[7] !== '0' && fields[8] === fields[5]
}

/**
 * Processes whose program lies in a directory, without this process and its ancestors.
 *
 * @returns {{ pid: number, executable: string }[]} empty where /proc is missing
 */
export function runningOutOf(directory) {
  if (process.platform !== 'linux') return []
  const family = ancestors()
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name) && !family.has(Number(name)))
    .map(name => ({ pid: Number(name), executable: executableOf(name) }))
    .filter(({ executable }) => executable.startsWith(directory + sep))
}

function ancestors() {
  const family = new Set()
  for (let pid = process.pid; pid > 0 && !family.has(pid); pid = Number(statFields(pid)?.[4] ?? 0))
    family.add(pid)
  return family
}

function executableOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/exe`)
  } catch {
    // It has ended, or belongs to another account: an ordinary user cannot see those, and they do not run our files as us.
    return ''
  }
}
