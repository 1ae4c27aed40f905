import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { after, before, beforeEach, describe, test } from 'node:test'
import { copyDashboard, type DashboardCopy } from '../../../../dashboard/test/checkout.ts'
import { makeDatabase, type TestDatabase, testCluster } from '../../../test/database.ts'
import { isRoot } from '../../../test/embedded-service.ts'
import { ask, Installation, root, type Serving, urlOf } from '../../../test/installation.ts'
import { until } from '../../../test/until.ts'

interface Locks {
  takeLock(path: string): Promise<{ release(): void }>
}

const secret = 'a-token-of-the-operator-0123456789'
let database: TestDatabase
let installation: Installation
let copy: DashboardCopy
let copies = 0

/** A checkout with a small dashboard, below a folder that may be closed. */
function copyCheckout(): DashboardCopy {
  copies += 1
  const home = join(installation.place.temp, `home-${copies}`)
  const at = join(home, 'keyrail')
  mkdirSync(at, { recursive: true, mode: 0o755 })
  for (const name of ['package.json', 'packages/server', 'packages/contract'])
    cpSync(join(root, name), join(at, name), { recursive: true })
  return copyDashboard(at)
}

before(async () => {
  database = await makeDatabase(testCluster(), true)
  installation = new Installation({
    DATABASE_URL: urlOf(database.connection),
    SERVICE_BOOTSTRAP_TOKEN: secret,
  })
})
after(async () => {
  await installation.remove()
  await database.drop()
})
beforeEach(() => {
  copy = copyCheckout()
})

const serve = (env: Record<string, string> = {}, node = process.execPath): Promise<Serving> => {
  const main = join(copy.root, 'packages/server/src/cli/main.ts')
  const args = ['--conditions=keyrail-source', main, 'serve']
  return installation.listening(installation.run(node, args, env))
}
const stop = async ({ child, ended }: Serving) => {
  child.kill('SIGTERM')
  assert.equal((await ended).code, 0)
}
const page = async (url: string) => {
  const response = await fetch(`${url}/app`)
  return { status: response.status, text: await response.text() }
}
/** Holds the lock of the build, so that a start has to wait before it builds. */
async function holdBuild() {
  const locks: Locks = await import(new URL('../../../../../bin/install-lock.mjs', import.meta.url).href)
  return locks.takeLock(join(copy.folder, '.build-lock'))
}
/** The process that builds the copy. */
const builderPid = () =>
  readdirSync('/proc').find(pid => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').endsWith(`\0${join(copy.folder, 'build.ts')}\0`)
    } catch {
      return false
    }
  })

describe('keyrail serve and the dashboard', () => {
  test('the first start serves the API at once and builds beside it; the next builds nothing', async () => {
    const lock = await holdBuild()
    const first = await serve()
    assert.equal((await ask(`${first.url}/readyz`))?.status, 200)
    const waiting = await page(first.url)
    assert.equal(waiting.status, 503)
    assert.match(waiting.text, /is being built/)
    lock.release()
    await until(() => first.output.out.includes('"dashboard built"'))
    assert.match(first.output.err, /^Building the dashboard, because its sources are new\./m)
    assert.match(first.output.err, /^Built the dashboard in \d+(\.\d)? s: http:\S+\/app$/m)
    assert.ok(first.output.out.includes(`\nDashboard: ${first.url}/app\nAPI reference: `))
    const built = await page(first.url)
    assert.equal(built.status, 200)
    const script = /src="([^"]+)"/.exec(built.text)?.[1] ?? ''
    assert.match(await (await fetch(new URL(script, first.url))).text(), /first/)
    await stop(first)

    const second = await serve()
    assert.equal((await page(second.url)).status, 200)
    assert.doesNotMatch(
      second.output.out + second.output.err,
      /[Bb]uil(?:t|ding) the dashboard|dashboard built/,
    )
    await stop(second)
  })

  test('a failed build leaves the API up; console and log have its last lines, the page none', async () => {
    copy.write('src/main.tsx', `import { absent } from './absent.ts'\nabsent()\n`)
    const service = await serve()
    await until(() => service.output.out.includes('"dashboard could not be built"'))
    const { status, text } = await page(service.url)
    assert.equal(status, 503)
    assert.match(text, /could not be built/)
    assert.doesNotMatch(text, /absent|main\.tsx/)
    assert.match(
      service.output.err,
      /^The dashboard could not be built\.[^\n]*\n(?: {2}[^\n]*\n)*? {2}[^\n]*absent\.ts/m,
    )
    assert.ok(!service.output.err.includes(installation.place.temp), service.output.err)
    assert.match(service.output.out, /"level":"error".*absent\.ts.*"dashboard could not be built"/)
    assert.equal((await ask(`${service.url}/readyz`))?.status, 200)
    await stop(service)
    copy.write('src/main.tsx', `document.title = 'fixed'\n`)
    const fixed = await serve()
    await until(async () => (await page(fixed.url)).status === 200)
    await stop(fixed)
  })

  test('SERVICE_DASHBOARD=off builds nothing and announces nothing', async () => {
    const service = await serve({ SERVICE_DASHBOARD: 'off' })
    assert.equal((await page(service.url)).status, 404)
    assert.doesNotMatch(service.output.out + service.output.err, /dashboard/i)
    await stop(service)
    assert.equal(existsSync(join(copy.folder, 'dist')), false)
  })

  test('an installation without the sources serves what it has, and builds nothing', async () => {
    execFileSync(process.execPath, [join(copy.folder, 'build.ts')])
    for (const name of ['src', 'build.ts', 'index.html']) rmSync(join(copy.folder, name), { recursive: true })
    const service = await serve()
    assert.equal((await page(service.url)).status, 200)
    assert.doesNotMatch(service.output.err, /dashboard/)
    await stop(service)
    rmSync(copy.folder, { recursive: true })
    const without = await serve()
    const { status, text } = await page(without.url)
    assert.equal(status, 503)
    assert.match(text, /could not be built/)
    assert.match(without.output.out, /neither a built dashboard nor its sources/)
    await stop(without)
  })

  test('a build that cannot be done here leaves an older one in use, and the log says so', async () => {
    execFileSync(process.execPath, [join(copy.folder, 'build.ts')])
    copy.write('src/main.tsx', `document.title = 'second'\n`)
    // Vite's package is missing, as where only the packages that run the service are installed.
    rmSync(join(copy.root, 'node_modules'))
    mkdirSync(join(copy.root, 'node_modules'))
    for (const name of readdirSync(join(root, 'node_modules')))
      if (!['vite', '.package-lock.json'].includes(name))
        execFileSync('ln', ['-s', join(root, 'node_modules', name), join(copy.root, 'node_modules', name)])
    const service = await serve()
    await until(() => service.output.out.includes('"dashboard is older than its sources"'))
    assert.equal((await page(service.url)).status, 200)
    await stop(service)
  })

  test('a stop during a build ends the build, and the next start makes it', async () => {
    const lock = await holdBuild()
    const service = await serve()
    await until(() => service.output.err.includes('Waiting for another process'))
    await stop(service)
    assert.equal(builderPid(), undefined)
    lock.release()
    const next = await serve()
    await until(async () => (await page(next.url)).status === 200)
    await stop(next)
  })

  test('a build that is killed is shown as such, and the API stays', async () => {
    const lock = await holdBuild()
    const service = await serve()
    await until(() => service.output.err.includes('Waiting for another process'))
    process.kill(Number(builderPid()), 'SIGKILL')
    await until(() => service.output.err.includes('The build was ended by SIGKILL.'))
    assert.match((await page(service.url)).text, /could not be built/)
    assert.equal((await ask(`${service.url}/readyz`))?.status, 200)
    await stop(service)
    lock.release()
  })

  test('the build gets no setting of the service', async () => {
    const lock = await holdBuild()
    const service = await serve()
    await until(() => service.output.err.includes('Waiting for another process'))
    const pid = builderPid()
    assert.ok(pid !== undefined)
    assert.equal(readFileSync(`/proc/${pid}/environ`, 'utf8'), '')
    lock.release()
    await until(async () => (await page(service.url)).status === 200)
    await stop(service)
  })

  if (isRoot) {
    test('started by root, the owner of the sources builds, and owns the build', async () => {
      // With its own packages, because the owner may not be able to enter the folder of this checkout.
      for (const place of ['.', 'packages/dashboard']) {
        rmSync(join(copy.root, place, 'node_modules'))
        execFileSync('cp', ['-a', join(root, place, 'node_modules'), join(copy.root, place)])
      }
      execFileSync('chown', ['-R', '--no-dereference', '65534:65534', copy.root])
      const service = await serve({}, join(copy.root, relative(root, process.execPath)))
      await until(async () => (await page(service.url)).status === 200)
      const made = ['dist', 'dist/index.html', 'dist/assets'].map(
        path => statSync(join(copy.folder, path)).uid,
      )
      assert.deepEqual(made, [65_534, 65_534, 65_534])
      await stop(service)
    })

    test('started by root below a home that is closed, it is built and served', async () => {
      for (const owner of ['0:0', '65534:65534']) {
        copy = copyCheckout()
        execFileSync('chown', [owner, join(copy.root, '..')])
        chmodSync(join(copy.root, '..'), 0o700)
        const service = await serve()
        await until(async () => (await page(service.url)).status === 200)
        assert.match(service.output.out, /^Runs as: user id 0, /m)
        await stop(service)
      }
    })
  }
})
