/**
 * Reads something that only some runtimes have; undefined elsewhere. Not imported, because importing a missing module ends a
 * worker. Some hosts have a `process` that throws when anything but `env` is read.
 */
export function ofNode<T>(read: (process: NodeJS.Process) => T | undefined): T | undefined {
  const { process } = globalThis as { process?: NodeJS.Process }
  if (process === undefined) return undefined
  try {
    return read(process)
  } catch {
    return undefined
  }
}
