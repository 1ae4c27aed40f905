import { getPriority, setPriority } from 'node:os'

/** Below the threads that answer requests, where they share a core: nine tenths of it are left to them. In nice levels. */
const niceness = 10

/**
 * Lowers the priority of the calling thread. A sandbox may refuse even that, and what the thread does matters more: it then
 * works at the priority that it has.
 * @returns why the system refused; null: it did not.
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
