/**
 * The process and the machine: `confinement.ts` drops rights, `process-status.ts` reads them, `reach.ts` says which
 * paths an account reaches, `open-files.ts` how many files it may open, `cores.ts` how many cores it may use.
 */

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Account } from '../db/embedded/account.ts'
import { type Capability, maskOf, type ProcessStatus } from './process-status.ts'

/** The rights that a process started by root should have. */
export interface Wish {
  /** The account that it should run as; undefined if it must stay user id 0. */
  account: Account | undefined
  /** Further groups. */
  groups: readonly number[]
  /** The only capabilities that the process keeps. */
  keeps: readonly Capability[]
}

/** A way to start a program with fewer rights, which has been tried on this machine. */
export interface Confinement {
  /** The program to spawn, and the arguments before those of the confined program. */
  command: string
  before: readonly string[]
  /** The identity for `spawn`, if no program changes it. */
  identity: { uid?: number; gid?: number }
  uid: number
  /** Whether the kernel will never give the program more rights. */
  isSealed: boolean
}

const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv', '/usr/local/bin/setpriv']

/**
 * Finds how to start a process with only the rights that it needs, the strictest way first; null if no right can
 * be dropped. A container may deny root some ways, so each is tried on a program that does nothing.
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
  // Without a bounding set, user id 0 gets all rights back with the next program, so dropping the others would be useless.
  const bounds = account === undefined ? [[`--bounding-set=${only}`]] : [[`--bounding-set=${only}`], []]
  return bounds.map(bound => ({
    command: setpriv,
    before: [...whom, ...withGroups, ...capabilities, ...bound, '--no-new-privs', '--pdeathsig=KILL', '--'],
    identity: {},
    uid: account?.uid ?? 0,
    isSealed: true,
  }))
}

/** Giving up the user id drops all capabilities and can keep none, but does not drop the bounding set. */
function bySpawn({ account, keeps }: Wish): Confinement[] {
  if (account === undefined || keeps.length > 0) return []
  const { uid, gid } = account
  return [{ command: '', before: [], identity: { uid, gid }, uid, isSealed: false }]
}

function works({ command, before, identity }: Confinement): boolean {
  const [program = '/bin/true', ...args] = command === '' ? [] : [command, ...before, '/bin/true']
  return spawnSync(program, args, { cwd: '/', stdio: 'ignore', ...identity }).status === 0
}

/** Whether a process has only the capabilities that it should keep. */
export const isConfined = ({ effective, permitted, ambient }: ProcessStatus, keeps: readonly Capability[]) =>
  ((effective | permitted | ambient) & ~maskOf(keeps)) === 0n
