import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Config } from '../../config.ts'
import { checkout } from '../../platform/host/reach.ts'
import { lastLines } from '../serve/build-output.ts'
import type { Check } from './check.ts'

/** What `packages/dashboard/state.ts` exports. An image does not have that file, so nothing imports it at the start. */
interface StateOfBuild {
  readBuildOnDisk(): { kind: 'current' | 'older' | 'missing' } | { kind: 'failed'; output: string }
}

const name = 'dashboard'
const build = 'npm start builds it. Where that account cannot write, run: npm run build:dashboard'

/**
 * Checks whether the service has a dashboard, built from the present sources. It builds nothing.
 *
 * @param root the checkout
 */
export async function checkDashboard(
  { dashboard, publicUrl }: Pick<Config, 'dashboard' | 'publicUrl'>,
  root = checkout,
): Promise<Check> {
  if (dashboard === 'off') {
    const message = 'off, so mailed links only say which call of the API does the same'
    return { name, status: 'ok', message }
  }
  const check = await checkBuild(root)
  const { pathname } = new URL(publicUrl)
  if (check.status !== 'ok' || pathname === '/') return check
  return {
    name,
    status: 'warning',
    message: `${check.message}, but works only at the root of a host, and SERVICE_PUBLIC_URL has the path ${pathname}`,
    todo: 'Give Keyrail a host name, and set SERVICE_PUBLIC_URL to it without a path.',
  }
}

async function checkBuild(root: string): Promise<Check> {
  const folder = join(root, 'packages/dashboard')
  const program = join(folder, 'state.ts')
  if (!existsSync(program) || !existsSync(join(folder, 'src'))) {
    if (existsSync(join(folder, 'dist/index.html')))
      return { name, status: 'ok', message: 'built; its sources are not installed' }
    const message = 'this installation has neither a built dashboard nor its sources'
    return { name, status: 'fault', message, todo: 'Install one of them, or set SERVICE_DASHBOARD=off.' }
  }
  const { readBuildOnDisk }: StateOfBuild = await import(pathToFileURL(program).href)
  const found = readBuildOnDisk()
  if (found.kind === 'failed') {
    return {
      name,
      status: 'fault',
      message: ['the last build failed:', ...lastLines(found.output, root)].join('\n'),
      todo: 'The next start tries again, and so does npm run build:dashboard. SERVICE_DASHBOARD=off runs without it.',
    }
  }
  if (found.kind === 'current') return { name, status: 'ok', message: 'built from the present sources' }
  const message = found.kind === 'older' ? 'built, but from other sources' : 'not built yet'
  return { name, status: 'warning', message, todo: build }
}
