import { getPriority, setPriority } from 'node:os'

/** Lower than the threads that answer requests: on a shared core, those threads keep nine tenths of the time. In nice levels. */
const niceness = 10

/**
 * Lowers the priority of the calling thread. A sandbox may refuse the change; the thread then works at its old priority.
 * @returns why the system refused; null: the priority is set.
 */
export function lowerPriority(): string | null {
  // On Linux this sets the calling thread's priority; elsewhere it would set the whole process's.
  if (process.platform !== 'linux') return null
  try {
    setPriority(0, Math.min(19, getPriority() + niceness))
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
