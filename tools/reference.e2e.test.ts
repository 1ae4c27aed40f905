import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { entries, inWorkFolder, writePages, writeReference } from './reference.ts'

const into = mkdtempSync(join(tmpdir(), 'keyrail-reference-'))
after(() => rmSync(into, { recursive: true, force: true }))

test('the reference covers every entry and export of the SDK, and no link is broken', async () => {
  assert.deepEqual(await writeReference(into), [])
  assert.ok(entries().length >= 8)
  for (const name of entries()) assert.ok(existsSync(join(into, 'modules', `${name}.html`)), name)
  const functions = readdirSync(join(into, 'functions'))
  for (const name of ['index.createKeyring', 'admin.createAdmin', 'express.requireKey', 'next.withKey'])
    assert.ok(functions.includes(`${name}.html`), name)
  assert.match(
    readFileSync(join(into, 'interfaces', 'admin.Admin.html'), 'utf8'),
    /GET \/v1\/audit_logs\/export/,
  )
})

test('an undocumented or unlinked export and a broken link are reported', async () => {
  const complaints = await inWorkFolder(async folder => {
    const types = join(folder, 'some.d.ts')
    writeFileSync(
      types,
      `export interface Silent { a: Hidden }
interface Hidden { b: string }
/** See {@link Nowhere}. */
export declare function linked(): void
/** Said. */
export declare function said(): void
export {}
`,
    )
    return writePages(folder, [types], join(into, 'some'))
  })
  const said = complaints.join('\n')
  assert.equal(complaints.length, 3, said)
  for (const what of [/Silent .*does not have any documentation/, /Hidden, .*not included/, /Nowhere/])
    assert.match(said, what)
})
