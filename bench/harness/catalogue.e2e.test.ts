import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { findBenchFile, listBenchFiles, loadBench } from './catalogue.ts'

const folder = mkdtempSync(join(tmpdir(), 'keyrail-catalogue-'))
after(() => rmSync(folder, { recursive: true }))
const good = `export const bench = { name: 'G1', title: 't', goal: { metric: 'x' }, arms: async () => [] }`
for (const file of ['g1-verify.ts', 'g10-audit.ts', 'g2-peer.ts']) writeFileSync(join(folder, file), good)
for (const file of ['run.ts', 'g1-verify.test.ts', 'notes.md', 'goal.ts'])
  writeFileSync(join(folder, file), '')

test('only numbered benches are listed, by number, without their tests', () => {
  assert.deepEqual(listBenchFiles(folder), ['g1-verify.ts', 'g2-peer.ts', 'g10-audit.ts'])
})

test('a bench is found by number in upper or lower case, by file name and by path', () => {
  for (const name of ['g1', 'G1', 'g1-verify', 'g1-verify.ts', join(folder, 'g1-verify.ts')]) {
    assert.equal(findBenchFile(name, folder), join(folder, 'g1-verify.ts'))
  }
  assert.equal(findBenchFile('g10', folder), join(folder, 'g10-audit.ts'))
})

test('an unknown name is refused', () => {
  assert.throws(() => findBenchFile('g99', folder), /no bench is called g99/)
  assert.throws(() => findBenchFile('g', folder), /no bench/)
})

test('a file without a bench is refused', async () => {
  assert.equal((await loadBench(join(folder, 'g1-verify.ts'))).name, 'G1')
  await assert.rejects(loadBench(join(folder, 'goal.ts')), /exports no bench/)
})

test('every bench of this project loads, and its file has its name', async () => {
  const benches = join(import.meta.dirname, '..')
  for (const file of listBenchFiles(benches)) {
    const { name } = await loadBench(join(benches, file))
    assert.ok(file.startsWith(`${name.toLowerCase()}-`), `${file} holds ${name}`)
  }
})
