import manifest from '../package.json' with { type: 'json' }

/** Whether npm has the packages of this version. Until then, samples install the archives that the service has. */
const arePublished = false

/** The name of a package's archive, as npm names it. */
export const archiveOf = (name: 'sdk' | 'embed' | 'guard'): string =>
  `keyrail-${name}-${manifest.version}.tgz`

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
