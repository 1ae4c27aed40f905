import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Account } from '../db/embedded/account.ts'
import { type Capability, maskOf, type ProcessStatus } from './process-status.ts'

/** What is wanted of a process that root starts. */
export interface Wish {
  /** Whom it should run as; undefined when it has to stay user id 0. */
  account: Account | undefined
  /** Groups beside its own. */
  groups: readonly number[]
  /** The only capabilities that it keeps. */
  keeps: readonly Capability[]
}

/** A way to start a program with less than we have, one that was tried on this machine. */
export interface Confinement {
  /** The program to spawn, and what comes before the confined program's own words. */
  command: string
  before: readonly string[]
  /** For spawn, where no program does it. */
  identity: { uid?: number; gid?: number }
  uid: number
  /** Whether the kernel was told never to give it more. */
  isSealed: boolean
}

const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/local/bin/setpriv']

/**
 * Finds how to start a process with no more than it needs, the strictest way first; null when nothing can be taken from
 * it. A container may refuse some of it to root, so each way is tried on a program that does nothing.
 */
export function findConfinement(wish: Wish): Confinement | null {
  const setpriv = SETPRIV.find(path => existsSync(path))
  const ways = setpriv === undefined ? bySpawn(wish) : [...bySetpriv(setpriv, wish), ...bySpawn(wish)]
  return ways.find(works) ?? null
}

function bySetpriv(setpriv: string, { account, groups, keeps }: Wish): Confinement[] {
  const only = ['-all', ...keeps.map(name => `+${name}`)].join(',')
  const whom = account === undefined ? [] : [`--reuid=${account.uid}`, `--regid=${account.gid}`]
  const withGroups = groups.length > 0 ? [`--groups=${groups.join(',')}`] : ['--clear-groups']
  const capabilities = [`--inh-caps=${only}`, `--ambient-caps=${account === undefined ? '-all' : only}`]
  // Without the bounding set, user id 0 gets everything back at the next program: then it is worth nothing.
  const bounds = account === undefined ? [[`--bounding-set=${only}`]] : [[`--bounding-set=${only}`], []]
  return bounds.map(bound => ({
    command: setpriv,
    before: [...whom, ...withGroups, ...capabilities, ...bound, '--no-new-privs', '--pdeathsig=KILL', '--'],
    identity: {},
    uid: account?.uid ?? 0,
    isSealed: true,
  }))
}

/** Giving the user id up takes all capabilities along, but leaves the bounds, and none can be kept. */
function bySpawn({ account, keeps }: Wish): Confinement[] {
  if (account === undefined || keeps.length > 0) return []
  const { uid, gid } = account
  return [{ command: '', before: [], identity: { uid, gid }, uid, isSealed: false }]
}

function works({ command, before, identity }: Confinement): boolean {
  const [program = '/bin/true', ...args] = command === '' ? [] : [command, ...before, '/bin/true']
  return spawnSync(program, args, { cwd: '/', stdio: 'ignore', ...identity }).status === 0
}

/** Whether a process has got nothing but what it was to keep. */
export const isConfined = ({ effective, permitted, ambient }: ProcessStatus, keeps: readonly Capability[]) =>
  ((effective | permitted | ambient) & ~maskOf(keeps)) === 0n
