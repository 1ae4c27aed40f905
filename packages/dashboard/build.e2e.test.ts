import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { mayMount, mountSmallDisk } from '../server/test/small-disk.ts'
import { copyDashboard, type DashboardCopy, linkPackages } from './test/checkout.ts'

function makeCopy(options?: { packages: boolean }): DashboardCopy {
  const root = mkdtempSync(join(tmpdir(), 'keyrail-build-'))
  after(() => rmSync(root, { recursive: true, force: true }))
  return copyDashboard(root, options)
}

interface End {
  code: number | null
  out: string
  err: string
}

/** Root may write everywhere, so this takes the right away; the checkout may be in a home that only root enters. */
const mayNotOverride = ['setpriv', '--bounding-set', '-dac_override', '--inh-caps', '-dac_override']

/** Starts the command that npm start runs beside the service. */
function start({ folder }: DashboardCopy, behind: readonly string[] = []) {
  const [command = '', ...args] = [...behind, process.execPath, join(folder, 'build.ts')]
  const child = spawn(command, args, { cwd: '/', env: { PATH: process.env.PATH } })
  const output = { out: '', err: '' }
  const printed = Promise.withResolvers<void>()
  child.stdout.setEncoding('utf8').on('data', text => {
    output.out += text
    printed.resolve()
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    output.err += text
  })
  const ended = once(child, 'close').then(([code]): End => ({ code, ...output }))
  return { child, printed: printed.promise, ended }
}
const run = (copy: DashboardCopy, behind?: readonly string[]) => start(copy, behind).ended

const dist = ({ folder }: DashboardCopy, path = '') => join(folder, 'dist', path)
const read = (copy: DashboardCopy, path: string) => readFileSync(dist(copy, path), 'utf8')
const stampOf = (copy: DashboardCopy) => JSON.parse(read(copy, 'built.json'))
/** The script that the page loads. */
const scriptOf = (copy: DashboardCopy) =>
  /src="\/app\/(assets\/[^"]+\.js)"/.exec(read(copy, 'index.html'))?.[1] ?? ''
const leftovers = ({ folder }: DashboardCopy) =>
  readdirSync(folder).filter(name => name.startsWith('.building-') || name.startsWith('.build-lock'))

test('it builds once, and again only when a source has another content', async () => {
  const copy = makeCopy()
  assert.deepEqual(await run(copy), { code: 0, out: 'building\n', err: '' })
  assert.match(read(copy, scriptOf(copy)), /first/)
  assert.match(read(copy, 'index.html'), /__CSP_NONCE__/)
  const { ino } = statSync(dist(copy))
  // The same content at another time, and a test.
  copy.write('src/main.tsx', `document.title = 'first'\n`)
  copy.write('src/main.e2e.test.tsx', 'a test')
  assert.deepEqual(await run(copy), { code: 0, out: '', err: '' })
  assert.equal(statSync(dist(copy)).ino, ino)
  copy.write('src/main.tsx', `document.title = 'second'\n`)
  assert.equal((await run(copy)).out, 'building\n')
  assert.match(read(copy, scriptOf(copy)), /second/)
  assert.deepEqual(leftovers(copy), [])
})

test('a build keeps the hashed files of three earlier ones, replaced within the last week', async () => {
  const copy = makeCopy()
  const scripts: string[] = []
  for (const title of ['first', 'second', 'third', 'fourth', 'fifth']) {
    copy.write('src/main.tsx', `document.title = '${title}'\n`)
    await run(copy)
    scripts.push(scriptOf(copy))
  }
  assert.deepEqual(
    scripts.map(path => existsSync(dist(copy, path))),
    [false, true, true, true, true],
  )
  const stamp = stampOf(copy)
  assert.equal(stamp.earlier.length, 3)
  const eightDaysAgo = new Date(Date.now() - 8 * 86_400_000).toISOString()
  const aged = stamp.earlier.map((one: object) => ({ ...one, replacedAt: eightDaysAgo }))
  writeFileSync(dist(copy, 'built.json'), JSON.stringify({ ...stamp, earlier: aged }))
  copy.write('src/main.tsx', `document.title = 'sixth'\n`)
  await run(copy)
  scripts.push(scriptOf(copy))
  assert.deepEqual(
    scripts.map(path => existsSync(dist(copy, path))),
    [false, false, false, false, true, true],
  )
})

test('of two builds at once one works, and the other waits and finds the work done', async () => {
  const copy = makeCopy()
  const ends = await Promise.all([run(copy), run(copy)])
  assert.deepEqual(
    ends.map(({ code }) => code),
    [0, 0],
  )
  const output = ends.map(({ out }) => out).join('')
  assert.equal(output.match(/building/g)?.length, 1, output)
  assert.deepEqual(leftovers(copy), [])
})

test('a build that is killed leaves the old one, and the next build cleans up after it', async () => {
  const copy = makeCopy()
  await run(copy)
  const before = read(copy, 'index.html')
  copy.write('src/main.tsx', `document.title = 'second'\n`)
  const killed = start(copy)
  await killed.printed
  killed.child.kill('SIGKILL')
  await killed.ended
  assert.equal(read(copy, 'index.html'), before)
  assert.ok(existsSync(join(copy.folder, '.build-lock')), 'it was killed within the build')
  assert.deepEqual(await run(copy), { code: 0, out: 'building\n', err: '' })
  assert.match(read(copy, scriptOf(copy)), /second/)
  assert.deepEqual(leftovers(copy), [])
})

test('a failed build names the source, leaves the old one, and is tried again', async () => {
  const copy = makeCopy()
  await run(copy)
  const before = read(copy, 'index.html')
  copy.write('src/main.tsx', `import { absent } from './absent.ts'\nabsent()\n`)
  for (let i = 0; i < 2; i += 1) {
    const { code, out, err } = await run(copy)
    assert.deepEqual([code, out], [1, 'building\n'])
    assert.match(err, /absent\.ts/)
    assert.equal(read(copy, 'index.html'), before)
  }
  copy.write('src/main.tsx', `document.title = 'fixed'\n`)
  assert.equal((await run(copy)).code, 0)
  assert.deepEqual(leftovers(copy), [])
})

/** Mounting takes root. */
if (mayMount)
  test('a build on a full disk leaves the old one and nothing else', async () => {
    const disk = mountSmallDisk(16)
    after(() => disk.unmount())
    const copy = copyDashboard(disk.directory)
    await run(copy)
    const before = read(copy, 'index.html')
    copy.write('src/main.tsx', `document.title = 'second'\n`)
    disk.fill()
    const { code, err } = await run(copy)
    assert.ok(code === 1 || code === 2, String(code))
    assert.match(err, /ENOSPC|no space left/i)
    assert.equal(read(copy, 'index.html'), before)
    assert.deepEqual(leftovers(copy), [])
    disk.clear()
    assert.equal((await run(copy)).code, 0)
    assert.notEqual(read(copy, 'index.html'), before)
  })

test('a build whose priority is lower already, and may not be raised, is made', async () => {
  const copy = makeCopy()
  const { code, err } = await run(copy, [
    ...['setpriv', '--bounding-set', '-sys_nice', '--inh-caps', '-sys_nice'],
    ...['nice', '-n', '15'],
  ])
  assert.deepEqual([code, err], [0, ''])
  assert.ok(existsSync(dist(copy, 'index.html')))
})

test('a build is as readable as its sources, whatever the umask is', async () => {
  const copy = makeCopy()
  chmodSync(join(copy.folder, 'src'), 0o755)
  chmodSync(join(copy.folder, 'index.html'), 0o644)
  const umask = process.umask(0o077)
  const building = run(copy)
  process.umask(umask)
  await building
  const modes = ['', 'assets', 'index.html', scriptOf(copy)].map(
    path => statSync(dist(copy, path)).mode & 0o777,
  )
  assert.deepEqual(modes, [0o755, 0o755, 0o644, 0o644])
})

test('where nothing can be written, a current build is enough and an older one is reported', async () => {
  const copy = makeCopy()
  await run(copy)
  const reader = process.geteuid?.() === 0 ? mayNotOverride : []
  const closed = ['', 'dist', 'dist/assets'].map(path => join(copy.folder, path))
  for (const path of closed) chmodSync(path, 0o555)
  try {
    assert.deepEqual(await run(copy, reader), { code: 0, out: '', err: '' })
    copy.write('src/main.tsx', `document.title = 'second'\n`)
    const stale = await run(copy, reader)
    assert.deepEqual([stale.code, stale.out], [2, ''])
    assert.match(
      stale.err,
      /^It cannot be built here: this account cannot write to packages\/dashboard \(EACCES\)\.$/m,
    )
    assert.match(read(copy, scriptOf(copy)), /first/)
  } finally {
    for (const path of closed) chmodSync(path, 0o755)
  }
})

test('without the packages that build, an older build stays and a missing one is a failure', async () => {
  const copy = makeCopy({ packages: false })
  const missing = await run(copy)
  assert.deepEqual([missing.code, missing.out], [1, ''])
  assert.match(missing.err, /^It cannot be built here: Vite is not installed\.$/m)
  linkPackages(copy.root)
  assert.equal((await run(copy)).code, 0)
  rmSync(join(copy.root, 'node_modules'))
  assert.deepEqual(await run(copy), { code: 0, out: '', err: '' })
  copy.write('src/main.tsx', `document.title = 'second'\n`)
  assert.equal((await run(copy)).code, 2)
})
