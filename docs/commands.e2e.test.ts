import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkout, documentsWithText } from './documents.ts'

/** Where a page writes a command: in a block of code, or as code within a sentence. */
const written = /(?:^|`|\/)keyrail(?:\.mjs)? ([a-z][^\n`]*)/gm

const helped = new Map<string, string>()
function helpOf(...command: string[]): string {
  const name = command.join(' ')
  const known = helped.get(name)
  if (known !== undefined) return known
  const args = [join(checkout, 'bin/keyrail.mjs'), ...command, '--help']
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  helped.set(name, stdout)
  return stdout
}

const commandsIn = (help: string): string[] =>
  [...(help.split('\nCommands:\n')[1] ?? '').matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name = '']) => name)

/** What is wrong with the commands of a page: their names, at both levels, and their flags. */
function faultsOf(text: string): string[] {
  return [...text.matchAll(written)].flatMap(([, line = '']) => {
    const [name = '', second = ''] = line.split(/\s+/)
    if (name === 'help') return []
    if (!commandsIn(helpOf()).includes(name)) return [`keyrail ${name}`]
    const nested = commandsIn(helpOf(name))
    if (nested.length > 0 && !nested.includes(second)) return [`keyrail ${name} ${second}`]
    const command = nested.length > 0 ? [name, second] : [name]
    const flags = (line.match(/--[a-z-]+/g) ?? []).filter(flag => !helpOf(...command).includes(flag))
    return flags.map(flag => `keyrail ${command.join(' ')} ${flag}`)
  })
}

test('every command of keyrail that a page names exists, with its flags', () => {
  const named = documentsWithText().flatMap(({ path, text }) => {
    assert.deepEqual(faultsOf(text), [], path)
    return [...text.matchAll(written)]
  })
  assert.ok(named.length >= 20, `${named.length}`)
})

test('a page with a wrong command, a wrong one below it or a wrong flag is found', () => {
  assert.deepEqual(faultsOf('`keyrail doctor` `keyrail encryption rotate --discard` `keyrail help X`'), [])
  for (const broken of ['keyrail frobnicate', 'keyrail encryption turn', 'keyrail doctor --none'])
    assert.deepEqual(faultsOf(`\`${broken}\``), [broken])
})

test('the page on operations names every command of keyrail', () => {
  const operations = documentsWithText().find(({ path }) => path === 'docs/operations.md')?.text ?? ''
  for (const name of commandsIn(helpOf())) {
    if (name === 'help') continue
    const nested = commandsIn(helpOf(name)).filter(below => below !== 'help')
    for (const command of nested.length > 0 ? nested.map(below => `${name} ${below}`) : [name])
      assert.ok(new RegExp(`keyrail(?:\\.mjs)? ${command}\\b`).test(operations), command)
  }
})
