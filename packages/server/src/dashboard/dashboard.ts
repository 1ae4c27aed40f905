import type { Logger } from '../platform/observe/log.ts'
import { type Build, readBuild } from './read-build.ts'

/**
 * What the process that builds the dashboard reports. It is a message between processes, so it is plain data.
 *
 * `looking`: it compares the sources with what is built. What a failed build printed is not in it: anybody can open `/app`.
 */
export interface BuildState {
  readonly kind: 'looking' | 'building' | 'built' | 'failed'
}

/** What `/app` shows. */
type Shown =
  | { readonly kind: 'building' }
  | { readonly kind: 'failed' }
  | { readonly kind: 'built'; readonly build: Build }

export interface Dashboard {
  /** Waits while the state is `looking`, which takes as long as reading the sources. */
  shown(): Promise<Shown>
  report(state: BuildState): void
}

/**
 * Holds what `/app` shows. A build is read whole, as soon as it is reported, and stays until the process ends: a later
 * build belongs to a later release, whose API this process does not have.
 *
 * @param folder where the build is
 */
export function openDashboard(folder: string, first: BuildState, log: Logger): Dashboard {
  const looked = Promise.withResolvers<void>()
  let current: BuildState = first
  let build: Promise<Build> | undefined

  const read = async (): Promise<Shown> => {
    build ??= readBuild(folder)
    try {
      return { kind: 'built', build: await build }
    } catch (error) {
      // The next request tries again.
      build = undefined
      log.error({ err: error }, 'the dashboard cannot be read')
      return { kind: 'failed' }
    }
  }
  const report = (state: BuildState): void => {
    if (state.kind !== 'looking') looked.resolve()
    current = state
    if (state.kind === 'built') void read()
  }
  if (first.kind !== 'looking') looked.resolve()
  return {
    async shown() {
      await looked.promise
      if (current.kind === 'built') return read()
      return { kind: current.kind === 'failed' ? 'failed' : 'building' }
    },
    report,
  }
}
