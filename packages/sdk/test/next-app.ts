import assert from 'node:assert/strict'
import { serveBy } from './child.ts'
import { run } from './packed.ts'

interface Settings {
  readonly url: string
  readonly secretKey: string
  readonly project: string
}

/**
 * Builds an app of Next with neither a service nor a secret.
 *
 * @param next the program of Next
 * @returns a function that serves it
 */
export async function buildNext(next: string, folder: string) {
  const env = {
    NEXT_TELEMETRY_DISABLED: '1',
    CI: '1',
    HOME: folder,
    PATH: process.env.PATH ?? '',
    NODE_ENV: 'production',
  }
  await run(process.execPath, [next, 'build', folder], { cwd: folder, env }).catch(({ stdout, stderr }) =>
    assert.fail(`next build failed: ${stdout}${stderr}`),
  )
  return ({ url, secretKey, project }: Settings) =>
    serveBy(process.execPath, [next, 'start', folder, '--hostname', '127.0.0.1', '--port', '0'], {
      cwd: folder,
      env: { ...env, KEYRAIL_URL: url, KEYRAIL_SECRET_KEY: secretKey, KEYRAIL_PROJECT: project },
    })
}
