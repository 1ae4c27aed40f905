/**
 * What Node has and some runtimes have not; undefined there. Looked for and not imported, since an import of what is not
 * there ends a worker. There may be a `process` that throws at whoever looks for more than its `env`.
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
