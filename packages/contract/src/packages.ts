import manifest from '../package.json' with { type: 'json' }

/** Whether npm has the packages of this version. Until then, samples install the archives that the service has. */
const arePublished = false

/** The name of a package's archive, as npm names it. */
export const archiveOf = (name: 'sdk' | 'embed' | 'guard' | 'go' | 'python'): string =>
  `keyrail-${name}-${manifest.version}.tgz`

/** The folder in the archive of a client that npm does not install. */
export const folderOf = (name: 'go' | 'python'): string => `keyrail-${name}-${manifest.version}`

/** The name under which a service has a file of `deploy/guard`. */
export const guardFileOf = (name: string): string => `guard-${name}`

/**
 * The lines that install a package, and others beside it.
 * @param url where the service is
 */
export function installLines(url: string, name: 'sdk' | 'embed', others = ''): string {
  const rest = others === '' ? '' : ` ${others}`
  if (arePublished) return `npm install @keyrail/${name}${rest}`
  const archive = archiveOf(name)
  return `curl -fO ${url}/packages/${archive}\nnpm install ./${archive}${rest}`
}
