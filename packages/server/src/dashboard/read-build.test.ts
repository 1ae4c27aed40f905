import assert from 'node:assert/strict'
import { renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { makeBuild } from '../../test/dashboard-folder.ts'
import { readBuild } from './read-build.ts'

const generation = (name: string) =>
  makeBuild({
    'index.html': `<script src="${name}"></script>`,
    'built.json': `{"sources":"${name}"}`,
    'assets/index-A1b2.js': name,
    'assets/index-C3d4.css': name,
    'icon.svg': name,
    ...Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`assets/part-${i}.js`, name])),
  })

test('a build that is replaced while it is read is never mixed with the new one', async () => {
  const generations = Array.from({ length: 12 }, (_, i) => generation(`generation${i}`))
  const folder = join(generations[0] ?? '', 'current')
  // A link is replaced at one moment, so that no missing file shows a reader that the build has changed.
  const swapTo = (to: string) => {
    symlinkSync(to, `${folder}-next`)
    renameSync(`${folder}-next`, folder)
  }
  for (let reads = 0; reads < 20; reads += 1) {
    swapTo(generations[0] ?? '')
    const reading = readBuild(folder)
    for (const next of generations.slice(1)) {
      await turn()
      swapTo(next)
    }
    const { index, files } = await reading
    const name = /"(\w+)"/.exec(index)?.[1]
    assert.equal(files.size, 203)
    for (const [path, { body }] of files) assert.equal(body.identity.toString(), name, path)
  }
})
