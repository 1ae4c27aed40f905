import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { sep } from 'node:path'

/**
 * Fields of `/proc/<pid>/stat` by their number in proc(5), or undefined when there is no such process.
 * The command name, field 2, may hold blanks; what follows its closing parenthesis is plain.
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
 * Tells a process from a later one with the same pid: its start in clock ticks since boot, on Linux. Elsewhere the
 * pid alone has to do. Undefined when there is no such process, or only a zombie.
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

/** Whether a Ctrl-C at our terminal reaches us: our process group is the one in its foreground. */
export function isInForeground() {
  if (process.platform !== 'linux') return Boolean(process.stdin.isTTY)
  const fields = statFields('self')
  return fields !== undefined && fields[7] !== '0' && fields[8] === fields[5]
}

/**
 * Processes whose program lies in a directory, ourselves and our ancestors left out.
 *
 * @returns {{ pid: number, executable: string }[]} empty where there is no /proc
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
    // Gone, or another account's: as an ordinary user we cannot see it, and it does not run our files as us.
    return ''
  }
}
