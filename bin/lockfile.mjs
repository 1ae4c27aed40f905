import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Compares what npm says it installed with what the lockfile asks for.
 *
 * @param {string} root folder of the checkout
 * @param {{ dev: boolean }} options whether the development packages are needed too
 * @returns {string[]} what is wrong, a sentence each; empty when the installation is the one of the lockfile
 */
export function findDisagreements(root, { dev }) {
  const wanted = readPackages(join(root, 'package-lock.json'))
  if (!wanted)
    throw new Error(`${join(root, 'package-lock.json')} is missing or damaged: get it back from git`)
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'))
  if (!installed) return ['nothing is installed, or an installation was broken off']
  const faults = compareLocks(wanted, installed, { dev, platform: process.platform, arch: process.arch })
  for (const path of Object.keys(installed)) {
    if (!existsSync(join(root, path))) faults.push(`${path} was removed`)
  }
  return faults
}

/**
 * The pure part. Both arguments are the `packages` member of a lockfile, keyed by path.
 *
 * A package may be absent when it is optional and for another system, or a development one that is not needed.
 * One too many is a fault as well: it may shadow the right version of its name.
 */
export function compareLocks(wanted, installed, { dev, platform, arch }) {
  const faults = []
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue
    const found = installed[path]
    if (!found) {
      if (!mayBeAbsent(entry, { dev, platform, arch })) faults.push(`${path} is missing`)
    } else if (
      found.version !== entry.version ||
      found.integrity !== entry.integrity ||
      found.link !== entry.link
    ) {
      faults.push(`${path} is ${found.version}, the lockfile says ${entry.version}`)
    }
  }
  for (const path of Object.keys(installed)) {
    if (!(path in wanted)) faults.push(`${path} is no longer in the lockfile`)
  }
  return faults
}

function mayBeAbsent(entry, { dev, platform, arch }) {
  if (entry.dev && !dev) return true
  if (!entry.optional) return false
  // Which C library a machine has, npm judges better than we; it matters to development tools alone.
  return Boolean(entry.libc) || !matches(entry.os, platform) || !matches(entry.cpu, arch)
}

/** npm's rule: a list of names, or of names with `!` that are excluded; one name may stand without a list. */
function matches(list, value) {
  if (list === undefined) return true
  const names = Array.isArray(list) ? list : [list]
  if (names.includes(`!${value}`)) return false
  const positive = names.filter(name => !name.startsWith('!'))
  return positive.length === 0 || positive.includes(value) || positive.includes('any')
}

function readPackages(path) {
  try {
    const { packages } = JSON.parse(readFileSync(path, 'utf8'))
    return typeof packages === 'object' && packages !== null ? packages : undefined
  } catch {
    return undefined
  }
}
