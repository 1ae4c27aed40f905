import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Compares what npm says it installed with what the lockfile requires.
 *
 * @param {string} root folder of the checkout
 * @param {{ dev: boolean }} options whether the development packages are needed too
 * @returns {string[]} the differences, a sentence each; empty when the installation matches the lockfile
 */
export function findDisagreements(root, { dev }) {
  const wanted = readPackages(join(root, 'package-lock.json'))
  if (!wanted)
    throw new Error(`${join(root, 'package-lock.json')} is missing or damaged: get it back from git`)
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'))
  if (!installed) return ['nothing is installed, or an installation was interrupted']
  const faults = compareLocks(wanted, installed, { dev, platform: process.platform, arch: process.arch })
  for (const path of Object.keys(installed)) {
    if (!existsSync(join(root, path))) faults.push(`${path} was removed`)
  }
  return faults
}

/**
 * The pure part. Both arguments are the `packages` member of a lockfile, keyed by path.
 * A package may be absent when it is optional and for another system, or a development package that is not needed. A
 * surplus package is a fault too: it may shadow the right version of its name.
 */
export function compareLocks(wanted, installed, { dev, platform, arch }) {
  const faults = []
  const absent = absentOf(wanted, { dev, platform, arch })
  for (const [path, entry] of Object.entries(wanted)) {
    if (path === '') continue
    const found = installed[path]
    if (!found) {
      if (!absent.has(path)) faults.push(`${path} is missing`)
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

/**
 * Paths of packages that may be absent. With a package for another system goes what only it needs: npm marks that as
 * optional, and names no system.
 */
function absentOf(wanted, system) {
  const entries = Object.entries(wanted)
  const absent = new Set(entries.filter(([, entry]) => mayBeAbsent(entry, system)).map(([path]) => path))
  for (let known = -1; known !== absent.size; ) {
    known = absent.size
    const [left, needed] = [true, false].map(
      isAbsent => new Set(entries.filter(([path]) => absent.has(path) === isAbsent).flatMap(namesNeeded)),
    )
    for (const [path, { optional }] of entries) {
      const name = path.replace(/^.*node_modules\//, '')
      if (optional && left.has(name) && !needed.has(name)) absent.add(path)
    }
  }
  return absent
}

const namesNeeded = ([, entry]) =>
  ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'].flatMap(kind =>
    Object.keys(entry[kind] ?? {}),
  )

function mayBeAbsent(entry, { dev, platform, arch }) {
  if (entry.dev && !dev) return true
  if (!entry.optional) return false
  // npm detects the C library of a machine better than we do; it matters to development tools alone.
  return Boolean(entry.libc) || !matches(entry.os, platform) || !matches(entry.cpu, arch)
}

/** npm's rule: a list of names, or of excluded names with `!`; a single name may stand without a list. */
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
